//! A store of its own for each test.

use leasehold_queue::Clock;
use leasehold_queue::prelude::*;
use leasehold_store_sqlite::{Options, SqliteStore};
use std::{path::Path, sync::Arc};
use tempfile::TempDir;

/// An empty, migrated store in a folder that lives as long as the guard.
pub async fn fresh_store(clock: Clock) -> (Arc<SqliteStore>, TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let store = open(folder.path(), clock).await;
    (store, folder)
}

/// The store in this folder, as another process would open it.
pub async fn open(folder: &Path, clock: Clock) -> Arc<SqliteStore> {
    let url = format!("sqlite:{}", folder.join("data/leasehold.db").display());
    let store = SqliteStore::connect(&url, clock, Options::default()).await.expect("the store opens");
    store.migrate().await.expect("the schema can be made");
    store
}
