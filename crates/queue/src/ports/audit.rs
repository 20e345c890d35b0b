//! The audit log: what was done by whom, and the chain over it.

use crate::{audit::ChainExtent, refusals::Refused, scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{
    Page, PageRequest,
    people::{AuditEntry, AuditFilter},
};

#[async_trait]
pub trait Audit: Send + Sync + 'static {
    /// Chains up to `limit` rows that are not chained yet, in the order of their ids; how many there were.
    async fn chain_audit(&self, limit: u32) -> StoreResult<u64>;
    async fn audit_extent(&self) -> StoreResult<ChainExtent>;
    /// Chained rows above `after`, in the chain's order.
    async fn audit_links(&self, after: i64, limit: u32) -> StoreResult<Vec<AuditEntry>>;
    /// Those who were not let in.
    async fn record_refusals(&self, refused: Vec<Refused>) -> StoreResult<()>;
    /// The acts the scope reaches, newest first. The cursor is an entry's id.
    async fn audit_entries(
        &self,
        scope: &Scope,
        filter: &AuditFilter,
        page: PageRequest,
    ) -> StoreResult<Page<AuditEntry>>;
}
