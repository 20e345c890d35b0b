//! Tenants, keys and settings. Users live in `users`.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{moment, parsed, stamp, stamp_if},
    error::database,
};
use leasehold_queue::{
    Scope, StoreError, StoreResult,
    params::{NewKey, NewTenant, TenantChange},
    store::Setting,
};
use leasehold_types::{
    KeyId, Problem, TenantId, Timestamp,
    view::{ApiKey, Tenant},
};
use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

pub struct TenantRecord {
    pub id: Uuid,
    pub slug: String,
    pub name: String,
    pub timezone: String,
    pub limits: Value,
    pub created_at: OffsetDateTime,
}

impl TryFrom<TenantRecord> for Tenant {
    type Error = StoreError;
    fn try_from(r: TenantRecord) -> StoreResult<Self> {
        Ok(Self {
            id: TenantId(r.id),
            slug: r.slug,
            name: r.name,
            timezone: r.timezone,
            limits: parsed("tenants", "limits", r.limits)?,
            created_at: stamp(r.created_at),
        })
    }
}

pub struct KeyRecord {
    pub id: Uuid,
    pub tenant_id: Option<Uuid>,
    pub name: String,
    pub prefix: String,
    pub secret_hash: String,
    pub scopes: Value,
    pub created_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    pub revoked_at: Option<OffsetDateTime>,
    pub last_used_at: Option<OffsetDateTime>,
}

impl TryFrom<KeyRecord> for (ApiKey, String) {
    type Error = StoreError;
    fn try_from(r: KeyRecord) -> StoreResult<Self> {
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

/// Inserts a tenant inside the caller's transaction.
pub async fn insert_tenant(
    connection: &mut PgConnection,
    tenant: NewTenant,
    now: OffsetDateTime,
) -> StoreResult<Tenant> {
    sqlx::query_as!(
        TenantRecord,
        "INSERT INTO tenants (id, slug, name, timezone, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
         RETURNING id, slug, name, timezone, limits, created_at",
        Uuid::now_v7(),
        tenant.slug,
        tenant.name,
        tenant.timezone,
        now
    )
    .fetch_one(connection)
    .await
    .map_err(database)?
    .try_into()
}

impl PostgresStore {
    pub(crate) async fn add_tenant(&self, scope: &Scope, tenant: NewTenant) -> StoreResult<Tenant> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let tenant = insert_tenant(&mut tx, tenant, now).await?;
        let act = Act {
            tenant: Some(tenant.id.0),
            action: "tenant.create",
            object_type: "tenant",
            object_id: &tenant.slug,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        Ok(tenant)
    }

    pub(crate) async fn change_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        change: TenantChange,
    ) -> StoreResult<Tenant> {
        if !scope.reaches(tenant) {
            return Err(Problem::not_found("This tenant").into());
        }
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let changed = sqlx::query_as!(
            TenantRecord,
            "UPDATE tenants SET name = COALESCE($2, name), timezone = COALESCE($3, timezone), updated_at = $4
             WHERE id = $1 RETURNING id, slug, name, timezone, limits, created_at",
            tenant.0,
            change.name,
            change.timezone,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This tenant"))?;
        let act = Act {
            tenant: Some(tenant.0),
            action: "tenant.update",
            object_type: "tenant",
            object_id: &changed.slug,
            reason: Some(&change.in_words()),
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        changed.try_into()
    }

    pub(crate) async fn reached_tenants(&self, scope: &Scope) -> StoreResult<Vec<Tenant>> {
        sqlx::query_as!(
            TenantRecord,
            "SELECT id, slug, name, timezone, limits, created_at FROM tenants
             WHERE $1::uuid IS NULL OR id = $1 ORDER BY name, slug",
            scope.tenant().map(|t| t.0)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }

    pub(crate) async fn find_tenant(&self, scope: &Scope, slug: &str) -> StoreResult<Option<Tenant>> {
        sqlx::query_as!(
            TenantRecord,
            "SELECT id, slug, name, timezone, limits, created_at FROM tenants
             WHERE slug = $1 AND ($2::uuid IS NULL OR id = $2)",
            slug,
            scope.tenant().map(|t| t.0)
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?
        .map(TryInto::try_into)
        .transpose()
    }

    pub(crate) async fn tenant_by_id(&self, scope: &Scope, id: TenantId) -> StoreResult<Option<Tenant>> {
        if !scope.reaches(id) {
            return Ok(None);
        }
        sqlx::query_as!(
            TenantRecord,
            "SELECT id, slug, name, timezone, limits, created_at FROM tenants WHERE id = $1",
            id.0
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?
        .map(TryInto::try_into)
        .transpose()
    }

    pub(crate) async fn add_key(&self, scope: &Scope, key: NewKey) -> StoreResult<ApiKey> {
        if !key.is_within(scope) {
            return Err(Problem::not_found("This tenant").into());
        }
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let row = sqlx::query_as!(
            KeyRecord,
            "INSERT INTO api_keys (id, tenant_id, name, prefix, secret_hash, scopes, created_by, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             RETURNING id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at,
                       last_used_at",
            key.id.0,
            key.tenant_id.map(|t| t.0),
            key.name,
            key.prefix,
            key.secret_hash,
            Value::from(key.scopes),
            scope.actor.to_string(),
            now,
            key.expires_at.map(moment)
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(database)?;
        let act = Act {
            tenant: key.tenant_id.map(|t| t.0),
            action: "key.create",
            object_type: "key",
            object_id: &row.prefix,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        <(ApiKey, String)>::try_from(row).map(|(key, _)| key)
    }

    pub(crate) async fn find_key(&self, prefix: &str) -> StoreResult<Option<(ApiKey, String)>> {
        sqlx::query_as!(
            KeyRecord,
            "SELECT id, tenant_id, name, prefix, secret_hash, scopes, created_at, expires_at, revoked_at, last_used_at
             FROM api_keys WHERE prefix = $1",
            prefix
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?
        .map(TryInto::try_into)
        .transpose()
    }

    pub(crate) async fn replace_setting(
        &self,
        key: &str,
        value: &str,
        expires_at: Option<Timestamp>,
    ) -> StoreResult<()> {
        sqlx::query!(
            "INSERT INTO instance_settings (key, value, expires_at) VALUES ($1, $2, $3)
             ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, expires_at = EXCLUDED.expires_at",
            key,
            value,
            expires_at.map(moment)
        )
        .execute(&self.work)
        .await
        .map(drop)
        .map_err(database)
    }

    /// The update changes nothing; it makes the row that was there first come back.
    pub(crate) async fn keep_setting(&self, key: &str, value: &str) -> StoreResult<String> {
        sqlx::query_scalar!(
            "INSERT INTO instance_settings (key, value) VALUES ($1, $2)
             ON CONFLICT (key) DO UPDATE SET value = instance_settings.value
             RETURNING value",
            key,
            value
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)
    }

    pub(crate) async fn find_setting(&self, key: &str) -> StoreResult<Option<Setting>> {
        sqlx::query!("SELECT value, expires_at FROM instance_settings WHERE key = $1", key)
            .fetch_optional(&self.work)
            .await
            .map(|row| row.map(|r| (r.value, stamp_if(r.expires_at))))
            .map_err(database)
    }
}
