//! The suite every store must pass, on a real Postgres.

mod common;

use leasehold_queue::{Clock, Store};
use std::sync::Arc;

async fn fresh(clock: Clock) -> (Arc<dyn Store>, impl Sized) {
    let (store, guard) = common::fresh_store(clock).await;
    (store as Arc<dyn Store>, guard)
}

leasehold_conformance::conformance_suite!(crate::fresh);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_sequences_agree_with_the_model() {
    let clock = Clock::frozen(leasehold_conformance::NOW);
    let (store, _guard) = fresh(clock.clone()).await;
    let bench = leasehold_conformance::Bench::new(store, clock).await;
    leasehold_conformance::model::sequences_agree_with_the_model(bench, 2_000).await;
}
