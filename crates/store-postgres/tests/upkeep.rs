//! Postgres' upkeep passes what every store's must; its archive keeps a job whole, and many may apply at once.

mod common;

use leasehold_conformance::{Bench, NOW};
use leasehold_queue::{
    Clock, Scope, Store,
    bulk::{BulkAction, BulkRequest},
    params::{Finish, NewJob},
    transition::{Ending, Rules},
    upkeep::Place,
};
use leasehold_types::{JobFilter, JobStatus, view::BulkState};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use std::{sync::Arc, time::Duration};

async fn fresh(clock: Clock) -> (Arc<dyn Store>, Arc<dyn Store>, String) {
    let (store, url) = common::fresh_store(clock).await;
    (store.clone(), store, url)
}

leasehold_conformance::upkeep_suite!(crate::fresh);

async fn bench() -> (Bench, Arc<dyn Store>, PgConnection) {
    let clock = Clock::frozen(NOW);
    let (store, upkeep, url) = fresh(clock.clone()).await;
    let direct = PgConnection::connect(&url).await.unwrap();
    (Bench::new(store, clock).await, upkeep, direct)
}

fn request(action: BulkAction, filter: JobFilter) -> BulkRequest {
    BulkRequest { action, filter, reason: "old".into(), top_groups: 0 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archived_job_keeps_its_row_and_attempts() {
    let (bench, upkeep, mut direct) = bench().await;
    let job = bench.running().await;
    let finish = Finish {
        lease: job.lease.clone(),
        ending: Ending::Completed,
        result: Some(json!({"rows": 3})),
        facts: Default::default(),
        token: None,
        policy: None,
    };
    bench.store.finish(&Rules::default(), vec![finish]).await.unwrap();
    let scope = Scope::system("test");
    let prune = request(BulkAction::Prune { archive: true }, JobFilter::default());
    let plan = upkeep.plan_bulk(&scope, prune).await.unwrap();
    assert_eq!(bench.apply_chunk(&scope, plan.id, 10).await.unwrap().state, BulkState::Done);

    let (number, status, row, attempts): (i64, String, Value, Value) =
        sqlx::query_as("SELECT number, status, job, attempts FROM jobs_archive")
            .fetch_one(&mut direct)
            .await
            .unwrap();
    assert_eq!((number, status.as_str()), (job.lease.number, "completed"));
    assert_eq!((&row["payload"], &row["result"]), (&json!({"n": 1}), &json!({"rows": 3})));
    assert_eq!((&row["attempt_count"], &row["failure_timeline"]), (&json!(1), &json!([])));
    assert_eq!((&attempts[0]["outcome"], &attempts[0]["worker_id"]), (&json!("succeeded"), &json!("w1")));
    let columns: Vec<String> = sqlx::query_scalar(
        "SELECT column_name::text FROM information_schema.columns WHERE table_name = 'jobs'",
    )
    .fetch_all(&mut direct)
    .await
    .unwrap();
    let of_a_running_job = ["worker_id", "lease_id", "leased_until", "running_pid", "cancel_requested_at"];
    for column in columns {
        let kept = !of_a_running_job.contains(&column.as_str());
        assert_eq!(row.get(&column).is_some(), kept, "{column}");
    }
}

/// The schema forbids such a row; a table restored without its checks does not ask it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_on_an_idle_row_is_found_and_cleared() {
    let (bench, upkeep, mut direct) = bench().await;
    let number = bench.create(bench.job(bench.a)).await.number;
    sqlx::raw_sql(
        "DO $$ DECLARE name text; BEGIN
           FOR name IN SELECT conname FROM pg_constraint
                       WHERE conrelid = 'jobs'::regclass AND contype = 'c' AND pg_get_constraintdef(oid) LIKE '%lease%'
           LOOP EXECUTE format('ALTER TABLE jobs DROP CONSTRAINT %I', name); END LOOP; END $$;
         UPDATE jobs SET lease_id = gen_random_uuid(), worker_id = 'w', leased_until = created_at",
    )
    .execute(&mut direct)
    .await
    .unwrap();
    let found = upkeep
        .sweep_integrity(&Scope::system("test"), &Place::default(), &Rules::default(), false)
        .await
        .unwrap();
    assert_eq!((found.leases_on_idle_rows, found.expired_leases, found.fixed), (1, 0, 0));
    let mended = upkeep
        .sweep_integrity(&Scope::system("test"), &Place::default(), &Rules::default(), true)
        .await
        .unwrap();
    assert_eq!((mended.leases_on_idle_rows, mended.fixed), (1, 1));
    assert_eq!(bench.detail(number).await.row.worker_id, None);
    assert_eq!(bench.claim_numbers(1).await, [number]);
}

/// Two processes that apply one plan share its chunks: nothing is done twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_applied_by_many_at_once_retries_each_job_once() {
    let (bench, upkeep, mut direct) = bench().await;
    let bench = Arc::new(bench);
    bench.create_many(bench.a, 40).await;
    for job in bench.claim(40).await {
        bench.finish(&job.lease, Ending::Cancelled).await;
    }
    let scope = bench.ann();
    let plan = upkeep.plan_bulk(&scope, request(BulkAction::Retry, JobFilter::default())).await.unwrap();
    let appliers = (0..4).map(|_| {
        let (bench, scope) = (bench.clone(), scope.clone());
        tokio::spawn(async move { while bench.apply_chunk(&scope, plan.id, 3).await.is_ok() {} })
    });
    for applier in appliers.collect::<Vec<_>>() {
        applier.await.unwrap();
    }
    let done = upkeep.bulk_operations(&scope, None, 1).await.unwrap().remove(0);
    assert_eq!((done.state, done.changed, done.skipped), (BulkState::Done, 40, 0));
    let children: i64 =
        sqlx::query_scalar("SELECT count(DISTINCT parent_job_id) FROM jobs WHERE parent_job_id > 0")
            .fetch_one(&mut direct)
            .await
            .unwrap();
    assert_eq!(children, 40);
    assert_eq!(bench.claim(100).await.len(), 40);
}

/// Somebody else takes the key after the plan has looked and before it writes: skipped, not an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_requeue_that_loses_the_race_for_its_dedupe_key_is_skipped() {
    let (bench, upkeep, mut rival) = bench().await;
    let bench = Arc::new(bench);
    let parked = bench.quarantined_with(|job| job.dedupe_key = Some("k".into())).await;
    let other = bench.create(bench.job(bench.a)).await.number;
    let scope = bench.ann();
    let requeue = request(BulkAction::RequeueQuarantined, JobFilter::default());
    let plan = upkeep.plan_bulk(&scope, requeue).await.unwrap();
    let mut taking = rival.begin().await.unwrap();
    sqlx::query("UPDATE jobs SET dedupe_key = 'k' WHERE number = $1")
        .bind(other)
        .execute(&mut *taking)
        .await
        .unwrap();
    let applier = bench.clone();
    let applying = tokio::spawn(async move { applier.apply_chunk(&scope, plan.id, 10).await });
    for _ in 0..500 {
        let waits: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_stat_activity
                            WHERE datname = current_database() AND wait_event_type = 'Lock')",
        )
        .fetch_one(&mut *taking)
        .await
        .unwrap();
        if waits {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!applying.is_finished(), "it waits for who is taking the key");
    taking.commit().await.unwrap();
    let done = applying.await.unwrap().unwrap();
    assert_eq!((done.state, done.changed, done.skipped), (BulkState::Done, 0, 1));
    assert_eq!(bench.status(parked).await, JobStatus::Quarantined);
}

/// A number in the filter's text means that job, also when the job is gone by the time the plan is applied.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_for_a_job_that_is_gone_reaches_no_other() {
    let (bench, upkeep, mut direct) = bench().await;
    let innocent = bench.create(NewJob { correlation_id: Some("x2x".into()), ..bench.job(bench.a) }).await;
    let meant = bench.create(bench.job(bench.a)).await;
    assert_eq!((innocent.number, meant.number), (1, 2));
    let filter = JobFilter { q: Some("2".into()), ..JobFilter::default() };
    let plan = upkeep.plan_bulk(&bench.ann(), request(BulkAction::Cancel, filter)).await.unwrap();
    assert_eq!((plan.planned, plan.sample.as_slice()), (1, [2].as_slice()));
    sqlx::query("DELETE FROM jobs WHERE number = 2").execute(&mut direct).await.unwrap();
    let done = bench.apply_chunk(&bench.ann(), plan.id, 10).await.unwrap();
    assert_eq!((done.state, done.changed, done.skipped), (BulkState::Done, 0, 1));
}
