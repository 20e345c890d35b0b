//! Limits and the gate while many claim at the same time.

use super::bench::{Bench, LEASE, finish, rules};
use leasehold_queue::{
    Engine, EngineConfig, Store, StoreError, StoreResult,
    params::{ClaimedJob, FinishAnswer, NewJob, Selector},
    scope::Scope,
    transition::Ending,
};
use leasehold_types::{JobStatus, WorkerId};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};
use tokio::{task::JoinSet, time::Instant};

const CLAIMERS: usize = 8;
const JOBS: usize = 300;
const PATIENCE: Duration = Duration::from_secs(60);

/// What runs by the word of those who run it. A job is on it from the moment its claim was answered until just
/// before its end is reported, so it never shows more than really run.
#[derive(Default)]
struct Ledger {
    now: HashMap<String, usize>,
    most: HashMap<String, usize>,
    finished: usize,
}

impl Ledger {
    fn began(&mut self, group: &str) {
        let now = self.now.entry(group.to_owned()).or_default();
        *now += 1;
        let most = self.most.entry(group.to_owned()).or_default();
        *most = (*most).max(*now);
    }

    fn ends(&mut self, group: &str) {
        *self.now.entry(group.to_owned()).or_default() -= 1;
        self.finished += 1;
    }
}

/// One claimer. It keeps what it has until its next claim is answered, so that the limit is always reached.
struct Claimer {
    worker: WorkerId,
    store: Arc<dyn Store>,
    ledger: Arc<Mutex<Ledger>>,
    group: fn(&ClaimedJob) -> String,
    held: Vec<ClaimedJob>,
}

impl Claimer {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    async fn run(mut self, n: u32) {
        let (any, rules) = (Selector::default(), rules());
        let deadline = Instant::now() + PATIENCE;
        while self.ledger().finished < JOBS {
            assert!(Instant::now() < deadline, "{} are done", self.ledger().finished);
            let jobs = patiently(|| self.store.claim(&self.worker, &any, n, LEASE)).await;
            jobs.iter().for_each(|job| self.ledger().began(&(self.group)(job)));
            let done = std::mem::replace(&mut self.held, jobs);
            done.iter().for_each(|job| self.ledger().ends(&(self.group)(job)));
            let items: Vec<_> = done.iter().map(|job| finish(&job.lease, Ending::Completed)).collect();
            let answers = patiently(|| self.store.finish(&rules, items.clone())).await;
            assert!(answers.iter().all(|a| *a == FinishAnswer::Applied(JobStatus::Completed)));
        }
    }
}

/// Tries again while the store says that this may help: SQLite does not queue its writers up.
async fn patiently<T, F: Future<Output = StoreResult<T>>>(verb: impl Fn() -> F) -> T {
    loop {
        match verb().await {
            Err(StoreError::Database { transient: true, .. }) => tokio::task::yield_now().await,
            answer => return answer.unwrap(),
        }
    }
}

/// Claims and finishes until all jobs are done; how many of each group ran at most. The claimers share these
/// stores.
async fn work_off(
    b: &Bench,
    stores: &[Arc<dyn Store>],
    group: fn(&ClaimedJob) -> String,
) -> HashMap<String, usize> {
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let mut claimers = JoinSet::new();
    for i in 0..CLAIMERS {
        let (store, ledger) = (stores[i % stores.len()].clone(), ledger.clone());
        let claimer = Claimer { worker: WorkerId(format!("w{i}")), store, ledger, group, held: Vec::new() };
        claimers.spawn(claimer.run(1 + i as u32 % 4));
    }
    claimers.join_all().await;
    assert_eq!(b.store.recount().await.unwrap(), 0);
    ledger.lock().unwrap().most.clone()
}

pub async fn many_claimers_never_pass_a_tenants_limit(b: Bench) {
    let stores = [b.store.clone()];
    claimers_of_several_stores_never_pass_a_tenants_limit(b, &stores).await;
}

/// For stores on one database, which stand for several processes.
pub async fn claimers_of_several_stores_never_pass_a_tenants_limit(b: Bench, stores: &[Arc<dyn Store>]) {
    b.limit_tenant(b.a, Some(5)).await;
    b.create_many(b.a, JOBS).await;
    let most = work_off(&b, stores, |job| job.tenant_slug.clone()).await;
    assert!((2..=5).contains(&most["acme"]), "{most:?}");
}

pub async fn many_claimers_never_pass_a_keys_limit(b: Bench) {
    let stores = [b.store.clone()];
    claimers_of_several_stores_never_pass_a_keys_limit(b, &stores).await;
}

pub async fn claimers_of_several_stores_never_pass_a_keys_limit(b: Bench, stores: &[Arc<dyn Store>]) {
    b.limit_kind(|limits| limits.max_active_per_key = Some(2)).await;
    let keyed = |i: usize| {
        let key = format!("k{}", i % 3);
        NewJob { payload: serde_json::json!({ "key": key }), concurrency_key: Some(key), ..b.job(b.a) }
    };
    let jobs = (0..JOBS).map(keyed).collect();
    b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    let most = work_off(&b, stores, |job| job.payload["key"].to_string()).await;
    assert_eq!(most.len(), 3);
    assert!(most.values().all(|most| *most <= 2), "{most:?}");
}

/// Shuts the gate at every moment of a claim in turn: before it is sent, while it waits, after it took its job.
pub async fn a_claim_overtaken_by_a_freeze_leaves_its_job_in_the_queue(b: Bench) {
    let number = b.create(NewJob { max_attempts: 100, ..b.job(b.a) }).await.number;
    let (worker, selector) = (WorkerId("w".into()), Selector::default());
    for freeze_at in 1..1_000 {
        let engine = Engine::new(b.store.clone(), b.clock.clone(), EngineConfig::default());
        let mut claim = Box::pin(engine.claim(&worker, &selector, 1, LEASE));
        let mut polled = 0;
        let jobs = std::future::poll_fn(|context| {
            polled += 1;
            if polled == freeze_at {
                engine.freeze_claims();
            }
            claim.as_mut().poll(context)
        });
        let jobs = jobs.await.unwrap();
        if !engine.claims_frozen() {
            assert_eq!(jobs[0].lease.number, number, "it was over before that moment");
            assert!(freeze_at > 2, "a claim takes several steps");
            return;
        }
        assert!(jobs.is_empty(), "frozen at step {freeze_at}");
        assert_eq!(b.status(number).await, JobStatus::Queued, "frozen at step {freeze_at}");
        assert!(engine.claim(&worker, &selector, 1, LEASE).await.unwrap().is_empty());
    }
    panic!("a claim has no end");
}
