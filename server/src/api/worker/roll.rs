//! The roll of workers that come over HTTP: what they ask and report is their sign of life. It is written at most
//! once in a beat, however many requests they send, and whichever process they reach.

use leasehold_queue::{Engine, StoreResult, engine::RemoteClaim, params::Heartbeat};
use leasehold_types::WorkerId;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const BEAT: Duration = Duration::from_secs(5);
/// Names are given by callers: a bound, not a number anybody should reach.
const MOST: usize = 10_000;

/// When each was last written down by this process.
#[derive(Default)]
pub struct Roll(Mutex<HashMap<WorkerId, Instant>>);

impl Roll {
    /// A worker asks for jobs, and says by that what it can run.
    pub async fn asks(&self, engine: &Engine, claim: &RemoteClaim) {
        if self.is_due(&claim.worker) {
            noted(&claim.worker, introduce(engine, claim).await);
        }
    }

    /// A worker reports on a job it holds.
    pub async fn seen(&self, engine: &Engine, worker: &WorkerId) {
        if self.is_due(worker) {
            noted(worker, engine.store().worker_seen(worker).await);
        }
    }

    /// Whether it is time to write it down again; the caller does.
    fn is_due(&self, worker: &WorkerId) -> bool {
        let mut written = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if written.get(worker).is_some_and(|at| at.elapsed() < BEAT) {
            return false;
        }
        if written.len() >= MOST {
            written.retain(|_, at| at.elapsed() < BEAT);
        }
        written.insert(worker.clone(), Instant::now());
        true
    }
}

async fn introduce(engine: &Engine, claim: &RemoteClaim) -> StoreResult<()> {
    // Its kinds were checked by the claim before.
    let kinds = engine.remote_kinds(&claim.kinds).await.unwrap_or_default();
    let mut queues: Vec<_> = if claim.queues.is_empty() {
        kinds.iter().map(|(domain, _)| format!("{domain}/*")).collect()
    } else {
        claim.queues.iter().map(|(domain, queue)| format!("{domain}/{queue}")).collect()
    };
    queues.dedup();
    let running = engine.store().held_count(&claim.worker).await?;
    let beat = Heartbeat {
        worker_id: claim.worker.clone(),
        hostname: claim.worker.short().to_owned(),
        version: String::new(),
        queues,
        commands: kinds.into_iter().map(|(_, job_type)| job_type).collect(),
        running_count: i32::try_from(running).unwrap_or(i32::MAX),
        metadata: json!({"kind": "remote"}),
        started_at: engine.now(),
    };
    engine.store().heartbeat(beat).await
}

/// A sign of life that cannot be written must not cost the worker its job.
fn noted(worker: &WorkerId, written: StoreResult<()>) {
    if let Err(error) = written {
        tracing::warn!(%error, %worker, "a remote worker's sign of life cannot be written");
    }
}
