//! The events, in the order in which readers may see them.

use crate::{
    params::{OutboxCursor, OutboxEvent},
    scope::Scope,
    store::StoreResult,
};
use async_trait::async_trait;

#[async_trait]
pub trait Outbox: Send + Sync + 'static {
    /// The newest event id that is surely followed by no smaller one: where a new reader begins.
    async fn outbox_tail(&self) -> StoreResult<i64>;
    /// The events after the cursor in id order, up to the safe horizon, and the cursor moved past them.
    async fn read_outbox(&self, cursor: &mut OutboxCursor, limit: u32) -> StoreResult<Vec<OutboxEvent>>;
    /// Events the scope may see with `after < id <= up_to`, oldest first. `up_to` must not lie beyond a
    /// reader's horizon: this verb does not look for gaps itself.
    async fn events(
        &self,
        scope: &Scope,
        after: i64,
        up_to: i64,
        limit: u32,
    ) -> StoreResult<Vec<OutboxEvent>>;
    /// The oldest event id still kept, 0 when there is none: a reader from before it has missed some.
    async fn oldest_event(&self) -> StoreResult<i64>;
}
