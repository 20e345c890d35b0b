//! API keys after they were made: listed, used, revoked.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::moment,
    error::database,
    people::KeyRecord,
};
use leasehold_queue::{Scope, StoreResult, remote::USE_NOTED_EVERY};
use leasehold_types::{KeyId, Problem, view::ApiKey};

impl PostgresStore {
    pub(crate) async fn reached_keys(&self, scope: &Scope) -> StoreResult<Vec<ApiKey>> {
        let rows = sqlx::query_as!(
            KeyRecord,
            "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at, last_used_at
             FROM api_keys WHERE $1::uuid IS NULL OR tenant_id = $1 ORDER BY created_at DESC, prefix",
            scope.tenant().map(|t| t.0)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        rows.into_iter().map(without_hash).collect()
    }

    pub(crate) async fn close_key(&self, scope: &Scope, prefix: &str) -> StoreResult<ApiKey> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let row = sqlx::query_as!(
            KeyRecord,
            "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3)
             WHERE prefix = $1 AND ($2::uuid IS NULL OR tenant_id = $2)
             RETURNING id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at,
                       last_used_at",
            prefix,
            scope.tenant().map(|t| t.0),
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This key"))?;
        let act = Act {
            tenant: row.tenant_id,
            action: "key.revoke",
            object_type: "key",
            object_id: prefix,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        without_hash(row)
    }

    pub(crate) async fn note_use(&self, key: KeyId) -> StoreResult<()> {
        let now = self.clock.now();
        sqlx::query!(
            "UPDATE api_keys SET last_used_at = $2
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)",
            key.0,
            moment(now),
            moment(now.minus(USE_NOTED_EVERY))
        )
        .execute(&self.work)
        .await
        .map(drop)
        .map_err(database)
    }
}

fn without_hash(row: KeyRecord) -> StoreResult<ApiKey> {
    <(ApiKey, String)>::try_from(row).map(|(key, _)| key)
}
