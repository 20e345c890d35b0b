//! The schema: migrations embedded in the binary.

use crate::{
    SqliteStore,
    error::{Error, Outcome},
};
use leasehold_queue::StoreError;
use sqlx::migrate::Migrator;
use std::collections::HashMap;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

/// All of it in one transaction: of two processes that start at the same moment the second waits, and then
/// finds everything applied.
pub(crate) async fn migrate(store: &SqliteStore) -> Outcome<()> {
    let mut tx = store.begin().await?;
    MIGRATIONS.run_direct(None, &mut *tx, false).await.map_err(|error| {
        let message = format!("migration: {error}");
        Error::Store(StoreError::Database { message, transient: false })
    })?;
    Ok(tx.commit().await?)
}

/// The table of applied migrations belongs to the migrator, so these statements cannot be checked by the schema.
pub(crate) async fn is_current(store: &SqliteStore) -> Outcome<bool> {
    let exists: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')")
            .fetch_one(&store.read)
            .await?;
    if !exists {
        return Ok(false);
    }
    let applied: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success")
            .fetch_all(&store.read)
            .await?;
    let applied: HashMap<_, _> = applied.into_iter().collect();
    let is_applied = |version, checksum: &[u8]| applied.get(&version).is_some_and(|sum| sum == checksum);
    Ok(applied.len() == MIGRATIONS.iter().count()
        && MIGRATIONS.iter().all(|m| is_applied(m.version, m.checksum.as_ref())))
}

/// The database's clock is this machine's own: there is nothing to measure.
pub(crate) async fn ping(store: &SqliteStore) -> Outcome<()> {
    sqlx::query("SELECT 1").execute(&store.read).await?;
    Ok(())
}
