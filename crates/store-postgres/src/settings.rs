//! The settings this installation keeps for itself.

use crate::{
    PostgresStore,
    convert::{moment, stamp_if},
    error::{Outcome, outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::settings::{Setting, SettingQueries, SettingRows},
};
use leasehold_types::Timestamp;

#[async_trait]
impl SettingRows for PostgresTx {
    async fn take_setting(&mut self, key: &str) -> Outcome<Option<Setting>> {
        let taken =
            sqlx::query!("DELETE FROM instance_settings WHERE key = $1 RETURNING value, expires_at", key)
                .fetch_optional(&mut *self.tx)
                .await?;
        Ok(taken.map(|r| (r.value, stamp_if(r.expires_at))))
    }
}

#[async_trait]
impl SettingQueries for PostgresStore {
    async fn put_setting(&self, key: &str, value: &str, expires_at: Option<Timestamp>) -> StoreResult<()> {
        outcome(async {
            sqlx::query!(
                "INSERT INTO instance_settings (key, value, expires_at) VALUES ($1, $2, $3)
                 ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at",
                key,
                value,
                expires_at.map(moment)
            )
            .execute(&self.work)
            .await?;
            Ok(())
        })
        .await
    }

    /// The update changes nothing; it makes the row that was there first come back.
    async fn ensure_setting(&self, key: &str, value: &str) -> StoreResult<String> {
        outcome(async {
            Ok(sqlx::query_scalar!(
                "INSERT INTO instance_settings (key, value) VALUES ($1, $2)
                 ON CONFLICT (key) DO UPDATE SET value = instance_settings.value
                 RETURNING value",
                key,
                value
            )
            .fetch_one(&self.work)
            .await?)
        })
        .await
    }

    async fn setting(&self, key: &str) -> StoreResult<Option<Setting>> {
        outcome(async {
            let found = sqlx::query!("SELECT value, expires_at FROM instance_settings WHERE key = $1", key)
                .fetch_optional(&self.work)
                .await?;
            Ok(found.map(|r| (r.value, stamp_if(r.expires_at))))
        })
        .await
    }
}
