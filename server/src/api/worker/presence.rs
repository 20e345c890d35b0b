//! The roll of workers that come over HTTP: what they ask and report is their sign of life. A worker introduces itself
//! with its first claim; after that its signs are gathered and written for all workers of this process at once, at most
//! once in a beat for each.

use leasehold_queue::{Actor, Engine, Scope, engine::RemoteClaim, params::Heartbeat};
use leasehold_types::{Problem, ProblemCode, WorkerId};
use serde_json::json;
use std::{
    collections::{HashMap, HashSet},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

pub const BEAT: Duration = Duration::from_secs(5);
/// Who was not heard of for so long introduces itself again: its row may be gone.
const KNOWN_FOR: Duration = Duration::from_secs(10);
/// Signs of life are gathered for so long.
const GATHER: Duration = Duration::from_millis(250);
/// When a worker that found no room may try again, in seconds.
const TRY_AGAIN: u32 = 15;

pub struct Presence {
    engine: Arc<Engine>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: HashMap<WorkerId, Known>,
    /// Heard of, and not written down yet.
    unwritten: HashSet<WorkerId>,
    /// A task is about to write them.
    writing: bool,
}

struct Known {
    /// What it can run; none when it only reported on a job so far.
    offer: Option<Offer>,
    written_at: Instant,
}

type Pairs = Vec<(String, String)>;
/// Kinds and queues.
type Offer = (Pairs, Pairs);

impl Presence {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker asks for jobs, and says by that what it can run. Refused when its key has too many workers.
    pub async fn admit(self: &Arc<Self>, scope: &Scope, claim: &RemoteClaim) -> Result<(), Problem> {
        let offer = (claim.kinds.clone(), claim.queues.clone());
        if self.knows(&claim.worker, &offer) {
            self.seen(std::slice::from_ref(&claim.worker));
            return Ok(());
        }
        let most = self.engine.config().remote.workers_per_key;
        let beat = self.introduction(scope, claim).await?;
        if !self.engine.introduce_worker(key_of(scope), beat, most).await? {
            let detail = format!(
                "This key has {most} workers already, and each was heard of lately. Give a worker one name for its whole \
                 life, or use another key."
            );
            return Err(Problem::new(ProblemCode::QuotaExceeded, detail).retry_after(TRY_AGAIN));
        }
        let known = Known { offer: Some(offer), written_at: Instant::now() };
        let mut state = self.state();
        state.known.retain(|_, known| known.written_at.elapsed() < KNOWN_FOR);
        state.known.insert(claim.worker.clone(), known);
        Ok(())
    }

    fn knows(&self, worker: &WorkerId, offer: &Offer) -> bool {
        let is_current =
            |known: &Known| known.offer.as_ref() == Some(offer) && known.written_at.elapsed() < KNOWN_FOR;
        self.state().known.get(worker).is_some_and(is_current)
    }

    /// Workers wait, or report on jobs they hold.
    pub fn seen(self: &Arc<Self>, workers: &[WorkerId]) {
        let mut state = self.state();
        for worker in workers {
            match state.known.get_mut(worker) {
                Some(known) if known.written_at.elapsed() < BEAT => continue,
                Some(known) => known.written_at = Instant::now(),
                None => {
                    let known = Known { offer: None, written_at: Instant::now() };
                    state.known.insert(worker.clone(), known);
                }
            }
            state.unwritten.insert(worker.clone());
        }
        if !state.unwritten.is_empty() && !mem::replace(&mut state.writing, true) {
            tokio::spawn(self.clone().write());
        }
    }

    /// A sign of life that cannot be written must not cost a worker its job.
    async fn write(self: Arc<Self>) {
        tokio::time::sleep(GATHER).await;
        let gathered: Vec<WorkerId> = {
            let mut state = self.state();
            state.writing = false;
            state.known.retain(|_, known| known.written_at.elapsed() < KNOWN_FOR);
            mem::take(&mut state.unwritten).into_iter().collect()
        };
        if let Err(error) = self.engine.workers_seen(&gathered).await {
            tracing::warn!(%error, workers = gathered.len(), "signs of life of remote workers cannot be written");
        }
    }

    async fn introduction(&self, scope: &Scope, claim: &RemoteClaim) -> Result<Heartbeat, Problem> {
        let kinds = self.engine.remote_kinds(scope, claim).await?;
        let mut queues: Vec<_> = if claim.queues.is_empty() {
            kinds.iter().map(|(domain, _)| format!("{domain}/*")).collect()
        } else {
            claim.queues.iter().map(|(domain, queue)| format!("{domain}/{queue}")).collect()
        };
        queues.dedup();
        Ok(Heartbeat {
            worker_id: claim.worker.clone(),
            hostname: claim.worker.short().to_owned(),
            version: String::new(),
            queues,
            commands: kinds.into_iter().map(|(_, job_type)| job_type).collect(),
            running_count: 0,
            metadata: json!({"kind": "remote"}),
            started_at: self.engine.now(),
        })
    }
}

fn key_of(scope: &Scope) -> &str {
    match &scope.actor {
        Actor::Key { prefix, .. } => prefix,
        Actor::User { .. } | Actor::Terminal(_) | Actor::System(_) => "",
    }
}
