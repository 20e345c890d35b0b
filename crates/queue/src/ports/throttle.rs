//! The rows of attempts to sign in, counted over all processes.

use super::tx::Statements;
use crate::{
    store::StoreResult,
    throttle::{Counted, Counter, Known},
};
use async_trait::async_trait;

#[async_trait]
pub trait AttemptRows: Statements {
    /// The rows of these counters, also of those that have none yet, are nobody else's until the transaction ends.
    async fn lock_attempts(&mut self, counters: &[Counter]) -> Result<Known, Self::Error>;
    async fn put_attempts(&mut self, counter: &Counter, counted: &Counted) -> Result<(), Self::Error>;
    async fn delete_attempts(&mut self, counter: &Counter) -> Result<(), Self::Error>;
}

#[async_trait]
pub trait AttemptQueries: Send + Sync {
    /// Removes what means nothing any more, and of the rest what is beyond `most`; how many rows went.
    async fn prune_attempts(&self, most: u32) -> StoreResult<u64>;
}
