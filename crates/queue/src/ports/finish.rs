//! Attempts end.

use crate::{
    params::{Finish, FinishAnswer},
    store::StoreResult,
    transition::Rules,
};
use async_trait::async_trait;

#[async_trait]
pub trait FinishAttempts: Send + Sync + 'static {
    /// Ends attempts, one answer per item, all in one transaction. Fenced like [`crate::ports::renew::RenewLeases::renew`]. The decision
    /// is [`crate::transition::judge`]; the row's lease, running pid and cancel request are cleared on every exit,
    /// `completed_at` set when finished, progress 100 on completion, the attempt row written, event and
    /// counters written. `queued_at` is set when it goes back to the queue. Cancelled: `cancelled_at` set.
    async fn finish(&self, rules: &Rules, items: Vec<Finish>) -> StoreResult<Vec<FinishAnswer>>;
}
