//! Limits over several processes, and the lock they need: who waits for it, and who does not.

mod common;

use common::fresh_store;
use leasehold_conformance::{Bench, NOW, limits_under_load};
use leasehold_queue::{Clock, Engine, EngineConfig, Store, params::Selector};
use leasehold_store_postgres::{Options, PostgresStore};
use leasehold_types::WorkerId;
use sqlx::{Connection, PgConnection, Postgres, Transaction};
use std::{sync::Arc, time::Duration};

const PATIENCE: Duration = Duration::from_secs(10);
const LEASE: Duration = Duration::from_secs(60);

/// Four stores on one database.
async fn four_processes() -> (Bench, Vec<Arc<dyn Store>>) {
    let clock = Clock::frozen(NOW);
    let (first, url) = fresh_store(clock.clone()).await;
    let bench = Bench::new(first.clone(), clock.clone()).await;
    let mut stores: Vec<Arc<dyn Store>> = vec![first];
    for _ in 0..3 {
        let options = Options { max_connections: 4, ..Options::default() };
        stores.push(PostgresStore::connect(&url, clock.clone(), options).await.unwrap());
    }
    (bench, stores)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claimers_of_four_processes_never_pass_a_tenants_limit() {
    let (b, stores) = four_processes().await;
    limits_under_load::claimers_of_several_stores_never_pass_a_tenants_limit(b, &stores).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claimers_of_four_processes_never_pass_a_keys_limit() {
    let (b, stores) = four_processes().await;
    limits_under_load::claimers_of_several_stores_never_pass_a_keys_limit(b, &stores).await;
}

/// Another process in the middle of a limited claim.
async fn limited_claim_elsewhere(connection: &mut PgConnection) -> Transaction<'_, Postgres> {
    let mut tx = connection.begin().await.unwrap();
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('leasehold limited claims', 0))")
        .execute(&mut *tx)
        .await
        .unwrap();
    tx
}

async fn somebody_waits(connection: &mut PgConnection) {
    let waiting = async {
        let count = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        while sqlx::query_scalar::<_, i64>(count).fetch_one(&mut *connection).await.unwrap() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the claim comes to the lock");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_waits_for_the_lock_gets_nothing_once_frozen() {
    let clock = Clock::frozen(NOW);
    let (store, url) = fresh_store(clock.clone()).await;
    let b = Bench::new(store.clone(), clock.clone()).await;
    b.limit_tenant(b.a, Some(5)).await;
    let number = b.create(b.job(b.a)).await.number;
    let mut elsewhere = PgConnection::connect(&url).await.unwrap();
    let mut tx = limited_claim_elsewhere(&mut elsewhere).await;
    let engine = Arc::new(Engine::new(store, clock, EngineConfig::default()));
    let claim = tokio::spawn({
        let engine = engine.clone();
        async move { engine.claim(&WorkerId("w".into()), &Selector::default(), 1, LEASE).await.unwrap() }
    });
    somebody_waits(&mut tx).await;
    engine.freeze_claims();
    tx.commit().await.unwrap();
    assert!(claim.await.unwrap().is_empty());
    assert_eq!(b.kinds(number).await, ["job.created"], "it was not even touched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_without_limits_do_not_wait_for_limited_ones() {
    let clock = Clock::frozen(NOW);
    let (store, url) = fresh_store(clock.clone()).await;
    let b = Bench::new(store, clock).await;
    b.limit_tenant(b.a, Some(5)).await;
    b.create_many(b.b, 3).await;
    let mut elsewhere = PgConnection::connect(&url).await.unwrap();
    let _tx = limited_claim_elsewhere(&mut elsewhere).await;
    let claimed = tokio::time::timeout(PATIENCE, b.claim(10)).await.expect("it needs no lock");
    assert_eq!(claimed.len(), 3);
}
