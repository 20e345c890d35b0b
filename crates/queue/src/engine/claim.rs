//! Claims as this installation allows them: its quotas, its longest lease, and the gate that is shut when the
//! process ends.

use super::Engine;
use crate::{
    params::{AttemptFacts, ClaimedJob, Finish, Selector},
    store::StoreResult,
    transition::Ending,
};
use leasehold_types::WorkerId;
use std::{sync::atomic::Ordering, time::Duration};

impl Engine {
    /// Takes up to `n` jobs for a worker; nothing once claims are frozen, also when that happened while this
    /// claim was under way.
    pub async fn claim(
        &self,
        worker: &WorkerId,
        selector: &Selector,
        n: u32,
        lease: Duration,
    ) -> StoreResult<Vec<ClaimedJob>> {
        if self.claims_frozen() {
            return Ok(Vec::new());
        }
        let (quotas, gate) = (self.quotas.clone(), self.gate.clone());
        let selector = Selector { quotas, gate, ..selector.clone() };
        let jobs = self.store.claim(worker, &selector, n, lease.min(self.config.longest_lease)).await?;
        if !self.claims_frozen() {
            self.claimed.fetch_add(jobs.len() as u64, Ordering::Relaxed);
            return Ok(jobs);
        }
        self.release(jobs).await?;
        Ok(Vec::new())
    }

    /// How many jobs were claimed through this process.
    pub fn jobs_claimed(&self) -> u64 {
        self.claimed.load(Ordering::Relaxed)
    }

    /// From now on no claim of this process gives anything. There is no way back.
    pub fn freeze_claims(&self) {
        self.gate.shut();
    }

    pub fn claims_frozen(&self) -> bool {
        self.gate.is_shut()
    }

    /// Jobs that were taken and will not be run: the gate was shut, or nobody was there any more to hear of them.
    /// It costs them no attempt.
    pub async fn release(&self, jobs: Vec<ClaimedJob>) -> StoreResult<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        let back = |job: ClaimedJob| Finish {
            lease: job.lease,
            ending: Ending::Released,
            result: None,
            facts: AttemptFacts::default(),
            token: None,
            policy: None,
        };
        self.store.finish(&self.config.rules, jobs.into_iter().map(back).collect()).await?;
        Ok(())
    }
}
