//! The rows of the keys that sign links.

use crate::{
    SqliteStore,
    convert::{Table, limit},
    error::{Outcome, outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::signing::{SigningKeyQueries, SigningKeyRows},
    signing::SigningKey,
};
use sqlx::SqliteConnection;

const KEYS: Table = Table("signing_keys");

#[async_trait]
impl SigningKeyRows for SqliteTx {
    async fn lock_signing_keys(&mut self) -> Outcome<Vec<SigningKey>> {
        newest_first(&mut self.tx).await
    }

    async fn insert_signing_key(&mut self, key: &SigningKey) -> Outcome<()> {
        let created_at = key.created_at.to_string();
        sqlx::query!("INSERT INTO signing_keys (secret, created_at) VALUES (?1, ?2)", key.secret, created_at)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn keep_signing_keys(&mut self, newest: u32) -> Outcome<()> {
        let newest = limit(newest);
        sqlx::query!(
            "DELETE FROM signing_keys WHERE id NOT IN (SELECT id FROM signing_keys ORDER BY id DESC LIMIT ?1)",
            newest
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }
}

#[async_trait]
impl SigningKeyQueries for SqliteStore {
    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>> {
        outcome(async { newest_first(&mut *self.read.acquire().await?).await }).await
    }
}

async fn newest_first(connection: &mut SqliteConnection) -> Outcome<Vec<SigningKey>> {
    let rows = sqlx::query!("SELECT secret, created_at FROM signing_keys ORDER BY id DESC")
        .fetch_all(connection)
        .await?;
    rows.into_iter()
        .map(|row| {
            Ok(SigningKey { created_at: KEYS.time("created_at", &row.created_at)?, secret: row.secret })
        })
        .collect()
}
