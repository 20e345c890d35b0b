//! Limits over several processes on one file.

mod common;

use common::{fresh_store, open};
use leasehold_conformance::{Bench, NOW, limits_under_load};
use leasehold_queue::{Clock, Engine, EngineConfig, Store, params::Selector};
use leasehold_types::WorkerId;
use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;

const LEASE: Duration = Duration::from_secs(60);

/// Two stores on one file.
async fn two_processes() -> (Bench, Vec<Arc<dyn Store>>, TempDir) {
    let clock = Clock::frozen(NOW);
    let (one, folder) = fresh_store(clock.clone()).await;
    let other = open(folder.path(), clock.clone()).await;
    (Bench::new(one.clone(), clock).await, vec![one, other], folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claimers_of_two_processes_never_pass_a_tenants_limit() {
    let (b, stores, _folder) = two_processes().await;
    limits_under_load::claimers_of_several_stores_never_pass_a_tenants_limit(b, &stores).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claimers_of_two_processes_never_pass_a_keys_limit() {
    let (b, stores, _folder) = two_processes().await;
    limits_under_load::claimers_of_several_stores_never_pass_a_keys_limit(b, &stores).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_waits_for_the_writer_gets_nothing_once_frozen() {
    let (b, stores, folder) = two_processes().await;
    let number = b.create(b.job(b.a)).await.number;
    let file = folder.path().join("data/leasehold.db");
    let mut elsewhere = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let tx = elsewhere.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let engine = Arc::new(Engine::new(stores[0].clone(), b.clock.clone(), EngineConfig::default()));
    let (worker, selector) = (WorkerId("w".into()), Selector::default());
    let mut claim = Box::pin(engine.claim(&worker, &selector, 1, LEASE));
    // Once around: it is on its way and cannot come back before the other writer ends.
    assert!(tokio::time::timeout(Duration::ZERO, &mut claim).await.is_err());
    engine.freeze_claims();
    tx.commit().await.unwrap();
    assert!(claim.await.unwrap().is_empty());
    assert_eq!(b.kinds(number).await, ["job.created"], "it was not even touched");
}
