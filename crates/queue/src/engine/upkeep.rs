//! Bulk operations and the answer to "why is it not running?".

use super::{Engine, reason_given};
use crate::{
    diagnosis,
    scope::{Permission, Scope},
    upkeep::{BulkAction, BulkRequest},
};
use leasehold_types::{
    JobFilter, JobRef, Problem,
    view::{BulkOperation, Diagnosis},
};
use uuid::Uuid;

/// Jobs per transaction when a plan is applied: enough to be quick, few enough to hold no lock for long.
const CHUNK: u32 = 500;
const TOP_GROUPS: u32 = 10;

impl Engine {
    /// Counts what would be changed, and changes nothing.
    pub async fn plan_bulk(
        &self,
        scope: &Scope,
        action: BulkAction,
        filter: JobFilter,
        reason: &str,
    ) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        let reason = reason_given(reason)?.to_owned();
        let request = BulkRequest { action, filter, reason, top_groups: TOP_GROUPS };
        Ok(self.store.plan_bulk(scope, request).await?)
    }

    /// Applies the next chunk of a plan; call again until it is done.
    pub async fn apply_bulk(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        Ok(self.store.apply_bulk(scope, plan, CHUNK).await?)
    }

    pub async fn abort_bulk(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        Ok(self.store.abort_bulk(scope, plan).await?)
    }

    pub async fn bulk_operations(&self, scope: &Scope) -> Result<Vec<BulkOperation>, Problem> {
        scope.require(Permission::View)?;
        Ok(self.store.bulk_operations(scope, 100).await?)
    }

    pub async fn diagnosis(&self, scope: &Scope, job: JobRef) -> Result<Diagnosis, Problem> {
        scope.require(Permission::View)?;
        let facts = self.store.diagnosis(scope, job, &self.quotas).await?;
        facts.map(|facts| diagnosis::explain(&facts)).ok_or_else(|| Problem::not_found("This job"))
    }
}
