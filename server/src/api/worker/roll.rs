//! The roll of workers that come over HTTP: what they ask and report is their sign of life. It is written at most
//! once in a beat, however many requests they send.

use leasehold_queue::{Engine, engine::RemoteClaim, params::Heartbeat};
use leasehold_types::WorkerId;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

const BEAT: Duration = Duration::from_secs(5);
/// A worker that is silent for so long is forgotten here; the store forgets it too.
const SILENT: Duration = Duration::from_secs(3_600);
/// Names are given by callers: a bound, not a number anybody should reach.
const MOST: usize = 10_000;

struct Entry {
    beat_at: Instant,
    queues: Vec<String>,
    commands: Vec<String>,
}

#[derive(Default)]
pub struct Roll(Mutex<HashMap<WorkerId, Entry>>);

impl Roll {
    /// A worker asks for jobs.
    pub async fn asks(&self, engine: &Engine, claim: &RemoteClaim) {
        if !self.is_due(&claim.worker) {
            return;
        }
        // Its kinds were checked by the claim before.
        let kinds = engine.remote_kinds(&claim.kinds).await.unwrap_or_default();
        let mut queues: Vec<_> = if claim.queues.is_empty() {
            kinds.iter().map(|(domain, _)| format!("{domain}/*")).collect()
        } else {
            claim.queues.iter().map(|(domain, queue)| format!("{domain}/{queue}")).collect()
        };
        queues.dedup();
        let commands = kinds.into_iter().map(|(_, job_type)| job_type).collect();
        self.put(&claim.worker, queues, commands);
        self.write(engine, &claim.worker).await;
    }

    /// A worker reports on a job it holds.
    pub async fn seen(&self, engine: &Engine, worker: &WorkerId) {
        if self.is_due(worker) && self.lock().contains_key(worker) {
            self.write(engine, worker).await;
        }
    }

    fn is_due(&self, worker: &WorkerId) -> bool {
        self.lock().get(worker).is_none_or(|entry| entry.beat_at.elapsed() >= BEAT)
    }

    fn put(&self, worker: &WorkerId, queues: Vec<String>, commands: Vec<String>) {
        let mut entries = self.lock();
        if entries.len() >= MOST {
            entries.retain(|_, entry| entry.beat_at.elapsed() < SILENT);
        }
        if entries.len() < MOST {
            entries.insert(worker.clone(), Entry { beat_at: Instant::now(), queues, commands });
        }
    }

    /// A sign of life that cannot be written must not cost the worker its job.
    async fn write(&self, engine: &Engine, worker: &WorkerId) {
        let Some((queues, commands)) = self.beaten(worker) else { return };
        let running = engine.store().held_count(worker).await.unwrap_or_default();
        let beat = Heartbeat {
            worker_id: worker.clone(),
            hostname: worker.short().to_owned(),
            version: String::new(),
            queues,
            commands,
            running_count: i32::try_from(running).unwrap_or(i32::MAX),
            metadata: json!({"kind": "remote"}),
            started_at: engine.now(),
        };
        if let Err(error) = engine.store().heartbeat(beat).await {
            tracing::warn!(%error, %worker, "a remote worker's sign of life cannot be written");
        }
    }

    fn beaten(&self, worker: &WorkerId) -> Option<(Vec<String>, Vec<String>)> {
        let mut entries = self.lock();
        let entry = entries.get_mut(worker)?;
        entry.beat_at = Instant::now();
        Some((entry.queues.clone(), entry.commands.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WorkerId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
