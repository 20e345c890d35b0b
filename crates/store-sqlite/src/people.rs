//! Tenants, keys and settings.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::{Table, to_json},
    error::{Error, Outcome, taken},
};
use leasehold_queue::{
    Scope,
    params::{NewKey, NewTenant, TenantChange},
    store::Setting,
};
use leasehold_types::{
    Problem, TenantId, TenantLimits, Timestamp,
    view::{ApiKey, Tenant},
};
use sqlx::SqliteConnection;
use uuid::Uuid;

const TENANTS: Table = Table("tenants");
const KEYS: Table = Table("api_keys");
const SETTINGS: Table = Table("instance_settings");

pub(crate) struct TenantRecord {
    pub id: String,
    pub slug: String,
    pub name: String,
    pub timezone: String,
    pub limits: String,
    pub created_at: String,
}

impl TryFrom<TenantRecord> for Tenant {
    type Error = Error;

    fn try_from(row: TenantRecord) -> Outcome<Self> {
        Ok(Self {
            id: TENANTS.parse("id", &row.id)?,
            created_at: TENANTS.time("created_at", &row.created_at)?,
            limits: TENANTS.json("limits", &row.limits)?,
            slug: row.slug,
            name: row.name,
            timezone: row.timezone,
        })
    }
}

// ---- tenants ------------------------------------------------------------------------------------

pub(crate) async fn create_tenant(store: &SqliteStore, scope: &Scope, new: NewTenant) -> Outcome<Tenant> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let tenant = insert_tenant(&mut tx, new, now).await?;
    audit(&mut tx, scope, &[Deed::new(Some(tenant.id), "tenant.create", "tenant", &tenant.slug)], now)
        .await?;
    tx.commit().await?;
    Ok(tenant)
}

pub(crate) async fn insert_tenant(
    connection: &mut SqliteConnection,
    new: NewTenant,
    now: Timestamp,
) -> Outcome<Tenant> {
    let id = TenantId(Uuid::now_v7());
    let (id_text, now_text) = (id.to_string(), now.to_string());
    sqlx::query!(
        "INSERT INTO tenants (id, slug, name, timezone, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        id_text,
        new.slug,
        new.name,
        new.timezone,
        now_text
    )
    .execute(connection)
    .await
    .map_err(|error| taken(error, "A tenant with this address exists already. Nothing was changed."))?;
    let limits = TenantLimits::default();
    Ok(Tenant { id, slug: new.slug, name: new.name, timezone: new.timezone, limits, created_at: now })
}

pub(crate) async fn update_tenant(
    store: &SqliteStore,
    scope: &Scope,
    tenant: TenantId,
    change: TenantChange,
) -> Outcome<Tenant> {
    if !scope.reaches(tenant) {
        return Err(Problem::not_found("This tenant").into());
    }
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, at) = (tenant.to_string(), now.to_string());
    sqlx::query!(
        "UPDATE tenants SET name = COALESCE(?2, name), timezone = COALESCE(?3, timezone), updated_at = ?4
         WHERE id = ?1",
        id,
        change.name,
        change.timezone,
        at
    )
    .execute(&mut *tx)
    .await?;
    let changed = sqlx::query_as!(
        TenantRecord,
        "SELECT id, slug, name, timezone, limits, created_at FROM tenants WHERE id = ?1",
        id
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| Problem::not_found("This tenant"))?;
    let deed = Deed::new(Some(tenant), "tenant.update", "tenant", &changed.slug);
    audit(&mut tx, scope, &[deed.because(Some(&change.in_words()))], now).await?;
    tx.commit().await?;
    changed.try_into()
}

pub(crate) async fn tenants(store: &SqliteStore, scope: &Scope) -> Outcome<Vec<Tenant>> {
    let only = scope.tenant().map(|id| id.to_string());
    let rows = sqlx::query_as!(
        TenantRecord,
        "SELECT id, slug, name, timezone, limits, created_at FROM tenants WHERE ?1 IS NULL OR id = ?1 ORDER BY name, slug",
        only
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

pub(crate) async fn tenant_by_slug(
    store: &SqliteStore,
    scope: &Scope,
    slug: &str,
) -> Outcome<Option<Tenant>> {
    let only = scope.tenant().map(|id| id.to_string());
    let row = sqlx::query_as!(
        TenantRecord,
        "SELECT id, slug, name, timezone, limits, created_at FROM tenants WHERE slug = ?1 AND (?2 IS NULL OR id = ?2)",
        slug,
        only
    )
    .fetch_optional(&store.read)
    .await?;
    row.map(TryInto::try_into).transpose()
}

pub(crate) async fn tenant(store: &SqliteStore, scope: &Scope, id: TenantId) -> Outcome<Option<Tenant>> {
    if !scope.reaches(id) {
        return Ok(None);
    }
    let id = id.to_string();
    let row = sqlx::query_as!(
        TenantRecord,
        "SELECT id, slug, name, timezone, limits, created_at FROM tenants WHERE id = ?1",
        id
    )
    .fetch_optional(&store.read)
    .await?;
    row.map(TryInto::try_into).transpose()
}

// ---- keys and settings --------------------------------------------------------------------------

pub(crate) struct KeyRecord {
    pub id: String,
    pub tenant_id: Option<String>,
    pub name: String,
    pub prefix: String,
    pub secret_hash: String,
    pub scopes: String,
    pub created_at: String,
    pub expires_at: Option<String>,
    pub revoked_at: Option<String>,
    pub last_used_at: Option<String>,
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

pub(crate) async fn create_key(store: &SqliteStore, scope: &Scope, new: NewKey) -> Outcome<ApiKey> {
    if !new.is_within(scope) {
        return Err(Problem::not_found("This tenant").into());
    }
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, tenant, scopes) =
        (new.id.to_string(), new.tenant_id.map(|id| id.to_string()), to_json(&new.scopes)?);
    let (created_by, created_at) = (scope.actor.to_string(), now.to_string());
    let expires_at = new.expires_at.map(|at| at.to_string());
    sqlx::query!(
        "INSERT INTO api_keys (id, tenant_id, name, prefix, secret_hash, scopes, created_by, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        id,
        tenant,
        new.name,
        new.prefix,
        new.secret_hash,
        scopes,
        created_by,
        created_at,
        expires_at
    )
    .execute(&mut *tx)
    .await
    .map_err(no_such_tenant)?;
    audit(&mut tx, scope, &[Deed::new(new.tenant_id, "key.create", "key", &new.prefix)], now).await?;
    tx.commit().await?;
    Ok(ApiKey {
        id: new.id,
        tenant_id: new.tenant_id,
        name: new.name,
        prefix: new.prefix,
        scopes: new.scopes,
        created_at: now,
        expires_at: new.expires_at,
        revoked_at: None,
        last_used_at: None,
    })
}

/// The only other table these rows refer to is the tenant's.
pub(crate) fn no_such_tenant(error: sqlx::Error) -> Error {
    match error.as_database_error() {
        Some(failed) if failed.is_foreign_key_violation() => Problem::not_found("This tenant").into(),
        _ => taken(error, "It exists already. Nothing was changed."),
    }
}

pub(crate) async fn key_by_prefix(store: &SqliteStore, prefix: &str) -> Outcome<Option<(ApiKey, String)>> {
    let found = sqlx::query_as!(
        KeyRecord,
        "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at, last_used_at
         FROM api_keys WHERE prefix = ?1",
        prefix
    )
    .fetch_optional(&store.read)
    .await?;
    found.map(TryInto::try_into).transpose()
}

pub(crate) async fn put_setting(
    store: &SqliteStore,
    key: &str,
    value: &str,
    expires_at: Option<Timestamp>,
) -> Outcome<()> {
    let expires_at = expires_at.map(|at| at.to_string());
    let mut tx = store.begin().await?;
    sqlx::query!(
        "INSERT INTO instance_settings (key, value, expires_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
        key,
        value,
        expires_at
    )
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

/// The update changes nothing; it makes the row that was there first come back.
pub(crate) async fn ensure_setting(store: &SqliteStore, key: &str, value: &str) -> Outcome<String> {
    let mut tx = store.begin().await?;
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
}

pub(crate) async fn setting(store: &SqliteStore, key: &str) -> Outcome<Option<Setting>> {
    let found = sqlx::query!("SELECT value, expires_at FROM instance_settings WHERE key = ?1", key)
        .fetch_optional(&store.read)
        .await?;
    let Some(row) = found else { return Ok(None) };
    Ok(Some((row.value, SETTINGS.time_opt("expires_at", row.expires_at.as_deref())?)))
}
