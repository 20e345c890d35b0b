//! Jobs on their way to a caller.

use leasehold_queue::{Engine, params::ClaimedJob};
use std::{mem, sync::Arc};

/// Claimed, but not yet answered with. A caller may hang up at any moment: jobs that nobody takes from here are handed
/// back instead of being left to their leases.
pub struct Delivery {
    engine: Arc<Engine>,
    jobs: Vec<ClaimedJob>,
}

impl Delivery {
    pub fn new(engine: &Arc<Engine>, jobs: Vec<ClaimedJob>) -> Self {
        Self { engine: engine.clone(), jobs }
    }

    /// For the answer. Nothing may be waited for after this.
    pub fn take(mut self) -> Vec<ClaimedJob> {
        mem::take(&mut self.jobs)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let jobs = mem::take(&mut self.jobs);
        if jobs.is_empty() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let engine = self.engine.clone();
        runtime.spawn(async move {
            if let Err(error) = engine.release(jobs).await {
                tracing::warn!(%error, "jobs that nobody waited for cannot be handed back; their leases run out");
            }
        });
    }
}
