//! Putting a queue in order: sweeps, and why a job is not running.

mod diagnosis;
mod events;
mod integrity;
mod ttl;

use crate::PostgresStore;
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult, Upkeep,
    quota::Quotas,
    transition::Rules,
    upkeep::{IntegrityCount, Place, TtlCount, TtlRule},
};
use leasehold_types::{JobRef, view::DiagnosisFacts};
use std::{sync::Arc, time::Duration};

#[async_trait]
impl Upkeep for PostgresStore {
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
