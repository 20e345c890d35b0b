//! SQLite passes what every store must pass.

mod common;

use leasehold_queue::{Clock, Store};
use std::sync::Arc;
use tempfile::TempDir;

async fn fresh(clock: Clock) -> (Arc<dyn Store>, TempDir) {
    let (store, folder) = common::fresh_store(clock).await;
    (store, folder)
}

leasehold_conformance::conformance_suite!(crate::fresh);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_sequences_agree_with_the_model() {
    let clock = Clock::frozen(leasehold_conformance::NOW);
    let (store, _guard) = fresh(clock.clone()).await;
    let bench = leasehold_conformance::Bench::new(store, clock).await;
    leasehold_conformance::model::sequences_agree_with_the_model(bench, 2_000).await;
}
