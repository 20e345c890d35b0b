//! Leases are kept alive.

use crate::{
    params::{RenewAnswer, Renewal},
    store::StoreResult,
};
use async_trait::async_trait;

#[async_trait]
pub trait RenewLeases: Send + Sync + 'static {
    /// Keeps leases alive and records progress (never lowering it), one answer per renewal. Fenced by
    /// `status = processing`, worker and lease; an expired lease nobody reclaimed is still the holder's.
    /// Writes `job.progress` for each accepted renewal that carries progress which changes something, at the moment the
    /// report names but never later than now; a stage that is entered is kept with the attempt, up to
    /// [`crate::progress::STAGES_KEPT`] of a job. Renewals of one job are taken in their order.
    async fn renew(&self, renewals: Vec<Renewal>) -> StoreResult<Vec<RenewAnswer>>;
}
