//! Work units and their providers.

mod claim;
mod end;
mod insert;
mod providers;
mod view;

use crate::{SqliteStore, convert::Table, error::Outcome};
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult, Units,
    params::Lease,
    units::{ClaimedUnits, UnitAnswer, UnitClaim, UnitError, UnitFinish, WorkUnit},
};
use leasehold_types::{JobRef, Timestamp, unit::UnitsView};
use serde_json::Value;
use sqlx::SqliteConnection;
use std::time::Duration;
use uuid::Uuid;

const UNITS: Table = Table("work_units");

#[async_trait]
impl Units for SqliteStore {
    async fn add_units(&self, lease: &Lease, units: Vec<WorkUnit>, state: Value) -> StoreResult<UnitAnswer> {
        Ok(insert::add(self, lease, units, state).await?)
    }
    async fn claim_units(&self, claim: &UnitClaim) -> StoreResult<Option<ClaimedUnits>> {
        Ok(claim::claim(self, claim).await?)
    }
    async fn delay_unit(&self, lease: &Lease, unit: Uuid, lead: Duration) -> StoreResult<Option<Timestamp>> {
        Ok(claim::delay(self, lease, unit, lead).await?)
    }
    async fn retry_unit(
        &self,
        lease: &Lease,
        unit: Uuid,
        error: &UnitError,
        wait: Duration,
    ) -> StoreResult<bool> {
        Ok(end::retry(self, lease, unit, error, wait).await?)
    }
    async fn finish_unit(&self, finish: UnitFinish) -> StoreResult<UnitAnswer> {
        Ok(end::finish(self, finish).await?)
    }
    async fn units(&self, scope: &Scope, job: JobRef, limit: u32) -> StoreResult<UnitsView> {
        Ok(view::units(self, scope, job, limit).await?)
    }
    async fn sweep_units(&self, limit: u32) -> StoreResult<u64> {
        Ok(end::sweep(self, limit).await?)
    }
}

/// The job's tenant, while the lease is the job's. The writer's lock keeps it so until the commit.
async fn held(connection: &mut SqliteConnection, lease: &Lease) -> Outcome<Option<String>> {
    let lease_id = lease.lease_id.to_string();
    Ok(sqlx::query_scalar!(
        "SELECT tenant_id FROM jobs
         WHERE number = ?1 AND status = 'processing' AND worker_id = ?2 AND lease_id = ?3",
        lease.number,
        lease.worker_id.0,
        lease_id
    )
    .fetch_optional(connection)
    .await?)
}

/// What the next attempt begins from.
async fn save_state(connection: &mut SqliteConnection, number: i64, state: &Value, now: &str) -> Outcome<()> {
    let state = state.to_string();
    sqlx::query!("UPDATE jobs SET checkpoint = ?2, updated_at = ?3 WHERE number = ?1", number, state, now)
        .execute(connection)
        .await?;
    Ok(())
}
