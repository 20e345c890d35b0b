//! Jobs are handed to workers.

use crate::{
    params::{ClaimedJob, Selector},
    store::StoreResult,
};
use async_trait::async_trait;
use leasehold_types::WorkerId;
use std::time::Duration;

#[async_trait]
pub trait ClaimJobs: Send + Sync + 'static {
    /// Takes up to `n` ready jobs: processing, a fresh lease each, `acquired_at` now, `started_at` if first,
    /// `attempt_count` + 1, completion token, running pid, error and stage cleared (progress stays), event `job.started`.
    /// Fair between tenants (see [`crate::fairness`]); within a tenant by priority, then
    /// `coalesce(available_at, created_at)`, then number. Skips paused and draining queues and inactive
    /// definitions, and jobs for which a limit leaves no room ([`crate::admission`]): of the tenant, the kind, the
    /// kind in the tenant, the concurrency key, and the selector's quotas. Gives nothing once the selector's gate
    /// is shut. It may give fewer than there are: only an empty answer says that nothing is ready.
    async fn claim(
        &self,
        worker: &WorkerId,
        selector: &Selector,
        n: u32,
        lease: Duration,
    ) -> StoreResult<Vec<ClaimedJob>>;
}
