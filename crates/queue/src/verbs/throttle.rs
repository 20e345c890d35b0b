//! Attempts to sign in, counted over all processes.

use super::Failed;
use crate::{
    ports::{
        throttle::AttemptRows,
        tx::{Transactions, Tx},
    },
    store::{StoreError, StoreResult},
    throttle::{self, Counter},
};
use async_trait::async_trait;
use std::time::Duration;

#[async_trait]
pub trait Throttle: Send + Sync {
    /// Counts an attempt towards each of these, or says how long to wait. See [`crate::throttle::begin`].
    async fn begin_attempt(&self, counters: &[Counter]) -> StoreResult<Result<(), Duration>>;
    /// The attempt was a good one, or was not made after all: it does not count. See [`crate::throttle::forgive`].
    async fn forgive_attempt(&self, counters: &[Counter]) -> StoreResult<()>;
    /// Whoever is counted here has proved themselves: earlier attempts are forgotten.
    async fn clear_attempts(&self, counters: &[Counter]) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions> Throttle for S
where
    StoreError: From<Failed<S>>,
{
    async fn begin_attempt(&self, counters: &[Counter]) -> StoreResult<Result<(), Duration>> {
        let mut tx = self.transaction().await?;
        let known = tx.lock_attempts(counters).await?;
        let rows = match throttle::begin(counters, &known, tx.now()) {
            Ok(rows) => rows,
            Err(wait) => return Ok(Err(wait)),
        };
        for (counter, counted) in &rows {
            tx.put_attempts(counter, counted).await?;
        }
        tx.commit().await?;
        Ok(Ok(()))
    }

    async fn forgive_attempt(&self, counters: &[Counter]) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        let known = tx.lock_attempts(counters).await?;
        for (counter, counted) in throttle::forgive(counters, &known, tx.now()) {
            match counted {
                Some(counted) => tx.put_attempts(&counter, &counted).await?,
                None => tx.delete_attempts(&counter).await?,
            }
        }
        tx.commit().await
    }

    async fn clear_attempts(&self, counters: &[Counter]) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        // Locked first, in one order for everybody.
        tx.lock_attempts(counters).await?;
        for counter in counters {
            tx.delete_attempts(counter).await?;
        }
        tx.commit().await
    }
}
