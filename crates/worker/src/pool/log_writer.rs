//! Carries an attempt's log lines to the store: every 100 ms, or at once when a batch is full. What cannot be written
//! in time stays in its bounded buffer, which drops its middle; the work never waits for the log.

use super::{Shared, running::Running};
use crate::executor::{Ctx, LOG_BATCH, Stop};
use leasehold_queue::{StoreError, params::NewLogLine};
use std::time::{Duration, Instant};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_millis(100);
/// How long the end of the log may be tried after the work is done.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// Writes until `done`, and then what is left.
pub async fn run(shared: &Shared, running: &Running, ctx: &Ctx, done: &CancellationToken) {
    loop {
        let something = tokio::select! {
            () = done.cancelled() => false,
            () = ctx.log_ready() => true,
        };
        if !something {
            break;
        }
        tokio::select! {
            () = done.cancelled() => {}
            () = ctx.log_batch_ready() => {}
            () = sleep(EVERY) => {}
        }
        if !write_all(shared, running, ctx, done).await {
            return done.cancelled().await;
        }
    }
    write_all(shared, running, ctx, done).await;
}

/// Everything that may be written now; false when there is no point in going on.
async fn write_all(shared: &Shared, running: &Running, ctx: &Ctx, done: &CancellationToken) -> bool {
    loop {
        let lines = ctx.logs().take(LOG_BATCH, shared.engine.now());
        if lines.is_empty() {
            return true;
        }
        if !write(shared, running, lines, done).await {
            return false;
        }
    }
}

/// Repeats a batch until it is written; lines that did arrive keep their numbers and are left alone by the store.
async fn write(shared: &Shared, running: &Running, lines: Vec<NewLogLine>, done: &CancellationToken) -> bool {
    let mut wait = Duration::from_millis(50);
    let mut give_up_at = None;
    loop {
        if running.stop.reason() == Some(Stop::LeaseLost) {
            return false;
        }
        let job = &running.job;
        match shared.engine.append_logs(&job.lease, job.attempt, lines.clone()).await {
            Ok(true) => return true,
            Ok(false) => {
                running.stop.raise(Stop::LeaseLost);
                return false;
            }
            Err(StoreError::Database { transient: true, .. }) => {}
            Err(error) => {
                tracing::error!(job = job.lease.number, %error, "log lines cannot be kept");
                return true;
            }
        }
        if done.is_cancelled() {
            let end = *give_up_at.get_or_insert_with(|| Instant::now() + LAST_PATIENCE);
            if Instant::now() >= end {
                tracing::warn!(job = job.lease.number, "the end of the log was not kept");
                return false;
            }
        }
        sleep(wait).await;
        wait = (wait * 2).min(Duration::from_secs(1));
    }
}
