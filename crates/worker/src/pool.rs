//! The pool: wait → claim up to the free slots → run each → finish in batches.
//!
//! Four tasks stand beside the claiming loop, none of which can be held up by a running job: heartbeats, renewals,
//! the listener for cancellations and the writer of results.

mod attempt;
mod brakes;
mod cancels;
mod claim;
mod finisher;
mod heartbeat;
mod log_writer;
mod renewer;
mod running;
mod served;

use crate::{
    builtin, command::CommandExecutor, commands::CommandBook, executor::Registry, executor::Stop, host,
};
use leasehold_queue::{Engine, cadence::Cadence};
use leasehold_types::{Timestamp, WorkerId};
use running::RunningJobs;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

/// Results waiting to be written; beyond that attempts wait with theirs.
const RESULTS_WAITING: usize = 1_000;
/// How long the last words of a pool may take: killing, logs, releases.
const FAREWELL: Duration = Duration::from_secs(20);

#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// Jobs at once.
    pub concurrency: usize,
    pub heartbeat: Duration,
    /// How often to look for jobs when no wake-up comes.
    pub poll: Duration,
    pub lease: Duration,
    pub renewal: Cadence,
    /// How long a shutdown waits for running jobs before it hands them back.
    pub shutdown_wait: Duration,
    pub version: String,
    /// The binary that offers the `guard` subcommand; `@leasehold` in the command book means the same.
    pub guard_program: PathBuf,
    /// Queues to serve, as `queue` (in every domain) or `domain/queue`; empty = all.
    pub queues: Vec<String>,
    /// Domains to serve; empty = all.
    pub domains: Vec<String>,
    /// Providers that composite jobs can call here, for those who ask why a job waits.
    pub providers: Vec<String>,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self {
            concurrency: 4,
            heartbeat: Duration::from_secs(5),
            poll: Duration::from_secs(1),
            lease: Duration::from_secs(60),
            renewal: Cadence::default(),
            shutdown_wait: Duration::from_secs(10),
            version: env!("CARGO_PKG_VERSION").into(),
            guard_program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("/proc/self/exe")),
            queues: Vec::new(),
            providers: Vec::new(),
            domains: Vec::new(),
        }
    }
}

/// What all parts of a pool share.
struct Shared {
    engine: Arc<Engine>,
    config: PoolConfig,
    registry: Registry,
    worker_id: WorkerId,
    started_at: Timestamp,
    running: RunningJobs,
    renewing: renewer::Turn,
    /// Kinds of job that fail too often run fewer at a time.
    brakes: brakes::Brakes,
    /// Rung when results were written: what waited for a limit may have its place now.
    place_freed: Notify,
}

impl Shared {
    /// How long after a renewal the next one follows.
    fn renew_in(&self) -> Duration {
        self.config.renewal.wait(self.config.lease, rand::random())
    }
}

pub struct Pool {
    shared: Arc<Shared>,
}

impl Pool {
    /// A pool that runs the commands of a book, and what is built in.
    pub fn new(engine: Arc<Engine>, book: Arc<CommandBook>, config: PoolConfig) -> Self {
        Self::beside(builtin::registry(), engine, book, config)
    }

    /// A pool that runs the commands of a book beside what is registered.
    pub fn beside(
        mut registry: Registry,
        engine: Arc<Engine>,
        book: Arc<CommandBook>,
        config: PoolConfig,
    ) -> Self {
        let executor = Arc::new(CommandExecutor::new(book.clone(), config.guard_program.clone()));
        for spec in book.iter() {
            registry.register(&spec.domain, &spec.key, executor.clone());
        }
        Self::with_registry(engine, registry, config)
    }

    /// A pool that runs whatever is registered.
    pub fn with_registry(engine: Arc<Engine>, registry: Registry, config: PoolConfig) -> Self {
        let (started_at, concurrency) = (engine.now(), config.concurrency);
        let shared = Shared {
            engine,
            config,
            registry,
            worker_id: host::fresh_worker_id(),
            started_at,
            running: RunningJobs::default(),
            renewing: renewer::Turn::default(),
            brakes: brakes::Brakes::new(concurrency),
            place_freed: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub fn worker_id(&self) -> &WorkerId {
        &self.shared.worker_id
    }

    /// Works until `shutdown`; returns when every job is finished or handed back.
    pub async fn run(self, shutdown: CancellationToken) {
        let shared = self.shared;
        let over = CancellationToken::new();
        let beside = [
            spawn(freeze_claims(shared.clone(), shutdown.clone())),
            spawn(heartbeat::run(shared.clone(), over.clone())),
            spawn(renewer::run(shared.clone(), over.clone())),
            spawn(cancels::run(shared.clone(), over.clone())),
        ];
        let (results, inbox) = mpsc::channel(RESULTS_WAITING);
        let finisher = spawn(finisher::run(shared.clone(), inbox));
        tracing::info!(worker = %shared.worker_id, concurrency = shared.config.concurrency, "the pool works");
        claim::run(&shared, &results, &shutdown).await;
        wind_down(&shared).await;
        drop(results);
        let _ = timeout(FAREWELL, finisher).await;
        over.cancel();
        for task in beside {
            let _ = timeout(FAREWELL, task).await;
        }
        let _ = timeout(FAREWELL, shared.engine.forget_worker(&shared.worker_id)).await;
        tracing::info!(worker = %shared.worker_id, "the pool has ended");
    }
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(task))
}

/// A claim that is under way when the process is to end must not bring new jobs.
async fn freeze_claims(shared: Arc<Shared>, shutdown: CancellationToken) {
    shutdown.cancelled().await;
    shared.engine.freeze_claims();
}

/// Waits for what runs, then stops it and hands it back.
async fn wind_down(shared: &Shared) {
    let waiting = shared.running.count();
    if waiting > 0 {
        tracing::info!(waiting, "waiting for running jobs");
    }
    if timeout(shared.config.shutdown_wait, shared.running.none_left()).await.is_ok() {
        return;
    }
    for running in shared.running.all() {
        running.stop.raise(Stop::ShuttingDown);
    }
    if timeout(FAREWELL, shared.running.none_left()).await.is_err() {
        tracing::warn!(jobs = shared.running.count(), "not handed back in time; their leases will run out");
    }
}

/// 75 % to 125 %, so that many workers do not ask in step.
fn jittered(duration: Duration) -> Duration {
    duration.mul_f64(0.75 + rand::random::<f64>() / 2.0)
}
