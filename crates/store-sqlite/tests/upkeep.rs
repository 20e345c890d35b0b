//! SQLite's upkeep passes what every store's must, and its archive keeps a job whole.

mod common;

use leasehold_conformance::{Bench, NOW};
use leasehold_queue::{
    Clock, Scope, Store,
    bulk::{BulkAction, BulkRequest},
    params::Finish,
    transition::{Ending, Rules},
    upkeep::Place,
};
use leasehold_types::{JobFilter, view::BulkState};
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};
use std::sync::Arc;
use tempfile::TempDir;

async fn fresh(clock: Clock) -> (Arc<dyn Store>, Arc<dyn Store>, TempDir) {
    let (store, folder) = common::fresh_store(clock).await;
    (store.clone(), store, folder)
}

leasehold_conformance::upkeep_suite!(crate::fresh);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_archived_job_keeps_its_row_and_attempts() {
    let clock = Clock::frozen(NOW);
    let (store, upkeep, folder) = fresh(clock.clone()).await;
    let bench = Bench::new(store.clone(), clock).await;
    let job = bench.running().await;
    let finish = Finish {
        lease: job.lease.clone(),
        ending: Ending::Completed,
        result: Some(json!({"rows": 3})),
        facts: Default::default(),
        token: None,
        policy: None,
    };
    store.finish(&Rules::default(), vec![finish]).await.unwrap();
    let request = BulkRequest {
        action: BulkAction::Prune { archive: true },
        filter: JobFilter::default(),
        reason: "old".into(),
        top_groups: 0,
    };
    let scope = Scope::system("test");
    let plan = upkeep.plan_bulk(&scope, request).await.unwrap();
    assert_eq!(bench.apply_chunk(&scope, plan.id, 10).await.unwrap().state, BulkState::Done);

    let url = format!("sqlite:{}", folder.path().join("data/leasehold.db").display());
    let mut file = SqliteConnection::connect(&url).await.unwrap();
    let (number, status, row, attempts): (i64, String, String, String) =
        sqlx::query_as("SELECT number, status, job, attempts FROM jobs_archive")
            .fetch_one(&mut file)
            .await
            .unwrap();
    assert_eq!((number, status.as_str()), (job.lease.number, "completed"));
    let (row, attempts): (Value, Value) =
        (serde_json::from_str(&row).unwrap(), serde_json::from_str(&attempts).unwrap());
    assert_eq!((&row["payload"], &row["result"]), (&json!({"n": 1}), &json!({"rows": 3})));
    assert_eq!((&row["attempt_count"], &row["failure_timeline"]), (&json!(1), &json!([])));
    assert_eq!((&attempts[0]["outcome"], &attempts[0]["worker_id"]), (&json!("succeeded"), &json!("w1")));
    let columns: Vec<String> =
        sqlx::query_scalar("SELECT name FROM pragma_table_info('jobs')").fetch_all(&mut file).await.unwrap();
    let of_a_running_job = ["worker_id", "lease_id", "leased_until", "running_pid", "cancel_requested_at"];
    for column in columns.iter().filter(|column| !of_a_running_job.contains(&column.as_str())) {
        assert!(row.get(column).is_some(), "{column} was not archived");
    }
}

/// The schema forbids such a row; a hand at the file with the checks switched off does not ask it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_on_an_idle_row_is_found_and_cleared() {
    let clock = Clock::frozen(NOW);
    let (store, upkeep, folder) = fresh(clock.clone()).await;
    let bench = Bench::new(store, clock).await;
    let number = bench.create(bench.job(bench.a)).await.number;
    let url = format!("sqlite:{}", folder.path().join("data/leasehold.db").display());
    let mut file = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("PRAGMA ignore_check_constraints = ON").execute(&mut file).await.unwrap();
    sqlx::query("UPDATE jobs SET lease_id = 'l', worker_id = 'w', leased_until = ?2 WHERE number = ?1")
        .bind(number)
        .bind(NOW.to_string())
        .execute(&mut file)
        .await
        .unwrap();
    file.close().await.unwrap();
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
