//! The rows of API keys.

use crate::{
    PostgresStore,
    convert::{as_json, moment, parsed, stamp, stamp_if},
    error::{Error, Outcome, outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult,
    ports::{
        api_keys::{ApiKeyQueries, ApiKeyRows},
        tx::Tx,
    },
};
use leasehold_types::{KeyId, TenantId, Timestamp, view::ApiKey};
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

struct KeyRecord {
    id: Uuid,
    tenant_id: Option<Uuid>,
    name: String,
    prefix: String,
    secret_hash: String,
    scopes: Value,
    created_at: OffsetDateTime,
    expires_at: Option<OffsetDateTime>,
    revoked_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
}

impl TryFrom<KeyRecord> for (ApiKey, String) {
    type Error = Error;

    fn try_from(r: KeyRecord) -> Outcome<Self> {
        let key = ApiKey {
            id: KeyId(r.id),
            tenant_id: r.tenant_id.map(TenantId),
            name: r.name,
            prefix: r.prefix,
            scopes: parsed("api_keys", "scopes", r.scopes)?,
            created_at: stamp(r.created_at),
            expires_at: stamp_if(r.expires_at),
            revoked_at: stamp_if(r.revoked_at),
            last_used_at: stamp_if(r.last_used_at),
        };
        Ok((key, r.secret_hash))
    }
}

#[async_trait]
impl ApiKeyRows for PostgresTx {
    async fn insert_key(&mut self, key: &ApiKey, secret_hash: &str, by: &str) -> Outcome<bool> {
        let done = sqlx::query!(
            "INSERT INTO api_keys (id, tenant_id, name, prefix, secret_hash, scopes, created_by, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (prefix) DO NOTHING",
            key.id.0,
            key.tenant_id.map(|t| t.0),
            key.name,
            key.prefix,
            secret_hash,
            as_json(&key.scopes)?,
            by,
            moment(key.created_at),
            key.expires_at.map(moment)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn revoke_key(&mut self, prefix: &str, tenant: Option<TenantId>) -> Outcome<Option<ApiKey>> {
        let now = moment(self.now());
        let row = sqlx::query_as!(
            KeyRecord,
            "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, $3)
             WHERE prefix = $1 AND ($2::uuid IS NULL OR tenant_id = $2)
             RETURNING id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at,
                       last_used_at",
            prefix,
            tenant.map(|t| t.0),
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(without_hash).transpose()
    }

    async fn note_key_use(&mut self, key: KeyId, noted_since: Timestamp) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "UPDATE api_keys SET last_used_at = $2
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)",
            key.0,
            now,
            moment(noted_since)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }
}

#[async_trait]
impl ApiKeyQueries for PostgresStore {
    async fn api_keys(&self, scope: &Scope) -> StoreResult<Vec<ApiKey>> {
        outcome(async {
            let rows = sqlx::query_as!(
                KeyRecord,
                "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at,
                        last_used_at
                 FROM api_keys WHERE $1::uuid IS NULL OR tenant_id = $1 ORDER BY created_at DESC, prefix",
                scope.tenant().map(|t| t.0)
            )
            .fetch_all(&self.work)
            .await?;
            rows.into_iter().map(without_hash).collect()
        })
        .await
    }

    async fn key_by_prefix(&self, prefix: &str) -> StoreResult<Option<(ApiKey, String)>> {
        outcome(async {
            let found = sqlx::query_as!(
                KeyRecord,
                "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at,
                        last_used_at
                 FROM api_keys WHERE prefix = $1",
                prefix
            )
            .fetch_optional(&self.work)
            .await?;
            found.map(TryInto::try_into).transpose()
        })
        .await
    }
}

fn without_hash(row: KeyRecord) -> Outcome<ApiKey> {
    <(ApiKey, String)>::try_from(row).map(|(key, _)| key)
}
