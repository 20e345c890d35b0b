//! The jobs this pool holds right now, from the claim until the store has heard how they ended.

use crate::executor::{Ctx, StopSignal};
use leasehold_queue::params::ClaimedJob;
use leasehold_types::LeaseId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::watch;

pub struct Running {
    pub job: ClaimedJob,
    pub stop: StopSignal,
    /// Set once the job's rules are known and work begins.
    pub ctx: OnceLock<Arc<Ctx>>,
    lease: Mutex<LeaseTimes>,
}

/// By this process's own monotonic clock: it cannot jump, and needs no database.
#[derive(Clone, Copy)]
struct LeaseTimes {
    renew_at: Instant,
    /// After this somebody else may hold the job.
    ends_at: Instant,
}

impl Running {
    /// `asked` is when the claim was sent: the lease began no earlier.
    pub fn new(job: ClaimedJob, asked: Instant, renew_in: Duration, lease: Duration) -> Self {
        let lease = LeaseTimes { renew_at: asked + renew_in, ends_at: asked + lease };
        Self { job, stop: StopSignal::default(), ctx: OnceLock::new(), lease: Mutex::new(lease) }
    }

    pub fn renewed(&self, asked: Instant, renew_in: Duration, lease: Duration) {
        let mut times = self.times();
        times.renew_at = asked + renew_in;
        times.ends_at = times.ends_at.max(asked + lease);
    }

    pub fn renewal_due(&self, now: Instant) -> bool {
        self.times().renew_at <= now
    }

    pub fn lease_ends(&self) -> Instant {
        self.times().ends_at
    }

    fn times(&self) -> MutexGuard<'_, LeaseTimes> {
        self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct RunningJobs {
    jobs: Mutex<HashMap<LeaseId, Arc<Running>>>,
    count: watch::Sender<usize>,
}

impl Default for RunningJobs {
    fn default() -> Self {
        Self { jobs: Mutex::default(), count: watch::channel(0).0 }
    }
}

impl RunningJobs {
    pub fn insert(&self, running: Arc<Running>) {
        let mut jobs = self.jobs();
        jobs.insert(running.job.lease.lease_id, running);
        self.count.send_replace(jobs.len());
    }

    pub fn remove(&self, running: &Running) {
        let mut jobs = self.jobs();
        jobs.remove(&running.job.lease.lease_id);
        self.count.send_replace(jobs.len());
    }

    pub fn all(&self) -> Vec<Arc<Running>> {
        self.jobs().values().cloned().collect()
    }

    pub fn count(&self) -> usize {
        *self.count.borrow()
    }

    pub async fn none_left(&self) {
        let mut count = self.count.subscribe();
        // `self` holds the sender, so waiting cannot fail.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    fn jobs(&self) -> MutexGuard<'_, HashMap<LeaseId, Arc<Running>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
