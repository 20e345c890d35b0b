//! The rows of tenants.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::{Error, Outcome, outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult,
    params::TenantChange,
    ports::{
        tenants::{TenantQueries, TenantRows},
        tx::Tx,
    },
};
use leasehold_types::{TenantId, TenantLimits, view::Tenant};

const TENANTS: Table = Table("tenants");

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

#[async_trait]
impl TenantRows for SqliteTx {
    async fn lock_tenant(&mut self, tenant: TenantId) -> Outcome<bool> {
        let id = tenant.to_string();
        let found = sqlx::query_scalar!("SELECT id FROM tenants WHERE id = ?1", id)
            .fetch_optional(&mut *self.tx)
            .await?;
        Ok(found.is_some())
    }

    async fn insert_tenant(&mut self, tenant: &Tenant) -> Outcome<bool> {
        let (id, now) = (tenant.id.to_string(), tenant.created_at.to_string());
        let done = sqlx::query!(
            "INSERT INTO tenants (id, slug, name, timezone, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)
             ON CONFLICT (slug) DO NOTHING",
            id,
            tenant.slug,
            tenant.name,
            tenant.timezone,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn update_tenant(&mut self, tenant: TenantId, change: &TenantChange) -> Outcome<Option<Tenant>> {
        let (id, now) = (tenant.to_string(), self.now().to_string());
        let changed = sqlx::query_as!(
            TenantRecord,
            "UPDATE tenants SET name = COALESCE(?2, name), timezone = COALESCE(?3, timezone), updated_at = ?4
             WHERE id = ?1 RETURNING id, slug, name, timezone, limits, created_at",
            id,
            change.name,
            change.timezone,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        changed.map(TryInto::try_into).transpose()
    }

    async fn set_tenant_limits(
        &mut self,
        tenant: TenantId,
        limits: &TenantLimits,
    ) -> Outcome<Option<Tenant>> {
        let (id, limits, now) = (tenant.to_string(), to_json(limits)?, self.now().to_string());
        let changed = sqlx::query_as!(
            TenantRecord,
            "UPDATE tenants SET limits = ?2, updated_at = ?3 WHERE id = ?1
             RETURNING id, slug, name, timezone, limits, created_at",
            id,
            limits,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        changed.map(TryInto::try_into).transpose()
    }
}

#[async_trait]
impl TenantQueries for SqliteStore {
    async fn tenants(&self, scope: &Scope) -> StoreResult<Vec<Tenant>> {
        outcome(async {
            let only = scope.tenant().map(|id| id.to_string());
            let rows = sqlx::query_as!(
                TenantRecord,
                "SELECT id, slug, name, timezone, limits, created_at FROM tenants
                 WHERE ?1 IS NULL OR id = ?1 ORDER BY name, slug",
                only
            )
            .fetch_all(&self.read)
            .await?;
            rows.into_iter().map(TryInto::try_into).collect()
        })
        .await
    }

    async fn tenant_by_slug(&self, scope: &Scope, slug: &str) -> StoreResult<Option<Tenant>> {
        outcome(async {
            let only = scope.tenant().map(|id| id.to_string());
            let row = sqlx::query_as!(
                TenantRecord,
                "SELECT id, slug, name, timezone, limits, created_at FROM tenants
                 WHERE slug = ?1 AND (?2 IS NULL OR id = ?2)",
                slug,
                only
            )
            .fetch_optional(&self.read)
            .await?;
            row.map(TryInto::try_into).transpose()
        })
        .await
    }

    async fn tenant(&self, scope: &Scope, id: TenantId) -> StoreResult<Option<Tenant>> {
        outcome(async {
            let (id, only) = (id.to_string(), scope.tenant().map(|id| id.to_string()));
            let row = sqlx::query_as!(
                TenantRecord,
                "SELECT id, slug, name, timezone, limits, created_at FROM tenants
                 WHERE id = ?1 AND (?2 IS NULL OR id = ?2)",
                id,
                only
            )
            .fetch_optional(&self.read)
            .await?;
            row.map(TryInto::try_into).transpose()
        })
        .await
    }
}
