//! What workers do with the jobs they hold. The lease is their right: every verb is fenced by it.

use super::Engine;
use crate::{
    params::{Finish, FinishAnswer, Heartbeat, Lease, NewLogLine, Reclaimed, RenewAnswer, Renewal, Wake},
    store::StoreResult,
};
use leasehold_types::WorkerId;
use tokio::sync::broadcast;

impl Engine {
    /// Keeps leases alive and records progress, one answer per renewal.
    pub async fn renew(&self, renewals: Vec<Renewal>) -> StoreResult<Vec<RenewAnswer>> {
        self.store.renew(renewals).await
    }

    /// Ends attempts by the installation's rules, one answer per item.
    pub async fn finish(&self, items: Vec<Finish>) -> StoreResult<Vec<FinishAnswer>> {
        self.store.finish(&self.config.rules, items).await
    }

    /// False when the lease is lost.
    pub async fn append_logs(
        &self,
        lease: &Lease,
        attempt: i32,
        lines: Vec<NewLogLine>,
    ) -> StoreResult<bool> {
        self.store.append_logs(lease, attempt, lines).await
    }

    /// Takes back up to `limit` jobs whose lease has run out.
    pub async fn reclaim_expired(&self, limit: u32) -> StoreResult<Vec<Reclaimed>> {
        self.store.reclaim_expired(&self.config.rules, limit).await
    }

    /// Which running jobs of this worker were asked to stop.
    pub async fn cancel_requests(&self, worker: &WorkerId) -> StoreResult<Vec<i64>> {
        self.store.cancel_requests(worker).await
    }

    pub async fn heartbeat(&self, beat: Heartbeat) -> StoreResult<()> {
        self.store.heartbeat(beat).await
    }

    /// Removes a worker that said good-bye.
    pub async fn forget_worker(&self, worker: &WorkerId) -> StoreResult<()> {
        self.store.forget_worker(worker).await
    }

    /// Hears of changes; may lag and may be spurious.
    pub fn wakes(&self) -> broadcast::Receiver<Wake> {
        self.store.wakes()
    }
}
