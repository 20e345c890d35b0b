//! Writes how attempts ended, many at a time. While the database is away the results are kept and tried again, until
//! their leases have been gone for so long that the jobs surely belong to someone else.

use super::{Shared, jittered, running::Running};
use leasehold_queue::{
    StoreError,
    params::{Finish, FinishAnswer},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    sync::mpsc,
    time::{sleep, timeout_at},
};

const BATCH: usize = 100;
/// How long the first result waits for company.
const GATHER: Duration = Duration::from_millis(3);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// A result on its way to the store.
pub struct Done {
    pub running: Arc<Running>,
    pub finish: Finish,
}

/// Writes until no attempt can send any more.
pub async fn run(shared: Arc<Shared>, mut inbox: mpsc::Receiver<Done>) {
    while let Some(first) = inbox.recv().await {
        let mut batch = vec![first];
        let until = tokio::time::Instant::now() + GATHER;
        while batch.len() < BATCH {
            match timeout_at(until, inbox.recv()).await {
                Ok(Some(done)) => batch.push(done),
                Ok(None) | Err(_) => break,
            }
        }
        write(&shared, batch).await;
    }
}

async fn write(shared: &Shared, batch: Vec<Done>) {
    // One bad result must not take its neighbours down: after a refusal each goes alone.
    for refused in write_together(shared, batch).await {
        for done in write_together(shared, vec![refused]).await {
            tracing::error!(
                job = done.running.job.lease.number,
                "the result cannot be recorded and is dropped"
            );
            shared.running.remove(&done.running);
        }
    }
}

/// Tries until it is written or no longer matters; gives back what the store refuses to write at all.
async fn write_together(shared: &Shared, mut batch: Vec<Done>) -> Vec<Done> {
    let mut wait = Duration::from_millis(25);
    loop {
        let items = batch.iter().map(|done| done.finish.clone()).collect();
        match shared.engine.finish(items).await {
            Ok(answers) => {
                for (done, answer) in batch.iter().zip(answers) {
                    hear(done, answer);
                    shared.running.remove(&done.running);
                }
                shared.place_freed.notify_one();
                return Vec::new();
            }
            Err(error @ StoreError::Database { transient: true, .. }) => {
                tracing::warn!(%error, results = batch.len(), "results cannot be recorded yet");
            }
            Err(error) => {
                tracing::error!(%error, results = batch.len(), "results were refused");
                return batch;
            }
        }
        sleep(jittered(wait)).await;
        wait = (wait * 2).min(LONGEST_WAIT);
        batch.retain(|done| still_matters(shared, done));
        if batch.is_empty() {
            return batch;
        }
    }
}

/// A lease nobody has taken back is still ours although it has run out; a whole lease later somebody has.
fn still_matters(shared: &Shared, done: &Done) -> bool {
    let matters = Instant::now() < done.running.lease_ends() + shared.config.lease;
    if !matters {
        tracing::error!(
            job = done.running.job.lease.number,
            "the database was away for too long; a result is dropped"
        );
        shared.running.remove(&done.running);
    }
    matters
}

fn hear(done: &Done, answer: FinishAnswer) {
    let job = done.running.job.lease.number;
    match answer {
        FinishAnswer::Applied(status) => tracing::debug!(job, %status, "recorded"),
        FinishAnswer::AlreadyDone(status) => tracing::debug!(job, %status, "recorded before"),
        FinishAnswer::Stale => tracing::warn!(job, "the lease is no longer ours; the result was refused"),
        FinishAnswer::NotFound => tracing::warn!(job, "the job is gone; the result was refused"),
    }
}
