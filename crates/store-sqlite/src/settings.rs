//! The settings this installation keeps for itself.

use crate::{
    SqliteStore,
    convert::Table,
    error::{Outcome, outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::settings::{Setting, SettingQueries, SettingRows},
};
use leasehold_types::Timestamp;

const SETTINGS: Table = Table("instance_settings");

#[async_trait]
impl SettingRows for SqliteTx {
    async fn take_setting(&mut self, key: &str) -> Outcome<Option<Setting>> {
        let taken =
            sqlx::query!("DELETE FROM instance_settings WHERE key = ?1 RETURNING value, expires_at", key)
                .fetch_optional(&mut *self.tx)
                .await?;
        let Some(row) = taken else { return Ok(None) };
        Ok(Some((row.value, SETTINGS.time_opt("expires_at", row.expires_at.as_deref())?)))
    }
}

#[async_trait]
impl SettingQueries for SqliteStore {
    async fn put_setting(&self, key: &str, value: &str, expires_at: Option<Timestamp>) -> StoreResult<()> {
        outcome(async {
            let expires_at = expires_at.map(|at| at.to_string());
            sqlx::query!(
                "INSERT INTO instance_settings (key, value, expires_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
                key,
                value,
                expires_at
            )
            .execute(&self.write)
            .await?;
            Ok(())
        })
        .await
    }

    /// The update changes nothing; it makes the row that was there first come back.
    async fn ensure_setting(&self, key: &str, value: &str) -> StoreResult<String> {
        outcome(async {
            let mut tx = self.begin().await?;
            let kept = sqlx::query_scalar!(
                "INSERT INTO instance_settings (key, value) VALUES (?1, ?2)
                 ON CONFLICT (key) DO UPDATE SET value = instance_settings.value
                 RETURNING value",
                key,
                value
            )
            .fetch_one(&mut *tx)
            .await?;
            tx.commit().await?;
            Ok(kept)
        })
        .await
    }

    async fn setting(&self, key: &str) -> StoreResult<Option<Setting>> {
        outcome(async {
            let found = sqlx::query!("SELECT value, expires_at FROM instance_settings WHERE key = ?1", key)
                .fetch_optional(&self.read)
                .await?;
            let Some(row) = found else { return Ok(None) };
            Ok(Some((row.value, SETTINGS.time_opt("expires_at", row.expires_at.as_deref())?)))
        })
        .await
    }
}
