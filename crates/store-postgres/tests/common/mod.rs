//! A database of its own for every test.

use leasehold_queue::Clock;
use leasehold_queue::prelude::*;
use leasehold_store_postgres::{Options, PostgresStore};
use scratch_postgres::fresh_database;
use std::sync::Arc;

/// A fresh, migrated store and the address of its database.
pub async fn fresh_store(clock: Clock) -> (Arc<PostgresStore>, String) {
    let url = fresh_database();
    let options = Options { max_connections: 8, lease_connections: 2, ..Options::default() };
    let store = PostgresStore::connect(&url, clock, options).await.expect("the fresh database answers");
    store.migrate().await.expect("the migrations apply");
    (store, url)
}
