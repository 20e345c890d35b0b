//! The watchdog: takes back the jobs of workers nobody hears of, and keeps the house tidy. Running it twice at once
//! does no harm, so every process that serves runs one.

use crate::host;
use leasehold_queue::{Engine, StoreResult};
use std::{future::Future, sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

const RECLAIM_EVERY: Duration = Duration::from_secs(1);
const FOLD_EVERY: Duration = Duration::from_secs(1);
/// A row of the audit log stands in its chain this soon.
const CHAIN_EVERY: Duration = Duration::from_millis(500);
const TRIM_EVERY: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(30);
const UNITS_EVERY: Duration = Duration::from_secs(2);
/// Schedules name minutes; a second late is on time.
const SCHEDULES_EVERY: Duration = Duration::from_secs(1);
/// Whoever had an operation applied sees it begin.
const OPERATIONS_EVERY: Duration = Duration::from_millis(500);
const WORKERS_EVERY: Duration = Duration::from_secs(60);
const PRUNE_EVERY: Duration = Duration::from_secs(3_600);
const ATTEMPTS_EVERY: Duration = Duration::from_secs(60);
/// A chore that hangs must not keep the next one from starting for ever.
const PATIENCE: Duration = Duration::from_secs(60);
const RECLAIM_BATCH: u32 = 500;
/// So many full batches in a row; then the others get a turn.
const RECLAIM_ROUNDS: usize = 20;

/// Runs until `shutdown`.
pub async fn watchdog(engine: Arc<Engine>, shutdown: CancellationToken) {
    let holder = host::fresh_worker_id().to_string();
    let chores = async {
        tokio::join!(
            every(RECLAIM_EVERY, "taking back lost jobs", || reclaim(&engine)),
            every(UNITS_EVERY, "sweeping work units", || engine.sweep_units()),
            every(SCHEDULES_EVERY, "firing schedules", || async {
                engine.fire_due_triggers(&holder).await.map(drop)
            }),
            every(OPERATIONS_EVERY, "carrying on with bulk operations", || async {
                engine.carry_on_operations(&holder).await.map(drop)
            }),
            every(PRUNE_EVERY, "forgetting old bulk operations", || engine.prune_operations()),
            every(PRUNE_EVERY, "forgetting old firings", || engine.prune_firings()),
            every(PRUNE_EVERY, "forgetting old events", || engine.prune_events()),
            every(FOLD_EVERY, "folding counters", || engine.fold_counters()),
            every(CHAIN_EVERY, "chaining the audit log", || engine.chain_audit()),
            every(TRIM_EVERY, "giving back memory", || engine.trim_memory()),
            every(PING_EVERY, "asking the database's time", || engine.ping()),
            every(WORKERS_EVERY, "forgetting silent workers", || engine.prune_workers()),
            every(PRUNE_EVERY, "removing old sessions", || engine.prune_sessions()),
            every(ATTEMPTS_EVERY, "forgetting attempts to sign in", || engine.prune_attempts()),
        )
    };
    tokio::select! {
        _ = chores => {}
        () = shutdown.cancelled() => {}
    }
    if let Err(error) = timeout(PATIENCE, engine.write_refusals(true)).await.unwrap_or(Ok(())) {
        tracing::warn!(%error, "who was refused in the last minute is not in the audit log");
    }
}

async fn reclaim(engine: &Engine) -> StoreResult<()> {
    for _ in 0..RECLAIM_ROUNDS {
        let lost = engine.reclaim_expired(RECLAIM_BATCH).await?;
        for job in &lost {
            tracing::warn!(job = job.number, worker = %job.worker_id, status = %job.status, "taken back from a lost worker");
        }
        if lost.len() < RECLAIM_BATCH as usize {
            break;
        }
    }
    Ok(())
}

async fn every<F: Future<Output = StoreResult<()>>>(period: Duration, what: &str, chore: impl Fn() -> F) {
    let mut ticks = interval(period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failing = false;
    loop {
        ticks.tick().await;
        let failed = match timeout(PATIENCE, chore()).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it took too long".to_owned()),
        };
        // Said once per outage, not once per second.
        match (&failed, failing) {
            (Some(error), false) => tracing::warn!(%error, "{what} failed"),
            (None, true) => tracing::info!("{what} works again"),
            _ => {}
        }
        failing = failed.is_some();
    }
}
