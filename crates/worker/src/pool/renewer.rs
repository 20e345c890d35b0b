//! Keeps the leases of all running jobs alive, many at a time, and carries progress along.
//!
//! A lease that could not be renewed in time is treated as lost, even when the database is merely away: another
//! worker may hold the job by then, and two must not run it at once.

use super::{Shared, jittered, running::Running};
use crate::executor::{Reports, Stop};
use leasehold_queue::params::{RenewAnswer, Renewal};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::Mutex,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

/// The most often that one job's progress is written.
const TICK: Duration = Duration::from_millis(250);
const BATCH: usize = 500;

pub async fn run(shared: Arc<Shared>, over: CancellationToken) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failures: u32 = 0;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = over.cancelled() => return,
        }
        let delivered = round(&shared).await;
        failures = if delivered { 0 } else { (failures + 1).min(8) };
        if failures > 0 {
            // A database that is away is not asked four times a second; short leases are not let slip for it.
            let pause = (TICK * failures).min(shared.renew_in());
            let _ = timeout(jittered(pause), over.cancelled()).await;
        }
    }
}

/// Renews what is due and delivers what was reported; false when the store did not answer.
async fn round(shared: &Shared) -> bool {
    let now = Instant::now();
    let mut due = Vec::new();
    for running in shared.running.all() {
        if running.stop.reason() == Some(Stop::LeaseLost) {
            continue;
        }
        if running.lease_ends() <= now {
            tracing::warn!(job = running.job.lease.number, "the lease ran out before it could be renewed");
            running.stop.raise(Stop::LeaseLost);
        } else if running.renewal_due(now) || running.ctx.get().is_some_and(|ctx| ctx.has_reports()) {
            due.push(running);
        }
    }
    for batch in due.chunks(BATCH) {
        if !renew(shared, batch).await {
            return false;
        }
    }
    true
}

/// Delivers one job's last report before the job ends. A report that cannot be delivered is not worth waiting for.
pub async fn flush(shared: &Shared, running: &Arc<Running>) {
    if running.stop.reason() != Some(Stop::LeaseLost) {
        renew(shared, std::slice::from_ref(running)).await;
    }
}

async fn renew(shared: &Shared, batch: &[Arc<Running>]) -> bool {
    // One at a time: an older report must not arrive after a newer one.
    let _turn = shared.renewing.lock().await;
    let reports: Vec<Reports> = batch
        .iter()
        .map(|running| running.ctx.get().map(|ctx| ctx.take_reports()).unwrap_or_default())
        .collect();
    // As many for each job as it entered stages, one at least.
    let renewals: Vec<(usize, Renewal)> = batch
        .iter()
        .zip(&reports)
        .enumerate()
        .flat_map(|(place, (running, reports))| {
            let told = reports.progress.iter().cloned().map(Some);
            let nothing = reports.progress.is_empty().then_some(None);
            told.chain(nothing).map(move |progress| {
                let (lease, extend_by) = (running.job.lease.clone(), shared.config.lease);
                (place, Renewal { lease, extend_by, progress, pid: reports.pid, checkpoint: None })
            })
        })
        .collect();
    let (places, renewals): (Vec<usize>, Vec<Renewal>) = renewals.into_iter().unzip();
    let asked = Instant::now();
    // Short enough that there is time to try again.
    let patience = (shared.config.lease / 4).max(Duration::from_secs(1));
    let answer = timeout(patience, shared.engine.renew(renewals)).await;
    match answer {
        Ok(Ok(answers)) => {
            let answered = places.into_iter().zip(answers);
            answered.for_each(|(place, answer)| hear(shared, &batch[place], answer, asked));
            return true;
        }
        Ok(Err(error)) => tracing::warn!(%error, "leases cannot be renewed"),
        Err(_) => tracing::warn!("renewing leases took too long"),
    }
    for (running, undelivered) in batch.iter().zip(reports) {
        if let Some(ctx) = running.ctx.get() {
            ctx.return_reports(undelivered);
        }
    }
    false
}

fn hear(shared: &Shared, running: &Running, answer: RenewAnswer, asked: Instant) {
    match answer {
        RenewAnswer::Held { cancel_requested } => {
            running.renewed(asked, shared.renew_in(), shared.config.lease);
            if cancel_requested {
                running.stop.raise(Stop::Cancelled);
            }
        }
        RenewAnswer::Lost => running.stop.raise(Stop::LeaseLost),
    }
}

/// Held while renewals are under way.
pub type Turn = Mutex<()>;
