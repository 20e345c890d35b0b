//! A sign of life every few seconds, whatever the jobs are doing.

use super::{Shared, served::Served};
use crate::host;
use leasehold_queue::params::{Heartbeat, PROVIDERS};
use serde_json::json;
use std::sync::Arc;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

/// The first one at once.
pub async fn run(shared: Arc<Shared>, over: CancellationToken) {
    let mut ticks = interval(shared.config.heartbeat);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let hostname = host::hostname();
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = over.cancelled() => return,
        }
        let beat = shared.engine.heartbeat(beat(&shared, &hostname));
        match timeout(shared.config.heartbeat * 2, beat).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the heartbeat cannot be written"),
            Err(_) => tracing::warn!("the heartbeat took too long"),
        }
    }
}

fn beat(shared: &Shared, hostname: &str) -> Heartbeat {
    let served = Served::of(shared.registry.kinds(), &shared.config);
    let (queues, kinds) = served.map(|served| (served.names(), served.kinds)).unwrap_or_default();
    let mut metadata = host::usage();
    metadata["started_at"] = json!(shared.started_at);
    metadata["concurrency"] = json!(shared.config.concurrency);
    metadata[PROVIDERS] = json!(shared.config.providers);
    metadata["reduced"] = json!(shared.brakes.reduced());
    Heartbeat {
        worker_id: shared.worker_id.clone(),
        hostname: hostname.to_owned(),
        version: shared.config.version.clone(),
        queues,
        commands: kinds.into_iter().map(|(_, job_type)| job_type).collect(),
        running_count: i32::try_from(shared.running.count()).unwrap_or(i32::MAX),
        metadata,
        started_at: shared.started_at,
    }
}
