//! The rows of the keys that sign links.

use crate::{
    PostgresStore,
    convert::{moment, stamp},
    error::{Outcome, outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::signing::{SigningKeyQueries, SigningKeyRows},
    signing::SigningKey,
};
use sqlx::PgConnection;

#[async_trait]
impl SigningKeyRows for PostgresTx {
    /// The table is locked: two processes that begin at the same moment must not both make the first key.
    async fn lock_signing_keys(&mut self) -> Outcome<Vec<SigningKey>> {
        sqlx::query!("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE").execute(&mut *self.tx).await?;
        newest_first(&mut self.tx).await
    }

    async fn insert_signing_key(&mut self, key: &SigningKey) -> Outcome<()> {
        sqlx::query!(
            "INSERT INTO signing_keys (secret, created_at) VALUES ($1, $2)",
            key.secret,
            moment(key.created_at)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn keep_signing_keys(&mut self, newest: u32) -> Outcome<()> {
        sqlx::query!(
            "DELETE FROM signing_keys WHERE id NOT IN (SELECT id FROM signing_keys ORDER BY id DESC LIMIT $1)",
            i64::from(newest)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }
}

#[async_trait]
impl SigningKeyQueries for PostgresStore {
    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>> {
        outcome(async { newest_first(&mut *self.work.acquire().await?).await }).await
    }
}

async fn newest_first(connection: &mut PgConnection) -> Outcome<Vec<SigningKey>> {
    let rows = sqlx::query!("SELECT secret, created_at FROM signing_keys ORDER BY id DESC")
        .fetch_all(connection)
        .await?;
    let keys = rows.into_iter().map(|r| SigningKey { created_at: stamp(r.created_at), secret: r.secret });
    Ok(keys.collect())
}
