//! Work units and their providers.
//!
//! Locks are taken in one order: the job's row, then providers by name. A claim looks at the job's lease without
//! holding its row, so that it never keeps a renewal waiting while it waits for a provider; should the job change
//! hands in between, its units stand under a lease that is nobody's, and the next holder takes them back.

mod claim;
mod end;
mod insert;
mod providers;
mod view;

use crate::{PostgresStore, convert::json, error::database};
use async_trait::async_trait;
use leasehold_queue::{
    Scope, StoreResult, Units,
    params::Lease,
    units::{ClaimedUnits, UnitAnswer, UnitClaim, UnitError, UnitFinish, WorkUnit},
};
use leasehold_types::{JobRef, Timestamp, unit::UnitsView};
use serde_json::Value;
use sqlx::PgConnection;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

const TABLE: &str = "work_units";

#[async_trait]
impl Units for PostgresStore {
    async fn add_units(&self, lease: &Lease, units: Vec<WorkUnit>, state: Value) -> StoreResult<UnitAnswer> {
        insert::add(self, lease, units, state).await
    }
    async fn claim_units(&self, claim: &UnitClaim) -> StoreResult<Option<ClaimedUnits>> {
        claim::claim(self, claim).await
    }
    async fn delay_unit(&self, lease: &Lease, unit: Uuid, lead: Duration) -> StoreResult<Option<Timestamp>> {
        claim::delay(self, lease, unit, lead).await
    }
    async fn retry_unit(
        &self,
        lease: &Lease,
        unit: Uuid,
        error: &UnitError,
        wait: Duration,
    ) -> StoreResult<bool> {
        end::retry(self, lease, unit, error, wait).await
    }
    async fn finish_unit(&self, finish: UnitFinish) -> StoreResult<UnitAnswer> {
        end::finish(self, finish).await
    }
    async fn units(&self, scope: &Scope, job: JobRef, limit: u32) -> StoreResult<UnitsView> {
        view::units(self, scope, job, limit).await
    }
    async fn sweep_units(&self, limit: u32) -> StoreResult<u64> {
        end::sweep(self, limit).await
    }
}

/// The job's tenant, while the lease is the job's; the row is ours until the transaction ends.
async fn hold(connection: &mut PgConnection, lease: &Lease) -> StoreResult<Option<Uuid>> {
    sqlx::query_scalar!(
        "SELECT tenant_id FROM jobs
         WHERE number = $1 AND status = 'processing' AND worker_id = $2 AND lease_id = $3
         FOR NO KEY UPDATE",
        lease.number,
        lease.worker_id.0,
        lease.lease_id.0
    )
    .fetch_optional(connection)
    .await
    .map_err(database)
}

/// What the next attempt begins from.
async fn save_state(
    connection: &mut PgConnection,
    number: i64,
    state: &Value,
    now: OffsetDateTime,
) -> StoreResult<()> {
    sqlx::query!(
        "UPDATE jobs SET checkpoint = $2, updated_at = $3 WHERE number = $1",
        number,
        json(state),
        now
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}
