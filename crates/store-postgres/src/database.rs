//! The database itself: its schema, its clock, who leads.

use crate::{PostgresStore, error::database};
use async_trait::async_trait;
use leasehold_queue::{Database, StoreError, StoreResult, params::Wake};
use sqlx::migrate::Migrator;
use std::{collections::HashMap, time::Duration};
use tokio::sync::broadcast;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");

#[async_trait]
impl Database for PostgresStore {
    async fn migrate(&self) -> StoreResult<()> {
        MIGRATIONS
            .run(&self.work)
            .await
            .map_err(|e| StoreError::Database { message: format!("migration: {e}"), transient: false })
    }

    /// The table of applied migrations belongs to the migrator, so this statement cannot be checked by the schema.
    async fn schema_is_current(&self) -> StoreResult<bool> {
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

    async fn ping(&self) -> StoreResult<()> {
        // Of the pool that is never busy for long: many at the dashboard do not make the database seem gone.
        self.measure_clock(&self.lease).await
    }

    /// What Postgres keeps in memory is its server's; this process only has its connections.
    async fn trim_memory(&self) -> StoreResult<()> {
        Ok(())
    }

    fn engine_name(&self) -> &'static str {
        "postgres"
    }

    fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.wakes.subscribe()
    }

    async fn try_lead(&self, name: &str, holder: &str, for_how_long: Duration) -> StoreResult<bool> {
        self.leadership.try_lead(name, holder, self.clock.now(), for_how_long).await
    }
}
