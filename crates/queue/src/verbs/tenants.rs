//! Tenants, as people make and change them.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    params::{NewTenant, TenantChange, Wake},
    ports::{
        tenants::TenantRows,
        tx::{Transactions, Tx},
    },
    rules::tenants::{no_such_tenant, slug_taken},
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{TenantId, TenantLimits, view::Tenant};
use uuid::Uuid;

#[async_trait]
pub trait Tenants: Send + Sync {
    /// `ALREADY_EXISTS` when the slug is taken. Audited.
    async fn create_tenant(&self, scope: &Scope, new: NewTenant) -> StoreResult<Tenant>;
    /// Its name and time zone. `NOT_FOUND`. Audited.
    async fn update_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        change: TenantChange,
    ) -> StoreResult<Tenant>;
    /// Replaces the limits of a tenant. `NOT_FOUND`. Audited.
    async fn set_tenant_limits(
        &self,
        scope: &Scope,
        tenant: TenantId,
        limits: TenantLimits,
    ) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions> Tenants for S
where
    StoreError: From<Failed<S>>,
{
    async fn create_tenant(&self, scope: &Scope, new: NewTenant) -> StoreResult<Tenant> {
        let mut tx = self.transaction().await?;
        let tenant = insert_tenant(&mut tx, new).await?;
        audit(
            &mut tx,
            scope,
            &[NewAuditEntry::new(Some(tenant.id), "tenant.create", "tenant", &tenant.slug)],
        )
        .await?;
        tx.commit().await?;
        Ok(tenant)
    }

    async fn update_tenant(
        &self,
        scope: &Scope,
        tenant: TenantId,
        change: TenantChange,
    ) -> StoreResult<Tenant> {
        if !scope.reaches(tenant) {
            return Err(no_such_tenant().into());
        }
        let mut tx = self.transaction().await?;
        let changed = tx.update_tenant(tenant, &change).await?.ok_or_else(no_such_tenant)?;
        let entry = NewAuditEntry::new(Some(tenant), "tenant.update", "tenant", &changed.slug);
        audit(&mut tx, scope, &[entry.because(change.in_words())]).await?;
        tx.commit().await?;
        Ok(changed)
    }

    async fn set_tenant_limits(
        &self,
        scope: &Scope,
        tenant: TenantId,
        limits: TenantLimits,
    ) -> StoreResult<()> {
        if !scope.reaches(tenant) {
            return Err(no_such_tenant().into());
        }
        let mut tx = self.transaction().await?;
        let changed = tx.set_tenant_limits(tenant, &limits).await?.ok_or_else(no_such_tenant)?;
        audit(&mut tx, scope, &[NewAuditEntry::new(Some(tenant), "tenant.limit", "tenant", &changed.slug)])
            .await?;
        // Jobs that waited for room may be ready.
        tx.wake(Wake::Jobs);
        tx.commit().await
    }
}

/// For whoever makes a tenant inside a larger verb.
pub(super) async fn insert_tenant<T: Tx>(tx: &mut T, new: NewTenant) -> StoreResult<Tenant>
where
    StoreError: From<T::Error>,
{
    let NewTenant { slug, name, timezone } = new;
    let (id, limits) = (TenantId(Uuid::now_v7()), TenantLimits::default());
    let tenant = Tenant { id, slug, name, timezone, limits, created_at: tx.now() };
    if !tx.insert_tenant(&tenant).await? {
        return Err(slug_taken().into());
    }
    Ok(tenant)
}
