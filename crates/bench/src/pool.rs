//! Drain through a real worker pool: the same backlog of no-op jobs, claimed, run and finished as in `leasehold serve`.

use crate::{BenchResult, Subject, drain::fill, subject};
use async_trait::async_trait;
use leasehold_queue::{Clock, Engine, EngineConfig, params::ClaimedJob};
use leasehold_worker::{Ctx, Executor, Outcome, Pool, PoolConfig, Registry};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::{sync::Notify, time::timeout};
use tokio_util::sync::CancellationToken;

/// Two batches: while one is being finished the next one runs.
const SLOTS: usize = 200;
const PATIENCE: Duration = Duration::from_secs(300);

/// Jobs per second, from the start of the pool until its last result is written.
pub async fn round(subject: &Subject, jobs: usize) -> BenchResult<f64> {
    fill(&subject.store, subject.busy, jobs).await?;
    subject.settle().await?;
    let no_op = Arc::new(NoOp { left: AtomicUsize::new(jobs), over: Notify::new() });
    let mut registry = Registry::default();
    registry.register(subject::DOMAIN, subject::JOB_TYPE, no_op.clone());
    // One each: an engine gives out no more jobs once a pool of its has ended.
    let engine = Arc::new(Engine::new(subject.store.clone(), Clock::system(), EngineConfig::default()));
    let config = PoolConfig { concurrency: SLOTS, shutdown_wait: PATIENCE, ..PoolConfig::default() };
    let pool = Pool::with_registry(engine, registry, config);
    let started = Instant::now();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn(pool.run(shutdown.clone()));
    timeout(PATIENCE, no_op.over.notified()).await?;
    shutdown.cancel();
    timeout(PATIENCE, running).await??;
    Ok(jobs as f64 / started.elapsed().as_secs_f64())
}

struct NoOp {
    left: AtomicUsize,
    over: Notify,
}

#[async_trait]
impl Executor for NoOp {
    async fn run(&self, _job: &ClaimedJob, _ctx: &Ctx) -> Outcome {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.over.notify_one();
        }
        Outcome::completed(None)
    }
}
