//! The suite every store must pass, on a real Postgres.

mod common;

use leasehold_queue::{Clock, Store};
use std::sync::Arc;

async fn fresh(clock: Clock) -> (Arc<dyn Store>, impl Sized) {
    let (store, guard) = common::fresh_store(clock).await;
    (store as Arc<dyn Store>, guard)
}

leasehold_queue::conformance_suite!(crate::fresh);
