//! What keeps an installation in order, called again and again by every process: each is bounded, and harmless when
//! two processes do it at once.

use super::Engine;
use crate::{store::StoreResult, throttle, triggers::DAYS_KEPT};

const CHAIN_BATCH: u32 = 1_000;
const EVENT_BATCH: u32 = 5_000;
/// Batches of one call: the rest waits for the next one, or another process.
const EVENT_ROUNDS: usize = 400;
const UNITS_BATCH: u32 = 5_000;

impl Engine {
    /// Who was refused, and the chain over the audit log.
    pub async fn chain_audit(&self) -> StoreResult<()> {
        self.write_refusals(false).await?;
        while self.store.chain_audit(CHAIN_BATCH).await? >= u64::from(CHAIN_BATCH) {}
        Ok(())
    }

    /// Removes events that have been kept long enough.
    pub async fn prune_events(&self) -> StoreResult<()> {
        let kept = self.config.events_kept;
        if kept.is_zero() {
            return Ok(());
        }
        for _ in 0..EVENT_ROUNDS {
            if self.store.prune_events(kept, EVENT_BATCH).await? < u64::from(EVENT_BATCH) {
                break;
            }
        }
        Ok(())
    }

    pub async fn prune_firings(&self) -> StoreResult<()> {
        let before = self.now().plus_secs(-DAYS_KEPT * 86_400);
        while self.store.prune_firings(before).await? > 0 {}
        Ok(())
    }

    pub async fn prune_sessions(&self) -> StoreResult<()> {
        self.store.prune_sessions().await.map(drop)
    }

    pub async fn prune_workers(&self) -> StoreResult<()> {
        self.store.prune_workers().await.map(drop)
    }

    /// Forgets attempts to sign in that mean nothing any more.
    pub async fn prune_attempts(&self) -> StoreResult<()> {
        self.store.prune_attempts(throttle::MOST_KEPT).await.map(drop)
    }

    pub async fn sweep_units(&self) -> StoreResult<()> {
        self.store.sweep_units(UNITS_BATCH).await.map(drop)
    }

    pub async fn fold_counters(&self) -> StoreResult<()> {
        self.store.fold_counters().await
    }

    /// Gives back what was needed under load, once little is left to do.
    pub async fn trim_memory(&self) -> StoreResult<()> {
        self.store.trim_memory().await
    }

    /// Also measures how far the database's clock is ahead.
    pub async fn ping(&self) -> StoreResult<()> {
        self.store.ping().await
    }
}
