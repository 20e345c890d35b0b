//! The database itself: its schema, its clock, who leads.

use crate::{
    SqliteStore,
    error::{Error, outcome},
    memory,
};
use async_trait::async_trait;
use leasehold_queue::{Database, StoreError, StoreResult, params::Wake};
use sqlx::migrate::Migrator;
use std::{collections::HashMap, time::Duration};
use tokio::sync::broadcast;

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");

#[async_trait]
impl Database for SqliteStore {
    /// All of it in one transaction: of two processes that start at the same moment the second waits, and then
    /// finds everything applied.
    async fn migrate(&self) -> StoreResult<()> {
        outcome(async {
            let mut tx = self.begin().await?;
            MIGRATIONS.run_direct(None, &mut *tx, false).await.map_err(|error| {
                let message = format!("migration: {error}");
                Error::Store(StoreError::Database { message, transient: false })
            })?;
            Ok(tx.commit().await?)
        })
        .await
    }

    /// The table of applied migrations belongs to the migrator, so these statements cannot be checked by the schema.
    async fn schema_is_current(&self) -> StoreResult<bool> {
        outcome(async {
            let exists: bool = sqlx::query_scalar(
                "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '_sqlx_migrations')",
            )
            .fetch_one(&self.read)
            .await?;
            if !exists {
                return Ok(false);
            }
            let applied: Vec<(i64, Vec<u8>)> =
                sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success")
                    .fetch_all(&self.read)
                    .await?;
            let applied: HashMap<_, _> = applied.into_iter().collect();
            let is_applied =
                |version, checksum: &[u8]| applied.get(&version).is_some_and(|sum| sum == checksum);
            Ok(applied.len() == MIGRATIONS.iter().count()
                && MIGRATIONS.iter().all(|m| is_applied(m.version, m.checksum.as_ref())))
        })
        .await
    }

    /// The database's clock is this machine's own: there is nothing to measure.
    async fn ping(&self) -> StoreResult<()> {
        outcome(async {
            sqlx::query("SELECT 1").execute(&self.read).await?;
            Ok(())
        })
        .await
    }

    async fn trim_memory(&self) -> StoreResult<()> {
        outcome(memory::trim(self)).await
    }

    fn engine_name(&self) -> &'static str {
        "sqlite"
    }

    fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.bell.listen()
    }

    /// A lease row: taken when free or run out, kept by its holder.
    async fn try_lead(&self, name: &str, holder: &str, for_how_long: Duration) -> StoreResult<bool> {
        outcome(async {
            let now = self.clock.now();
            let (now, until) = (now.to_string(), now.plus(for_how_long).to_string());
            let mut tx = self.begin().await?;
            let taken = sqlx::query!(
                "INSERT INTO leader_locks (name, holder, expires_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
                 WHERE leader_locks.holder = excluded.holder OR leader_locks.expires_at <= ?4",
                name,
                holder,
                until,
                now
            )
            .execute(&mut *tx)
            .await?;
            tx.commit().await?;
            Ok(taken.rows_affected() == 1)
        })
        .await
    }
}
