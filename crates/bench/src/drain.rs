//! Our enqueue and our drain of a backlog of no-op jobs.

use crate::{BenchResult, Sizes, Subject, pool, subject::no_op};
use leasehold_queue::{
    Scope, Store,
    params::{AttemptFacts, ClaimedJob, Finish, FinishAnswer, Selector},
    transition::{Ending, Rules},
};
use leasehold_types::{TenantId, WorkerId};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Per second.
#[derive(Clone, Debug)]
pub struct Ours {
    pub one_by_one: f64,
    pub bulk: f64,
    pub drain: f64,
    pub drain_no_outbox: f64,
    /// Through a worker pool.
    pub pool: f64,
}

pub async fn measure(subject: &Subject, sizes: &Sizes) -> BenchResult<Ours> {
    let scope = Scope::system("bench");
    let started = Instant::now();
    for _ in 0..sizes.one_by_one {
        subject.store.create_jobs(&scope, vec![no_op(subject.busy)]).await?;
    }
    let one_by_one = sizes.one_by_one as f64 / started.elapsed().as_secs_f64();
    let started = Instant::now();
    fill(&subject.store, subject.busy, sizes.bulk).await?;
    let bulk = sizes.bulk as f64 / started.elapsed().as_secs_f64();
    drain(&subject.store).await?;
    let (mut with, mut without, mut pool): (f64, f64, f64) = (0.0, 0.0, 0.0);
    // In turn, because the tables grow and the machine has its moods.
    for _ in 0..sizes.rounds {
        with = with.max(round(subject, &subject.store, sizes.drain).await?);
        pool = pool.max(pool::round(subject, sizes.drain).await?);
        without = without.max(round(subject, &subject.without_outbox, sizes.drain).await?);
    }
    Ok(Ours { one_by_one, bulk, drain: with, drain_no_outbox: without, pool })
}

async fn round(subject: &Subject, store: &Arc<dyn Store>, jobs: usize) -> BenchResult<f64> {
    fill(store, subject.busy, jobs).await?;
    subject.settle().await?;
    let started = Instant::now();
    let done = drain(store).await?;
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

/// A thousand jobs a call.
pub async fn fill(store: &Arc<dyn Store>, tenant: TenantId, jobs: usize) -> BenchResult<()> {
    for _ in 0..jobs.div_ceil(1_000) {
        let batch = (0..1_000).map(|_| no_op(tenant)).collect();
        for answer in store.create_jobs(&Scope::system("bench"), batch).await? {
            answer?;
        }
    }
    Ok(())
}

/// Two clients claim a hundred and finish a hundred until nothing is left.
pub async fn drain(store: &Arc<dyn Store>) -> BenchResult<usize> {
    let clients: Vec<_> = (0..2).map(|i| tokio::spawn(client(store.clone(), i))).collect();
    let mut done = 0;
    for client in clients {
        done += client.await??;
    }
    Ok(done)
}

async fn client(store: Arc<dyn Store>, i: usize) -> BenchResult<usize> {
    let worker = WorkerId(format!("bench:{i}:x"));
    let (selector, rules) = (Selector::default(), Rules::default());
    let mut done = 0;
    loop {
        let jobs = store.claim(&worker, &selector, 100, Duration::from_secs(60)).await?;
        if jobs.is_empty() {
            return Ok(done);
        }
        let answers = store.finish(&rules, jobs.into_iter().map(completed).collect()).await?;
        done += answers.iter().filter(|a| matches!(a, FinishAnswer::Applied(_))).count();
    }
}

pub fn completed(job: ClaimedJob) -> Finish {
    Finish {
        lease: job.lease,
        ending: Ending::Completed,
        result: None,
        facts: AttemptFacts::default(),
        token: None,
        policy: None,
    }
}
