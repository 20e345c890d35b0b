//! The workers, by their signs of life.

use crate::{params::Heartbeat, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{WorkerId, view::WorkerList};

#[async_trait]
pub trait Workers: Send + Sync + 'static {
    /// Inserts or refreshes.
    async fn heartbeat(&self, beat: Heartbeat) -> StoreResult<()>;
    /// Removes a worker that said good-bye.
    async fn forget_worker(&self, worker: &WorkerId) -> StoreResult<()>;
    /// Those seen within the last hour, the newest sign of life first, at most `limit`; completed by
    /// [`crate::silence::shown`].
    async fn workers(&self, limit: u32) -> StoreResult<WorkerList>;
    /// Which of these running jobs of `worker` were asked to stop.
    async fn cancel_requests(&self, worker: &WorkerId) -> StoreResult<Vec<i64>>;
}
