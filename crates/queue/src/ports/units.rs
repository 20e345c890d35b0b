//! Work units of composite jobs.

use crate::{
    params::Lease,
    scope::Scope,
    store::StoreResult,
    units::{ClaimedUnits, UnitAnswer, UnitClaim, UnitError, UnitFinish, WorkUnit},
};
use async_trait::async_trait;
use leasehold_types::{JobRef, Timestamp, unit::UnitsView};
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

#[async_trait]
pub trait Units {
    /// The first units of a job and its first state, in one transaction. A job that has units already keeps them
    /// and its state (`AlreadyDone`): an earlier attempt began it. Fenced by the job's lease.
    async fn add_units(&self, lease: &Lease, units: Vec<WorkUnit>, state: Value) -> StoreResult<UnitAnswer>;

    /// Takes units of the job that may begin: each with a permit and a token of its provider ([`crate::units::assign`]), both
    /// exact over all processes. Units an earlier holder of the job left behind are queued again first, and that
    /// attempt of theirs does not count. None when the lease is lost.
    async fn claim_units(&self, claim: &UnitClaim) -> StoreResult<Option<ClaimedUnits>>;

    /// Another token for a claimed unit that missed its start: when it may begin now. None when it is not running
    /// under this lease.
    async fn delay_unit(&self, lease: &Lease, unit: Uuid, lead: Duration) -> StoreResult<Option<Timestamp>>;

    /// Puts a running unit back for another try after `wait`; its error is kept for people to see. False when it is
    /// not running under this lease.
    async fn retry_unit(
        &self,
        lease: &Lease,
        unit: Uuid,
        error: &UnitError,
        wait: Duration,
    ) -> StoreResult<bool>;

    /// Ends a running unit: its result, the units that follow and the job's state in one transaction, one at a time
    /// per job. Fenced by the job's lease.
    async fn finish_unit(&self, finish: UnitFinish) -> StoreResult<UnitAnswer>;

    /// How many units a job has in each state, and the first of them. Nothing for a job the scope does not reach.
    async fn units(&self, scope: &Scope, job: JobRef, limit: u32) -> StoreResult<UnitsView>;

    /// Tidies up after jobs that stopped: what was left over by one that has ended is dropped, what ran under a
    /// lease that is gone waits again. How many units were moved, at most `limit` of each.
    async fn sweep_units(&self, limit: u32) -> StoreResult<u64>;
}
