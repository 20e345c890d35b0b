//! The rows of tenants.

use crate::{
    PostgresStore,
    convert::{as_json, moment, parsed, stamp},
    error::{Error, Outcome, outcome},
    tx::PostgresTx,
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
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

pub(crate) struct TenantRecord {
    pub id: Uuid,
    pub slug: String,
    pub name: String,
    pub timezone: String,
    pub limits: Value,
    pub created_at: OffsetDateTime,
}

impl TryFrom<TenantRecord> for Tenant {
    type Error = Error;

    fn try_from(r: TenantRecord) -> Outcome<Self> {
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

#[async_trait]
impl TenantRows for PostgresTx {
    async fn lock_tenant(&mut self, tenant: TenantId) -> Outcome<bool> {
        let found = sqlx::query_scalar!("SELECT id FROM tenants WHERE id = $1 FOR NO KEY UPDATE", tenant.0)
            .fetch_optional(&mut *self.tx)
            .await?;
        Ok(found.is_some())
    }

    async fn insert_tenant(&mut self, tenant: &Tenant) -> Outcome<bool> {
        let done = sqlx::query!(
            "INSERT INTO tenants (id, slug, name, timezone, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $5)
             ON CONFLICT (slug) DO NOTHING",
            tenant.id.0,
            tenant.slug,
            tenant.name,
            tenant.timezone,
            moment(tenant.created_at)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn update_tenant(&mut self, tenant: TenantId, change: &TenantChange) -> Outcome<Option<Tenant>> {
        let now = moment(self.now());
        let changed = sqlx::query_as!(
            TenantRecord,
            "UPDATE tenants SET name = COALESCE($2, name), timezone = COALESCE($3, timezone), updated_at = $4
             WHERE id = $1 RETURNING id, slug, name, timezone, limits, created_at",
            tenant.0,
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
        let now = moment(self.now());
        let changed = sqlx::query_as!(
            TenantRecord,
            "UPDATE tenants SET limits = $2, updated_at = $3 WHERE id = $1
             RETURNING id, slug, name, timezone, limits, created_at",
            tenant.0,
            as_json(limits)?,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        changed.map(TryInto::try_into).transpose()
    }
}

#[async_trait]
impl TenantQueries for PostgresStore {
    async fn tenants(&self, scope: &Scope) -> StoreResult<Vec<Tenant>> {
        outcome(async {
            let rows = sqlx::query_as!(
                TenantRecord,
                "SELECT id, slug, name, timezone, limits, created_at FROM tenants
                 WHERE $1::uuid IS NULL OR id = $1 ORDER BY name, slug",
                scope.tenant().map(|t| t.0)
            )
            .fetch_all(&self.work)
            .await?;
            rows.into_iter().map(TryInto::try_into).collect()
        })
        .await
    }

    async fn tenant_by_slug(&self, scope: &Scope, slug: &str) -> StoreResult<Option<Tenant>> {
        outcome(async {
            let row = sqlx::query_as!(
                TenantRecord,
                "SELECT id, slug, name, timezone, limits, created_at FROM tenants
                 WHERE slug = $1 AND ($2::uuid IS NULL OR id = $2)",
                slug,
                scope.tenant().map(|t| t.0)
            )
            .fetch_optional(&self.work)
            .await?;
            row.map(TryInto::try_into).transpose()
        })
        .await
    }

    async fn tenant(&self, scope: &Scope, id: TenantId) -> StoreResult<Option<Tenant>> {
        outcome(async {
            let row = sqlx::query_as!(
                TenantRecord,
                "SELECT id, slug, name, timezone, limits, created_at FROM tenants
                 WHERE id = $1 AND ($2::uuid IS NULL OR id = $2)",
                id.0,
                scope.tenant().map(|t| t.0)
            )
            .fetch_optional(&self.work)
            .await?;
            row.map(TryInto::try_into).transpose()
        })
        .await
    }
}
