//! What is special to SQLite: one file, several processes, one writer at a time.
//!
//! Two stores on one file stand for two processes: each has its own connections, and SQLite's locks are taken
//! per connection.

mod common;

use common::{fresh_store, open};
use leasehold_queue::prelude::*;
use leasehold_queue::{
    Clock, Definitions, Scope, Tenants,
    params::{
        AttemptFacts, Finish, FinishAnswer, HowCreated, Idempotency, NewDefinition, NewJob, NewTenant,
        Renewal, Selector,
    },
    transition::{Ending, Rules},
};
use leasehold_store_sqlite::SqliteStore;
use leasehold_types::{
    DefinitionLimits, JobFilter, JobRef, PageRequest, TenantId, WorkerId,
    view::{Definition, RetryPolicy},
};
use serde_json::json;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use std::{collections::HashSet, path::Path, sync::Arc, time::Duration};

const LEASE: Duration = Duration::from_secs(60);

fn system() -> Scope {
    Scope::system("test")
}

async fn a_tenant(store: &SqliteStore) -> TenantId {
    let tenant = NewTenant { slug: "acme".into(), name: "Acme".into(), timezone: "UTC".into() };
    store.create_tenant(&system(), tenant).await.unwrap().id
}

async fn a_definition(store: &SqliteStore) -> Definition {
    let definition = NewDefinition {
        key: "import".into(),
        description: String::new(),
        domain: "commands".into(),
        job_type: "import".into(),
        queue: "default".into(),
        executor: "command".into(),
        arg_schema: json!({}),
        timeout_seconds: 60,
        max_attempts: 3,
        retry: RetryPolicy::default(),
        stages: vec![],
        limits: DefinitionLimits::default(),
    };
    store.ensure_definition(definition).await.unwrap()
}

fn a_job(tenant: TenantId, definition: &Definition) -> NewJob {
    NewJob::of(definition, tenant, json!({"n": 1}))
}

async fn create_many(store: &SqliteStore, tenant: TenantId, definition: &Definition, n: usize) -> Vec<i64> {
    let jobs = (0..n).map(|_| a_job(tenant, definition)).collect();
    let answers = store.create_jobs(&system(), jobs).await.unwrap();
    answers.into_iter().map(|answer| answer.unwrap().number).collect()
}

/// Claims, renews and completes until nothing is left; which jobs it was given.
async fn drain(store: Arc<SqliteStore>, worker: String) -> Vec<i64> {
    let (worker, mut mine) = (WorkerId(worker), Vec::new());
    loop {
        let jobs = store.claim(&worker, &Selector::default(), 3, LEASE).await.unwrap();
        if jobs.is_empty() {
            return mine;
        }
        mine.extend(jobs.iter().map(|job| job.lease.number));
        let renewals = jobs.iter().map(|job| Renewal {
            lease: job.lease.clone(),
            extend_by: LEASE,
            progress: None,
            pid: Some(1),
            checkpoint: None,
        });
        store.renew(renewals.collect()).await.unwrap();
        let finishes = jobs.into_iter().map(|job| Finish {
            lease: job.lease,
            ending: Ending::Completed,
            result: None,
            facts: AttemptFacts::default(),
            token: None,
            policy: None,
        });
        let answers = store.finish(&Rules::default(), finishes.collect()).await.unwrap();
        assert!(answers.iter().all(|answer| matches!(answer, FinishAnswer::Applied(_))), "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_on_one_file_never_claim_the_same_job_and_never_meet_a_busy_database() {
    let (one, folder) = fresh_store(Clock::system()).await;
    let two = open(folder.path(), Clock::system()).await;
    let (tenant, definition) = (a_tenant(&one).await, a_definition(&one).await);
    let numbers = create_many(&one, tenant, &definition, 200).await;
    let drains: Vec<_> = (0..8)
        .map(|n| tokio::spawn(drain(if n % 2 == 0 { one.clone() } else { two.clone() }, format!("w{n}"))))
        .collect();
    let mut claimed = Vec::new();
    for task in drains {
        claimed.extend(task.await.expect("no verb failed, so none met a busy database"));
    }
    let distinct: HashSet<_> = claimed.iter().copied().collect();
    assert_eq!(claimed.len(), distinct.len(), "a job was claimed twice");
    assert_eq!(distinct, numbers.into_iter().collect());
    assert_eq!(two.recount().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_parallel_creates_of_one_idempotency_key_make_one_job() {
    let (one, folder) = fresh_store(Clock::system()).await;
    let two = open(folder.path(), Clock::system()).await;
    let (tenant, definition) = (a_tenant(&one).await, a_definition(&one).await);
    let posts: Vec<_> = (0..100)
        .map(|n| {
            let store = if n % 2 == 0 { one.clone() } else { two.clone() };
            let key = Idempotency { key: "k".into(), payload_hash: "h".into(), expires_at: None };
            let job = NewJob { idempotency: Some(key), ..a_job(tenant, &definition) };
            tokio::spawn(
                async move { store.create_jobs(&system(), vec![job]).await.unwrap().remove(0).unwrap() },
            )
        })
        .collect();
    let mut inserted = 0;
    let mut numbers = HashSet::new();
    for post in posts {
        let created = post.await.unwrap();
        inserted += usize::from(created.how == HowCreated::Inserted);
        numbers.insert(created.number);
    }
    assert_eq!((inserted, numbers.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_may_bring_the_schema_up_at_the_same_moment() {
    let folder = tempfile::tempdir().unwrap();
    let stores = tokio::join!(open(folder.path(), Clock::system()), open(folder.path(), Clock::system()));
    assert!(stores.0.schema_is_current().await.unwrap() && stores.1.schema_is_current().await.unwrap());
}

#[tokio::test]
async fn numbers_and_event_ids_are_never_used_again_after_a_delete() {
    let (store, folder) = fresh_store(Clock::system()).await;
    let (tenant, definition) = (a_tenant(&store).await, a_definition(&store).await);
    let before = create_many(&store, tenant, &definition, 3).await;
    let tail = store.outbox_tail().await.unwrap();
    by_hand(folder.path(), "DELETE FROM jobs").await;
    by_hand(folder.path(), "DELETE FROM job_events").await;
    let after = create_many(&store, tenant, &definition, 1).await;
    assert!(after[0] > *before.last().unwrap(), "{after:?} after {before:?}");
    assert!(store.oldest_event().await.unwrap() > tail);
}

/// A statement no verb offers, through a connection of its own.
async fn by_hand(folder: &Path, statement: &'static str) {
    let options = SqliteConnectOptions::new().filename(folder.join("data/leasehold.db"));
    let mut connection = options.connect().await.unwrap();
    sqlx::query(statement).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_recount_mends_what_was_changed_behind_the_stores_back() {
    let (store, folder) = fresh_store(Clock::system()).await;
    let (tenant, definition) = (a_tenant(&store).await, a_definition(&store).await);
    create_many(&store, tenant, &definition, 3).await;
    by_hand(folder.path(), "UPDATE job_counters SET jobs = 7").await;
    assert_eq!(store.recount().await.unwrap(), 1);
    assert_eq!(store.recount().await.unwrap(), 0);
    assert_eq!(store.overview(&system(), tenant).await.unwrap().cards[0].queued, 3);
}

#[tokio::test]
async fn everything_is_there_after_reopening_and_a_held_job_is_still_held() {
    let (store, folder) = fresh_store(Clock::system()).await;
    let (tenant, definition) = (a_tenant(&store).await, a_definition(&store).await);
    create_many(&store, tenant, &definition, 2).await;
    let held = store.claim(&WorkerId("w".into()), &Selector::default(), 1, LEASE).await.unwrap().remove(0);
    drop(store);

    let store = open(folder.path(), Clock::system()).await;
    let page = store.list(&system(), &JobFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(page.rows.len(), 2);
    let job = store.job(&system(), JobRef::Number(held.lease.number), 10).await.unwrap().unwrap();
    assert_eq!(job.row.worker_id.as_deref(), Some("w"));
    let renewal =
        Renewal { lease: held.lease, extend_by: LEASE, progress: None, pid: None, checkpoint: None };
    let answers = store.renew(vec![renewal]).await.unwrap();
    assert!(matches!(answers[..], [leasehold_queue::params::RenewAnswer::Held { .. }]), "{answers:?}");
}

#[tokio::test]
async fn an_in_memory_database_is_refused_with_a_reason() {
    let refused = SqliteStore::connect("sqlite::memory:", Clock::system(), Default::default()).await;
    let error = refused.err().expect("it must be refused").to_string();
    assert!(error.contains("in-memory"), "{error}");
}
