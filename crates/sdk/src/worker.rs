//! The loop: wait for a free place → claim → start each job → again.

use crate::{
    Error, Job, JobError, WorkerConfig, attempt,
    client::{Client, Lease},
};
use serde_json::Value;
use std::{
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// How long a closed connection may take to be noticed.
const HANG_UP: Duration = Duration::from_millis(300);

pub struct Worker {
    config: WorkerConfig,
    client: Arc<Client>,
    id: String,
    stop: CancellationToken,
}

impl Worker {
    pub fn new(config: WorkerConfig) -> Result<Self, Error> {
        config.validate()?;
        let client = Arc::new(Client::new(&config)?);
        let fresh = || format!("sdk:{}:{}", std::process::id(), uuid::Uuid::new_v4().simple());
        let id = config.worker_id.clone().unwrap_or_else(fresh);
        Ok(Self { config, client, id, stop: CancellationToken::new() })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Cancel it to end the worker: it claims nothing more, waits for its jobs for a while, then hands them back.
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Works until it is stopped, or until the server says that it never will be served (a wrong key, say).
    pub async fn run<H, F>(&self, handler: H) -> Result<(), Error>
    where
        H: Fn(Job) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Value, JobError>> + Send + 'static,
    {
        let places = Arc::new(Semaphore::new(self.config.concurrency as usize));
        let leave = CancellationToken::new();
        let mut disappointments = 0;
        let outcome = loop {
            let Some(permits) = self.free_places(&places).await else { break Ok(()) };
            let asked = Instant::now();
            let claim = self.client.claim(&self.id, &self.config, permits.len());
            let claimed = tokio::select! {
                claimed = claim => claimed,
                () = self.stop.cancelled() => {
                    // The server keeps nothing for a caller that hangs up. It must notice that first: else it might
                    // give the jobs handed back now to this very claim, and nobody would hear of it.
                    tokio::time::sleep(HANG_UP).await;
                    break Ok(());
                }
            };
            match claimed {
                Ok(claimed) if !claimed.jobs.is_empty() => {
                    disappointments = 0;
                    for (job, permit) in claimed.jobs.into_iter().zip(permits) {
                        self.start(job, permit, &handler, leave.clone());
                    }
                    continue;
                }
                // It has waited as long as it was asked to: that was the pause.
                Ok(_) if self.has_waited(asked) => {
                    disappointments = 0;
                    continue;
                }
                Ok(_) => {}
                Err(error) if error.is_passing() => {
                    tracing::warn!(%error, "jobs cannot be claimed");
                }
                Err(error) => break Err(error),
            }
            drop(permits);
            disappointments += 1;
            let pause = self.config.pause(disappointments, rand::random());
            let _ = tokio::time::timeout(pause, self.stop.cancelled()).await;
        };
        // Whoever is still at work gets told, and ends within its patience.
        leave.cancel();
        let _ = places.acquire_many(self.config.concurrency).await;
        outcome
    }

    /// Waits for a free place and takes all there are; none when it is time to stop.
    async fn free_places(&self, places: &Arc<Semaphore>) -> Option<Vec<OwnedSemaphorePermit>> {
        let first = tokio::select! {
            biased;
            () = self.stop.cancelled() => return None,
            place = places.clone().acquire_owned() => place.ok()?,
        };
        let more = std::iter::from_fn(|| places.clone().try_acquire_owned().ok());
        Some(std::iter::once(first).chain(more).collect())
    }

    fn has_waited(&self, asked: Instant) -> bool {
        let wait = Duration::from_secs(u64::from(self.config.wait_seconds));
        !wait.is_zero() && asked.elapsed() >= wait / 2
    }

    fn start<H, F>(
        &self,
        claimed: crate::ClaimedJob,
        permit: OwnedSemaphorePermit,
        handler: &H,
        leave: CancellationToken,
    ) where
        H: Fn(Job) -> F,
        F: Future<Output = Result<Value, JobError>> + Send + 'static,
    {
        let lease = Lease { worker_id: self.id.clone(), lease_id: claimed.lease_id.clone() };
        let job = Job::new(claimed, lease, self.client.clone());
        let work = handler(job.clone());
        let config = self.config.clone();
        tokio::spawn(async move {
            attempt::run(&config, job, work, leave).await;
            drop(permit);
        });
    }
}
