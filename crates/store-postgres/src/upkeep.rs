//! Putting a queue in order: bulk operations, sweeps, and why a job is not running.

mod apply;
mod archive;
mod diagnosis;
mod events;
mod integrity;
mod operation;
mod parameters;
mod plan;
mod retry;
mod ttl;

use crate::PostgresStore;
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult, Upkeep,
    quota::Quotas,
    transition::Rules,
    upkeep::{BulkRequest, IntegrityCount, Place, TtlCount, TtlRule},
};
use leasehold_types::{
    JobRef,
    view::{BulkOperation, DiagnosisFacts},
};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

#[async_trait]
impl Upkeep for PostgresStore {
    async fn plan_bulk(&self, scope: &Scope, request: BulkRequest) -> StoreResult<BulkOperation> {
        plan::plan(self, scope, request).await
    }
    async fn apply_bulk(&self, scope: &Scope, id: Uuid, chunk: u32) -> StoreResult<BulkOperation> {
        apply::apply(self, scope, id, chunk).await
    }
    async fn abort_bulk(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation> {
        operation::abort(self, scope, id).await
    }
    async fn bulk_operations(&self, scope: &Scope, limit: u32) -> StoreResult<Vec<BulkOperation>> {
        operation::newest(self, scope, limit).await
    }

    async fn sweep_ttl(&self, scope: &Scope, rule: &TtlRule, limit: u32) -> StoreResult<TtlCount> {
        ttl::sweep(self, scope, rule, limit).await
    }
    async fn sweep_integrity(
        &self,
        scope: &Scope,
        place: &Place,
        rules: &Rules,
        fix: bool,
    ) -> StoreResult<IntegrityCount> {
        integrity::sweep(self, scope, place, rules, fix).await
    }
    async fn prune_events(&self, older_than: Duration, limit: u32) -> StoreResult<u64> {
        events::prune(self, older_than, limit).await
    }
    async fn diagnosis(
        &self,
        scope: &Scope,
        job: JobRef,
        quotas: &Arc<Quotas>,
    ) -> StoreResult<Option<DiagnosisFacts>> {
        diagnosis::facts(self, scope, job, quotas).await
    }
}
