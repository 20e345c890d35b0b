//! The long poll: subscribe → claim → wait for a wake-up → claim again, until there is a job or patience ends.
//!
//! It runs in a task of its own. A caller that hangs up ends its request at any moment, also between a claim and the
//! answer; the task then hands the jobs back, instead of leaving them to their leases.

use super::Workers;
use leasehold_queue::{
    Scope,
    engine::RemoteClaim,
    params::{ClaimedJob, Wake},
};
use leasehold_types::{Problem, ProblemCode};
use std::time::Duration;
use tokio::{
    sync::{broadcast, oneshot},
    time::{Instant, sleep_until, timeout_at},
};

/// A job may become due without anybody's wake-up, and a wake-up may be lost.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub async fn claim(
    workers: &Workers,
    scope: Scope,
    claim: RemoteClaim,
    patience: Duration,
) -> Result<Vec<ClaimedJob>, Problem> {
    let (answer, answered) = oneshot::channel();
    let workers = workers.clone();
    tokio::spawn(async move {
        let mut answer = answer;
        let found = wait_for_jobs(&workers, &scope, &claim, patience, &mut answer).await;
        if let Err(Ok(jobs)) = answer.send(found)
            && let Err(error) = workers.api.engine.release(jobs).await
        {
            tracing::warn!(%error, "jobs that nobody waited for cannot be handed back; their leases run out");
        }
    });
    answered.await.unwrap_or_else(|_| {
        Err(Problem::new(ProblemCode::Internal, "The claim broke off. The log has the details."))
    })
}

async fn wait_for_jobs(
    workers: &Workers,
    scope: &Scope,
    claim: &RemoteClaim,
    patience: Duration,
    caller: &mut oneshot::Sender<Result<Vec<ClaimedJob>, Problem>>,
) -> Result<Vec<ClaimedJob>, Problem> {
    let engine = &workers.api.engine;
    // Subscribe, then query, then wait: the other way round loses what happens in between.
    let mut wakes = engine.store().wakes();
    let until = Instant::now() + patience;
    loop {
        let jobs = engine.remote_claim(scope, claim).await?;
        workers.roll.asks(engine, claim).await;
        if !jobs.is_empty() || Instant::now() >= until {
            return Ok(jobs);
        }
        tokio::select! {
            () = woken(&mut wakes, until.min(Instant::now() + LOOK_EVERY)) => {}
            () = workers.api.ending.cancelled() => return Ok(jobs),
            () = caller.closed() => return Ok(jobs),
        }
    }
}

/// Until there may be jobs, at the latest until `latest`.
async fn woken(wakes: &mut broadcast::Receiver<Wake>, latest: Instant) {
    loop {
        match timeout_at(latest, wakes.recv()).await {
            Ok(Ok(Wake::Jobs) | Err(broadcast::error::RecvError::Lagged(_))) | Err(_) => return,
            Ok(Ok(_)) => {}
            Ok(Err(broadcast::error::RecvError::Closed)) => return sleep_until(latest).await,
        }
    }
}
