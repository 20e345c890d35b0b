//! How many jobs stand where.

use crate::store::StoreResult;
use async_trait::async_trait;

#[async_trait]
pub trait Counters: Send + Sync + 'static {
    /// Folds appended counter deltas; a store without deltas has nothing to do.
    async fn fold_counters(&self) -> StoreResult<()>;
    /// Compares the counters with a recount and mends them; how many groups were wrong.
    async fn recount(&self) -> StoreResult<u64>;
}
