//! The rows of API keys.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::{Error, Outcome, outcome},
    tx::SqliteTx,
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

const KEYS: Table = Table("api_keys");

struct KeyRecord {
    id: String,
    tenant_id: Option<String>,
    name: String,
    prefix: String,
    secret_hash: String,
    scopes: String,
    created_at: String,
    expires_at: Option<String>,
    revoked_at: Option<String>,
    last_used_at: Option<String>,
}

impl TryFrom<KeyRecord> for (ApiKey, String) {
    type Error = Error;

    fn try_from(row: KeyRecord) -> Outcome<Self> {
        let key = ApiKey {
            id: KEYS.parse("id", &row.id)?,
            tenant_id: KEYS.parse_opt("tenant_id", row.tenant_id.as_deref())?,
            scopes: KEYS.json("scopes", &row.scopes)?,
            created_at: KEYS.time("created_at", &row.created_at)?,
            expires_at: KEYS.time_opt("expires_at", row.expires_at.as_deref())?,
            revoked_at: KEYS.time_opt("revoked_at", row.revoked_at.as_deref())?,
            last_used_at: KEYS.time_opt("last_used_at", row.last_used_at.as_deref())?,
            name: row.name,
            prefix: row.prefix,
        };
        Ok((key, row.secret_hash))
    }
}

#[async_trait]
impl ApiKeyRows for SqliteTx {
    async fn insert_key(&mut self, key: &ApiKey, secret_hash: &str, by: &str) -> Outcome<bool> {
        let (id, tenant) = (key.id.to_string(), key.tenant_id.map(|id| id.to_string()));
        let (scopes, created_at) = (to_json(&key.scopes)?, key.created_at.to_string());
        let expires_at = key.expires_at.map(|at| at.to_string());
        let done = sqlx::query!(
            "INSERT INTO api_keys (id, tenant_id, name, prefix, secret_hash, scopes, created_by, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (prefix) DO NOTHING",
            id,
            tenant,
            key.name,
            key.prefix,
            secret_hash,
            scopes,
            by,
            created_at,
            expires_at
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn revoke_key(&mut self, prefix: &str, tenant: Option<TenantId>) -> Outcome<Option<ApiKey>> {
        let (tenant, now) = (tenant.map(|id| id.to_string()), self.now().to_string());
        let row = sqlx::query_as!(
            KeyRecord,
            r#"UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?3)
               WHERE prefix = ?1 AND (?2 IS NULL OR tenant_id = ?2)
               RETURNING id AS "id!", tenant_id, name AS "name!", prefix AS "prefix!", secret_hash AS "secret_hash!",
                         scopes AS "scopes!", created_at AS "created_at!", expires_at, revoked_at, last_used_at"#,
            prefix,
            tenant,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(without_hash).transpose()
    }

    async fn note_key_use(&mut self, key: KeyId, noted_since: Timestamp) -> Outcome<()> {
        let (key, now, noted_since) = (key.to_string(), self.now().to_string(), noted_since.to_string());
        sqlx::query!(
            "UPDATE api_keys SET last_used_at = ?2
             WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at <= ?3)",
            key,
            now,
            noted_since
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }
}

#[async_trait]
impl ApiKeyQueries for SqliteStore {
    async fn api_keys(&self, scope: &Scope) -> StoreResult<Vec<ApiKey>> {
        outcome(async {
            let only = scope.tenant().map(|id| id.to_string());
            let rows = sqlx::query_as!(
                KeyRecord,
                "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at,
                        last_used_at
                 FROM api_keys WHERE ?1 IS NULL OR tenant_id = ?1 ORDER BY created_at DESC, prefix",
                only
            )
            .fetch_all(&self.read)
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
                 FROM api_keys WHERE prefix = ?1",
                prefix
            )
            .fetch_optional(&self.read)
            .await?;
            found.map(TryInto::try_into).transpose()
        })
        .await
    }
}

fn without_hash(row: KeyRecord) -> Outcome<ApiKey> {
    <(ApiKey, String)>::try_from(row).map(|(key, _)| key)
}
