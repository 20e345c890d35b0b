//! Hears that running jobs were asked to stop. A wake-up that is lost does no harm: the next renewal says it too.

use super::Shared;
use crate::executor::Stop;
use leasehold_queue::params::Wake;
use std::sync::Arc;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

pub async fn run(shared: Arc<Shared>, over: CancellationToken) {
    let mut wakes = shared.engine.wakes();
    loop {
        let wake = tokio::select! {
            wake = wakes.recv() => wake,
            () = over.cancelled() => return,
        };
        match wake {
            Ok(Wake::Cancel) | Err(RecvError::Lagged(_)) => stop_cancelled(&shared).await,
            Ok(_) => {}
            Err(RecvError::Closed) => return over.cancelled().await,
        }
    }
}

async fn stop_cancelled(shared: &Shared) {
    let running = shared.running.all();
    if running.is_empty() {
        return;
    }
    match shared.engine.cancel_requests(&shared.worker_id).await {
        Ok(numbers) => running
            .iter()
            .filter(|running| numbers.contains(&running.job.lease.number))
            .for_each(|running| running.stop.raise(Stop::Cancelled)),
        Err(error) => tracing::warn!(%error, "cancellations cannot be read; the next renewal will tell"),
    }
}
