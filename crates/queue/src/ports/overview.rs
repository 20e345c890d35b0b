//! How a tenant stands.

use crate::{scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{TenantId, view::Overview};

#[async_trait]
pub trait OverviewQueries: Send + Sync + 'static {
    /// From counters, never by counting the jobs table.
    async fn overview(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Overview>;
}
