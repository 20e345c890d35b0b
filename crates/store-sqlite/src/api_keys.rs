//! API keys after they were made: listed, used, revoked.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    error::Outcome,
    people::KeyRecord,
};
use leasehold_queue::{Scope, remote::USE_NOTED_EVERY};
use leasehold_types::{KeyId, Problem, view::ApiKey};

pub(crate) async fn list(store: &SqliteStore, scope: &Scope) -> Outcome<Vec<ApiKey>> {
    let only = scope.tenant().map(|id| id.to_string());
    let rows = sqlx::query_as!(
        KeyRecord,
        "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys WHERE ?1 IS NULL OR tenant_id = ?1 ORDER BY created_at DESC, prefix",
        only
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter().map(without_hash).collect()
}

pub(crate) async fn revoke(store: &SqliteStore, scope: &Scope, prefix: &str) -> Outcome<ApiKey> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (only, now_text) = (scope.tenant().map(|id| id.to_string()), now.to_string());
    sqlx::query!(
        "UPDATE api_keys SET revoked_at = COALESCE(revoked_at, ?3)
         WHERE prefix = ?1 AND (?2 IS NULL OR tenant_id = ?2)",
        prefix,
        only,
        now_text
    )
    .execute(&mut *tx)
    .await?;
    let row = sqlx::query_as!(
        KeyRecord,
        "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys WHERE prefix = ?1 AND (?2 IS NULL OR tenant_id = ?2)",
        prefix,
        only
    )
    .fetch_optional(&mut *tx)
    .await?;
    let key = without_hash(row.ok_or_else(|| Problem::not_found("This key"))?)?;
    audit(&mut tx, scope, &[Deed::new(key.tenant_id, "key.revoke", "key", prefix)], now).await?;
    tx.commit().await?;
    Ok(key)
}

pub(crate) async fn used(store: &SqliteStore, key: KeyId) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (key, noted_before) = (key.to_string(), now.minus(USE_NOTED_EVERY).to_string());
    let now = now.to_string();
    sqlx::query!(
        "UPDATE api_keys SET last_used_at = ?2
         WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at <= ?3)",
        key,
        now,
        noted_before
    )
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

fn without_hash(row: KeyRecord) -> Outcome<ApiKey> {
    <(ApiKey, String)>::try_from(row).map(|(key, _)| key)
}
