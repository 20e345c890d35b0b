//! The rows of tenants.

use super::tx::Statements;
use crate::{params::TenantChange, scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{TenantId, TenantLimits, view::Tenant};

#[async_trait]
pub trait TenantRows: Statements {
    /// False when there is none. Others who lock it wait; jobs can be created meanwhile.
    async fn lock_tenant(&mut self, tenant: TenantId) -> Result<bool, Self::Error>;
    /// False when the slug is taken. Limits are the default ones.
    async fn insert_tenant(&mut self, tenant: &Tenant) -> Result<bool, Self::Error>;
    /// As it is now; none when there is none.
    async fn update_tenant(
        &mut self,
        tenant: TenantId,
        change: &TenantChange,
    ) -> Result<Option<Tenant>, Self::Error>;
    /// As it is now; none when there is none.
    async fn set_tenant_limits(
        &mut self,
        tenant: TenantId,
        limits: &TenantLimits,
    ) -> Result<Option<Tenant>, Self::Error>;
}

#[async_trait]
pub trait TenantQueries: Send + Sync {
    /// The tenants the scope reaches, by name.
    async fn tenants(&self, scope: &Scope) -> StoreResult<Vec<Tenant>>;
    async fn tenant_by_slug(&self, scope: &Scope, slug: &str) -> StoreResult<Option<Tenant>>;
    async fn tenant(&self, scope: &Scope, id: TenantId) -> StoreResult<Option<Tenant>>;
}
