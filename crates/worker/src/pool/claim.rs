//! The claiming loop: wait for a free slot → claim as many jobs as slots are free → run each → wait for more.

use super::{Shared, attempt, finisher::Done, jittered, running::Running, served::Served};
use leasehold_queue::{
    StoreResult,
    params::{ClaimedJob, Selector, Wake},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, broadcast, mpsc},
    time::timeout,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

/// Little is gained by larger claims, and a crash loses what was claimed and not begun.
const CLAIM_AT_MOST: usize = 100;
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);

/// Claims until `shutdown`; what it claimed runs on.
pub async fn run(shared: &Arc<Shared>, results: &mpsc::Sender<Done>, shutdown: &CancellationToken) {
    // An empty selector means "any": a worker that can run nothing must not ask at all.
    let Some(Served { kinds, queues }) = Served::of(shared.registry.kinds(), &shared.config) else {
        tracing::warn!(
            "nothing this worker can run is in the queues and domains it serves; it claims nothing"
        );
        return shutdown.cancelled().await;
    };
    let selector = Selector { kinds, queues, ..Selector::default() };
    // Subscribe, then query, then wait: the other way round loses what happens in between.
    let mut wakes = shared.engine.wakes();
    let slots = Arc::new(Semaphore::new(shared.config.concurrency));
    let mut backoff = Duration::ZERO;
    while let Some(permits) = free_slots(&slots, shutdown).await {
        let wanted = permits.len();
        let asked = Instant::now();
        // Not cancelled by a shutdown: its answer would be lost and its jobs held by nobody.
        match claim(shared, &selector, wanted).await {
            Ok(jobs) => {
                backoff = Duration::ZERO;
                // Fewer than asked for may still not be all there are: only nothing means nothing.
                let nothing = jobs.is_empty();
                start_all(shared, results, jobs, permits, asked);
                if nothing {
                    wait_for_jobs(shared, &mut wakes, shutdown).await;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "jobs cannot be claimed");
                drop(permits);
                backoff = (backoff * 2).clamp(Duration::from_millis(200), LONGEST_BACKOFF);
                let _ = timeout(jittered(backoff), shutdown.cancelled()).await;
            }
        }
    }
}

/// One claim for all kinds; only while some kinds are reduced, those get a claim of their own each, for as many as
/// they may still run.
async fn claim(shared: &Shared, selector: &Selector, wanted: usize) -> StoreResult<Vec<ClaimedJob>> {
    let (worker, lease) = (&shared.worker_id, shared.config.lease);
    let Some(plan) = shared.brakes.plan(&selector.kinds, &shared.running) else {
        return shared.engine.claim(worker, selector, wanted as u32, lease).await;
    };
    let mut jobs = Vec::new();
    for (kinds, room) in plan {
        let most = room.unwrap_or(usize::MAX).min(wanted - jobs.len());
        if most > 0 {
            let selector = Selector { kinds, ..selector.clone() };
            match shared.engine.claim(worker, &selector, most as u32, lease).await {
                Ok(more) => jobs.extend(more),
                // What was claimed before must run.
                Err(_) if !jobs.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(jobs)
}

/// Waits for a free slot and takes all that are free, up to a batch; none at shutdown.
async fn free_slots(
    slots: &Arc<Semaphore>,
    shutdown: &CancellationToken,
) -> Option<Vec<OwnedSemaphorePermit>> {
    let first = tokio::select! {
        biased;
        () = shutdown.cancelled() => return None,
        slot = slots.clone().acquire_owned() => slot.ok()?,
    };
    let more = std::iter::from_fn(|| slots.clone().try_acquire_owned().ok());
    Some(std::iter::once(first).chain(more).take(CLAIM_AT_MOST).collect())
}

fn start_all(
    shared: &Arc<Shared>,
    results: &mpsc::Sender<Done>,
    jobs: Vec<ClaimedJob>,
    permits: Vec<OwnedSemaphorePermit>,
    asked: Instant,
) {
    for (job, permit) in jobs.into_iter().zip(permits) {
        let running = Arc::new(Running::new(job, asked, shared.renew_in(), shared.config.lease));
        shared.running.insert(running.clone());
        let (shared, results) = (shared.clone(), results.clone());
        tokio::spawn(async move {
            let span = attempt::span(&running.job);
            attempt::run(&shared, running, &results).instrument(span).await;
            // The slot is free as soon as the work is done; its result is on its way.
            drop(permit);
        });
    }
}

async fn wait_for_jobs(shared: &Shared, wakes: &mut broadcast::Receiver<Wake>, shutdown: &CancellationToken) {
    let woken = async {
        loop {
            match wakes.recv().await {
                Ok(Wake::Jobs | Wake::JobsIn(_)) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                Ok(_) => {}
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        _ = timeout(jittered(shared.config.poll), woken) => {}
        () = shared.place_freed.notified() => {}
        () = shutdown.cancelled() => {}
    }
}
