//! The keys that sign links.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::stamp,
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult,
    signing::{SigningKey, SigningKeys},
};
use sqlx::PgConnection;
use time::OffsetDateTime;

#[async_trait]
impl SigningKeys for PostgresStore {
    async fn signing_keys(&self) -> StoreResult<Vec<SigningKey>> {
        let mut connection = self.work.acquire().await.map_err(database)?;
        newest_first(&mut connection).await
    }

    async fn ensure_signing_key(&self, secret: &str) -> StoreResult<Vec<SigningKey>> {
        let known = self.signing_keys().await?;
        if !known.is_empty() {
            return Ok(known);
        }
        let mut tx = self.work.begin().await.map_err(database)?;
        alone(&mut tx).await?;
        if newest_first(&mut tx).await?.is_empty() {
            insert(&mut tx, secret, self.now()).await?;
        }
        let keys = newest_first(&mut tx).await?;
        tx.commit().await.map_err(database)?;
        Ok(keys)
    }

    async fn rotate_signing_key(
        &self,
        scope: &Scope,
        secret: &str,
        keep_previous: bool,
    ) -> StoreResult<Vec<SigningKey>> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        alone(&mut tx).await?;
        insert(&mut tx, secret, now).await?;
        let kept: i64 = if keep_previous { 2 } else { 1 };
        sqlx::query!(
            "DELETE FROM signing_keys WHERE id NOT IN (SELECT id FROM signing_keys ORDER BY id DESC LIMIT $1)",
            kept
        )
        .execute(&mut *tx)
        .await
        .map_err(database)?;
        let act = Act {
            tenant: scope.tenant().map(|tenant| tenant.0),
            action: "signing_key.rotate",
            object_type: "installation",
            object_id: "signing",
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        let keys = newest_first(&mut tx).await?;
        tx.commit().await.map_err(database)?;
        Ok(keys)
    }
}

/// Two processes that begin at the same moment must not both make the first key.
async fn alone(connection: &mut PgConnection) -> StoreResult<()> {
    sqlx::query!("LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE")
        .execute(connection)
        .await
        .map_err(database)?;
    Ok(())
}

async fn insert(connection: &mut PgConnection, secret: &str, at: OffsetDateTime) -> StoreResult<()> {
    sqlx::query!("INSERT INTO signing_keys (secret, created_at) VALUES ($1, $2)", secret, at)
        .execute(connection)
        .await
        .map_err(database)?;
    Ok(())
}

async fn newest_first(connection: &mut PgConnection) -> StoreResult<Vec<SigningKey>> {
    let rows = sqlx::query!("SELECT secret, created_at FROM signing_keys ORDER BY id DESC")
        .fetch_all(connection)
        .await
        .map_err(database)?;
    Ok(rows
        .into_iter()
        .map(|row| SigningKey { secret: row.secret, created_at: stamp(row.created_at) })
        .collect())
}
