//! What is special to Postgres: ids that become visible out of order, real concurrency, several processes.

mod common;

use common::fresh_store;
use leasehold_conformance::{Bench, NOW};
use leasehold_queue::prelude::*;
use leasehold_queue::{
    Clock, Store, StoreError,
    params::{Idempotency, NewJob, OutboxCursor, Selector, Wake},
    scope::Scope,
};
use leasehold_store_postgres::{Options, PostgresStore};
use leasehold_types::{ProblemCode, TenantId, WorkerId};
use sqlx::{Connection, PgConnection};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Barrier, task::JoinSet};

const PATIENCE: Duration = Duration::from_secs(10);
const LEASE: Duration = Duration::from_secs(60);

async fn bench() -> (Arc<Bench>, String) {
    let clock = Clock::frozen(NOW);
    let (store, url) = fresh_store(clock.clone()).await;
    (Arc::new(Bench::new(store, clock).await), url)
}

/// Writes an event the way the store does: first the job's row, then the event. Leaves it uncommitted.
async fn write_event(connection: &mut PgConnection, job: i64) -> i64 {
    sqlx::query("UPDATE jobs SET updated_at = updated_at WHERE number = $1")
        .bind(job)
        .execute(&mut *connection)
        .await
        .unwrap();
    sqlx::query_scalar(
        "INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt, progress,
                created_at)
         SELECT tenant_id, number, domain, queue, job_type, 'job.alert', status, 0, 0, updated_at
         FROM jobs WHERE number = $1 RETURNING id",
    )
    .bind(job)
    .fetch_one(connection)
    .await
    .unwrap()
}

async fn ids(b: &Bench, cursor: &mut OutboxCursor) -> Vec<i64> {
    b.store.read_outbox(cursor, 100).await.unwrap().into_iter().map(|e| e.event.id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_committed_late_is_neither_skipped_nor_overtaken() {
    let (b, url) = bench().await;
    let job = b.create(b.job(b.a)).await.number;
    let mut cursor = OutboxCursor { after: b.store.outbox_tail().await.unwrap(), gap: None };
    let mut late = PgConnection::connect(&url).await.unwrap();
    let mut tx = late.begin().await.unwrap();
    let early_id = write_event(&mut tx, job).await;
    b.create(b.job(b.a)).await;
    assert!(ids(&b, &mut cursor).await.is_empty(), "the reader waits at the gap");
    assert!(ids(&b, &mut cursor).await.is_empty(), "and goes on waiting while the writer is open");
    assert_eq!(cursor.gap.unwrap().first_missing, early_id);
    tx.commit().await.unwrap();
    assert_eq!(ids(&b, &mut cursor).await, [early_id, early_id + 1]);
    assert_eq!(cursor.gap, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolled_back_event_holds_nobody_up_for_long() {
    let (b, url) = bench().await;
    let job = b.create(b.job(b.a)).await.number;
    let mut cursor = OutboxCursor { after: b.store.outbox_tail().await.unwrap(), gap: None };
    let mut late = PgConnection::connect(&url).await.unwrap();
    let mut tx = late.begin().await.unwrap();
    let missing = write_event(&mut tx, job).await;
    b.create(b.job(b.a)).await;
    assert!(ids(&b, &mut cursor).await.is_empty());
    tx.rollback().await.unwrap();
    // Other tests share the server's transaction ids, so the horizon may take a moment.
    let passed = async {
        loop {
            let seen = ids(&b, &mut cursor).await;
            if !seen.is_empty() {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(tokio::time::timeout(PATIENCE, passed).await.unwrap(), [missing + 1]);
}

/// The writer of the missing event has a larger transaction id than the one that ended: a snapshot's `xmax` lies
/// below it, so a horizon built on that would pass the gap at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_newer_than_the_last_that_ended_is_waited_for() {
    let (b, url) = bench().await;
    // Two, because each writer holds its job's row until it ends.
    let (job, other) = (b.create(b.job(b.a)).await.number, b.create(b.job(b.a)).await.number);
    let mut cursor = OutboxCursor { after: b.store.outbox_tail().await.unwrap(), gap: None };
    let mut older = PgConnection::connect(&url).await.unwrap();
    let mut older = older.begin().await.unwrap();
    sqlx::query("SELECT pg_current_xact_id()").execute(&mut *older).await.unwrap();
    let mut newer = PgConnection::connect(&url).await.unwrap();
    let mut newer = newer.begin().await.unwrap();
    let missing = write_event(&mut newer, job).await;
    let visible = write_event(&mut older, other).await;
    older.commit().await.unwrap();
    assert!(missing < visible);
    for _ in 0..20 {
        assert!(ids(&b, &mut cursor).await.is_empty(), "the reader passed an event that was still to come");
    }
    newer.commit().await.unwrap();
    assert_eq!(ids(&b, &mut cursor).await, [missing, visible]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_never_claims_to_contain_an_event_that_is_still_to_come() {
    let (b, url) = bench().await;
    let job = b.create(b.job(b.a)).await.number;
    b.store.outbox_tail().await.unwrap();
    let mut late = PgConnection::connect(&url).await.unwrap();
    let mut tx = late.begin().await.unwrap();
    let early_id = write_event(&mut tx, job).await;
    let newer = b.create(b.job(b.a)).await.number;
    assert!(b.detail(newer).await.cursor < early_id);
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_sees_every_event_of_many_writers_once_and_in_order() {
    let (b, _url) = bench().await;
    let (writers, each) = (8, 25);
    let mut tasks = JoinSet::new();
    for _ in 0..writers {
        let b = b.clone();
        tasks.spawn(async move {
            for _ in 0..each {
                b.create(b.job(b.a)).await;
            }
        });
    }
    let mut cursor = OutboxCursor::default();
    let mut seen = Vec::new();
    let follow = async {
        while seen.len() < writers * each {
            seen.extend(ids(&b, &mut cursor).await);
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), follow).await.unwrap();
    tasks.join_all().await;
    assert!(seen.windows(2).all(|pair| pair[0] < pair[1]));
    assert_eq!(seen.len(), writers * each);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_with_the_same_keys_in_another_order_end_with_one_job_per_key() {
    let (b, _url) = bench().await;
    let keyed = |b: &Bench, key: usize| NewJob {
        idempotency: Some(Idempotency {
            key: format!("k{key}"),
            payload_hash: "same".into(),
            expires_at: None,
        }),
        ..b.job(b.a)
    };
    let mut tasks = JoinSet::new();
    for task in 0..6 {
        let b = b.clone();
        let mut jobs: Vec<NewJob> = (0..5).map(|key| keyed(&b, key)).collect();
        if task % 2 == 1 {
            jobs.reverse();
        }
        tasks.spawn(async move {
            let answers = b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
            answers.into_iter().map(|a| a.unwrap().number).collect::<Vec<_>>()
        });
    }
    let numbers: HashSet<i64> = tasks.join_all().await.into_iter().flatten().collect();
    assert_eq!(numbers.len(), 5);
    assert_eq!(b.store.recount().await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claimers_of_several_processes_never_share_a_job() {
    let (b, url) = bench().await;
    b.create_many(b.a, 300).await;
    b.create_many(b.b, 100).await;
    let other = PostgresStore::connect(&url, b.clock.clone(), Options::default()).await.unwrap();
    let start = Arc::new(Barrier::new(6));
    let mut tasks = JoinSet::new();
    for worker in 0..6 {
        let store: Arc<dyn Store> = if worker % 2 == 0 { b.store.clone() } else { other.clone() };
        let start = start.clone();
        tasks.spawn(async move {
            start.wait().await;
            let worker = WorkerId(format!("w{worker}"));
            let mut mine = Vec::new();
            let mut empty = 0;
            while empty < 3 {
                let jobs = store.claim(&worker, &Selector::default(), 17, LEASE).await.unwrap();
                empty = if jobs.is_empty() { empty + 1 } else { 0 };
                mine.extend(jobs.into_iter().map(|j| j.lease.number));
            }
            mine
        });
    }
    let claimed: Vec<i64> = tasks.join_all().await.into_iter().flatten().collect();
    let distinct: HashSet<i64> = claimed.iter().copied().collect();
    assert_eq!(claimed.len(), distinct.len(), "a job was handed out twice");
    let rest = b.claim(400).await.len();
    assert_eq!(claimed.len() + rest, 400, "a job got lost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_lanes_of_one_tenant_leave_another_its_share() {
    let (b, _url) = bench().await;
    let mut backlog = Vec::new();
    for (n, queue) in ["default", "high", "low"].iter().cycle().take(900).enumerate() {
        backlog.push(NewJob { queue: (*queue).into(), priority: 1 + (n % 5) as i32, ..b.job(b.a) });
    }
    b.store.create_jobs(&Scope::system("test"), backlog).await.unwrap();
    b.create_many(b.b, 10).await;
    let jobs = b.claim(20).await;
    let mut by_tenant: HashMap<TenantId, usize> = HashMap::new();
    for job in &jobs {
        *by_tenant.entry(job.tenant_id).or_default() += 1;
    }
    assert_eq!((by_tenant[&b.a], by_tenant[&b.b]), (10, 10));
    assert_eq!(b.claim(50).await.len(), 50, "alone, the backlog fills the batch");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leadership_ends_with_the_connection_of_the_leader() {
    let (b, url) = bench().await;
    let other = PostgresStore::connect(&url, b.clock.clone(), Options::default()).await.unwrap();
    assert!(b.store.try_lead("sweeps", "one", LEASE).await.unwrap());
    assert!(!other.try_lead("sweeps", "two", LEASE).await.unwrap());
    let mut admin = PgConnection::connect(&url).await.unwrap();
    sqlx::query(
        "SELECT pg_terminate_backend(pid) FROM pg_locks
         WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
    )
    .execute(&mut admin)
    .await
    .unwrap();
    let taken = async {
        while !other.try_lead("sweeps", "two", LEASE).await.unwrap() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, taken).await.expect("the other process takes over");
    // The old leader first finds its connection dead, then that it does not lead any more.
    let first = b.store.try_lead("sweeps", "one", LEASE).await;
    assert!(!matches!(first, Ok(true)), "{first:?}");
    assert!(!b.store.try_lead("sweeps", "one", LEASE).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_is_woken() {
    let (b, url) = bench().await;
    let other = PostgresStore::connect(&url, b.clock.clone(), Options::default()).await.unwrap();
    let mut wakes = other.wakes();
    let heard = async {
        // The other store may not be listening yet; a job created before that wakes nobody.
        loop {
            b.create(b.job(b.a)).await;
            let wake = tokio::time::timeout(Duration::from_millis(100), wakes.recv()).await;
            if matches!(&wake, Ok(Ok(Wake::JobsIn(lanes))) if lanes[0].tenant == b.a) {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, heard).await.expect("NOTIFY reaches the other process");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fresh_database_is_current_only_after_migrating() {
    let clock = Clock::frozen(NOW);
    let (store, _url) = fresh_store(clock).await;
    assert!(store.schema_is_current().await.unwrap());
    store.migrate().await.unwrap();
    store.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_with_a_nul_is_the_callers_mistake() {
    let (b, _url) = bench().await;
    let answer = b.store.tenant_by_slug(&Scope::system("test"), "a\0b").await;
    assert!(matches!(answer, Err(StoreError::Problem(p)) if p.code == ProblemCode::InvalidInput));
}
