//! The embedded migrations.

use crate::{PostgresStore, error::database};
use leasehold_queue::{StoreError, StoreResult};
use sqlx::migrate::Migrator;
use std::collections::HashMap;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

impl PostgresStore {
    pub(crate) async fn bring_schema_up(&self) -> StoreResult<()> {
        MIGRATIONS
            .run(&self.work)
            .await
            .map_err(|e| StoreError::Database { message: format!("migration: {e}"), transient: false })
    }

    /// The table of applied migrations belongs to the migrator, so this statement cannot be checked by the schema.
    pub(crate) async fn schema_matches(&self) -> StoreResult<bool> {
        let exists: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
            .fetch_one(&self.work)
            .await
            .map_err(database)?;
        if !exists {
            return Ok(false);
        }
        let applied: Vec<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success")
                .fetch_all(&self.work)
                .await
                .map_err(database)?;
        let applied: HashMap<_, _> = applied.into_iter().collect();
        Ok(applied.len() == MIGRATIONS.iter().count()
            && MIGRATIONS
                .iter()
                .all(|m| applied.get(&m.version).is_some_and(|sum| sum.as_slice() == m.checksum.as_ref())))
    }
}
