//! Work units and providers: for people, and for the holder of the job they belong to.

use super::Engine;
use crate::{
    params::Lease,
    scope::{Permission, Scope},
    store::StoreResult,
    units::{ClaimedUnits, UnitAnswer, UnitClaim, UnitError, UnitFinish, WorkUnit},
};
use leasehold_types::{
    JobRef, Problem, Timestamp,
    unit::{ProviderView, UnitsView},
};
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// Units on a job's page.
const PAGE_UNITS: u32 = 50;

impl Engine {
    pub async fn units(&self, scope: &Scope, job: JobRef) -> Result<UnitsView, Problem> {
        scope.require(Permission::View)?;
        Ok(self.store.units(scope, job, PAGE_UNITS).await?)
    }

    pub async fn providers(&self, scope: &Scope) -> Result<Vec<ProviderView>, Problem> {
        scope.require(Permission::Govern)?;
        Ok(self.store.providers().await?)
    }

    pub async fn set_provider_active(&self, scope: &Scope, name: &str, active: bool) -> Result<(), Problem> {
        scope.require(Permission::Govern)?;
        Ok(self.store.set_provider_active(scope, name, active).await?)
    }

    // ---- for the holder of the job, fenced by its lease

    pub async fn add_units(
        &self,
        lease: &Lease,
        units: Vec<WorkUnit>,
        state: Value,
    ) -> StoreResult<UnitAnswer> {
        self.store.add_units(lease, units, state).await
    }

    pub async fn claim_units(&self, claim: &UnitClaim) -> StoreResult<Option<ClaimedUnits>> {
        self.store.claim_units(claim).await
    }

    pub async fn delay_unit(
        &self,
        lease: &Lease,
        unit: Uuid,
        lead: Duration,
    ) -> StoreResult<Option<Timestamp>> {
        self.store.delay_unit(lease, unit, lead).await
    }

    pub async fn retry_unit(
        &self,
        lease: &Lease,
        unit: Uuid,
        error: &UnitError,
        wait: Duration,
    ) -> StoreResult<bool> {
        self.store.retry_unit(lease, unit, error, wait).await
    }

    pub async fn finish_unit(&self, finish: UnitFinish) -> StoreResult<UnitAnswer> {
        self.store.finish_unit(finish).await
    }
}
