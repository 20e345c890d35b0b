//! Counts the installation's events as the hub hands them out. Nothing on the way of a job waits for this.

use super::{Metrics, tally::ends};
use leasehold_queue::{Engine, params::OutboxEvent};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};

const BATCH: usize = 500;
/// Times are looked up for at most so many jobs of a batch, and not for long.
const MOST_LOOKED_UP: usize = 200;
const PATIENCE: Duration = Duration::from_secs(2);

/// Until the hub is gone. `events` must have been subscribed before the hub began to follow.
pub async fn follow(metrics: Arc<Metrics>, engine: Arc<Engine>, mut events: Receiver<Arc<OutboxEvent>>) {
    loop {
        let mut batch = Vec::new();
        match events.recv().await {
            Ok(event) => batch.push(event),
            Err(RecvError::Lagged(missed)) => metrics.tally().events_missed += missed,
            Err(RecvError::Closed) => return,
        }
        while batch.len() < BATCH {
            match events.try_recv() {
                Ok(event) => batch.push(event),
                Err(TryRecvError::Lagged(missed)) => metrics.tally().events_missed += missed,
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        count(&metrics, &engine, &batch).await;
    }
}

async fn count(metrics: &Metrics, engine: &Engine, batch: &[Arc<OutboxEvent>]) {
    let traces = look_up(metrics, engine, batch).await;
    let now = engine.now();
    let mut lag = metrics.event_lag();
    batch.iter().for_each(|heard| lag.observe(super::LAG_BOUNDS, now.seconds_since(heard.event.at)));
    drop(lag);
    let mut tally = metrics.tally();
    for heard in batch {
        let trace = ends(heard.event.kind).then(|| traces.get(&heard.event.number)).flatten();
        tally.count(heard, trace.map(String::as_str));
    }
}

/// Teaches the tally the times it does not know, and returns the trace ids of jobs that were picked as exemplars.
async fn look_up(metrics: &Metrics, engine: &Engine, batch: &[Arc<OutboxEvent>]) -> HashMap<i64, String> {
    let (mut wanted, mut picked) = (Vec::new(), Vec::new());
    {
        let tally = metrics.tally();
        for heard in batch.iter().map(|heard| &heard.event) {
            let pick =
                ends(heard.kind) && metrics.config.exemplars.is_some_and(|share| is_picked(heard.id, share));
            if pick {
                picked.push(heard.number);
            }
            // What was created in this very batch is about to be remembered.
            let created_here =
                || batch.iter().any(|e| e.event.number == heard.number && e.event.id < heard.id);
            if pick || (tally.needs_times(heard) && !created_here()) {
                wanted.push(heard.number);
            }
        }
    }
    wanted.truncate(MOST_LOOKED_UP);
    if wanted.is_empty() {
        return HashMap::new();
    }
    match tokio::time::timeout(PATIENCE, engine.store().job_times(&wanted)).await {
        Ok(Ok(times)) => {
            metrics.tally().learn(&times);
            let shown = times.into_iter().filter(|times| picked.contains(&times.number));
            shown.map(|times| (times.number, times.trace_id)).collect()
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, "times of jobs cannot be read for the metrics");
            HashMap::new()
        }
        Err(_) => HashMap::new(),
    }
}

/// Chance that needs no state: every process picks the same jobs.
fn is_picked(id: i64, share: f64) -> bool {
    let mixed = (id as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
    (mixed as f64 / (1_u64 << 53) as f64) < share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_as_many_are_picked_as_asked_for() {
        let picked = |share| (0..100_000).filter(|id| is_picked(*id, share)).count();
        assert_eq!((picked(0.0), picked(1.0)), (0, 100_000));
        assert!((900..1_100).contains(&picked(0.01)), "{}", picked(0.01));
    }
}
