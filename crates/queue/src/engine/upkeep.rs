//! Bulk operations and the answer to "why is it not running?".

use super::Engine;
use crate::{
    diagnosis,
    scope::{Permission, Scope},
    upkeep::{BulkAction, BulkRequest},
};
use leasehold_types::{
    JobFilter, JobRef, JobStatus, Problem,
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
        self.plan_bulk_in_groups(scope, action, filter, reason, TOP_GROUPS).await
    }

    /// The same, naming so many of the largest groups.
    pub async fn plan_bulk_in_groups(
        &self,
        scope: &Scope,
        action: BulkAction,
        filter: JobFilter,
        reason: &str,
        top_groups: u32,
    ) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        let reason = self.reason_given(reason)?;
        let filter = scope.narrowed(&filter)?.into_owned();
        let request = BulkRequest { action, filter, reason, top_groups };
        Ok(self.store.plan_bulk(scope, request).await?)
    }

    /// Applies the next chunk of a plan; call again until it is done.
    pub async fn apply_bulk(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        self.check_planner(scope, plan).await?;
        Ok(self.store.apply_bulk(scope, plan, CHUNK).await?)
    }

    /// Who is kept to some domains applies only plans of their own: another's may reach further.
    async fn check_planner(&self, scope: &Scope, plan: Uuid) -> Result<(), Problem> {
        if scope.domains.is_none() {
            return Ok(());
        }
        let own = scope.actor.to_string();
        let plans = self.store.bulk_operations(scope, 1_000).await?;
        let is_theirs = plans.iter().any(|known| known.id == plan && known.actor == own);
        if is_theirs { Ok(()) } else { Err(Problem::not_found("This plan")) }
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
        let found = self.store.diagnosis(scope, job, &self.quotas).await?;
        let mut facts = found.ok_or_else(|| Problem::not_found("This job"))?;
        if facts.status == JobStatus::Processing {
            facts.silent = self.silence_of(facts.number).await?;
        }
        let definitions = self.definitions().await?;
        let of = definitions.values().find(|d| d.domain == facts.domain && d.job_type == facts.job_type);
        Ok(diagnosis::explain(&facts, of.map(|definition| definition.executor.as_str())))
    }
}
