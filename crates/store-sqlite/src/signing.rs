//! The keys that sign links.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::Table,
    error::Outcome,
};
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult,
    signing::{SigningKey, SigningKeys},
};
use sqlx::SqliteConnection;

const KEYS: Table = Table("signing_keys");

#[async_trait]
impl SigningKeys for SqliteStore {
    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>> {
        Ok(signing_keys(self).await?)
    }
    async fn ensure_signing_key(&self, secret: &str) -> StoreResult<Vec<SigningKey>> {
        Ok(ensure_signing_key(self, secret).await?)
    }
    async fn rotate_signing_key(
        &self,
        scope: &Scope,
        secret: &str,
        keep_previous: bool,
    ) -> StoreResult<Vec<SigningKey>> {
        Ok(rotate_signing_key(self, scope, secret, keep_previous).await?)
    }
}

async fn signing_keys(store: &SqliteStore) -> Outcome<Vec<SigningKey>> {
    let mut connection = store.read.acquire().await?;
    newest_first(&mut connection).await
}

async fn ensure_signing_key(store: &SqliteStore, secret: &str) -> Outcome<Vec<SigningKey>> {
    let known = signing_keys(store).await?;
    if !known.is_empty() {
        return Ok(known);
    }
    let mut tx = store.begin().await?;
    if newest_first(&mut tx).await?.is_empty() {
        insert(&mut tx, secret, &store.clock.now().to_string()).await?;
    }
    let keys = newest_first(&mut tx).await?;
    tx.commit().await?;
    Ok(keys)
}

async fn rotate_signing_key(
    store: &SqliteStore,
    scope: &Scope,
    secret: &str,
    keep_previous: bool,
) -> Outcome<Vec<SigningKey>> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    insert(&mut tx, secret, &now.to_string()).await?;
    let kept = if keep_previous { 2 } else { 1 };
    sqlx::query!(
        "DELETE FROM signing_keys WHERE id NOT IN (SELECT id FROM signing_keys ORDER BY id DESC LIMIT ?1)",
        kept
    )
    .execute(&mut *tx)
    .await?;
    let deed = Deed::new(scope.tenant(), "signing_key.rotate", "installation", "signing");
    audit(&mut tx, scope, &[deed], now).await?;
    let keys = newest_first(&mut tx).await?;
    tx.commit().await?;
    Ok(keys)
}

async fn insert(connection: &mut SqliteConnection, secret: &str, at: &str) -> Outcome<()> {
    sqlx::query!("INSERT INTO signing_keys (secret, created_at) VALUES (?1, ?2)", secret, at)
        .execute(connection)
        .await?;
    Ok(())
}

async fn newest_first(connection: &mut SqliteConnection) -> Outcome<Vec<SigningKey>> {
    let rows = sqlx::query!("SELECT secret, created_at FROM signing_keys ORDER BY id DESC")
        .fetch_all(connection)
        .await?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        keys.push(SigningKey { secret: row.secret, created_at: KEYS.time("created_at", &row.created_at)? });
    }
    Ok(keys)
}
