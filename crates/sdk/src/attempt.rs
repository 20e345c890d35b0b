//! One job from the claim to its end: the handler, the renewals beside it, and the result that is sent until somebody
//! has heard it.

use crate::{Error, Job, JobError, WorkerConfig};
use serde_json::Value;
use std::{
    future::Future,
    time::{Duration, Instant},
};
use tokio::time::sleep;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

const LOG_EVERY: Duration = Duration::from_millis(500);
/// How often the end of the log is tried before the result goes without it.
const LAST_WORDS: u32 = 5;
/// How long a handler may take to return once it was told to stop.
const GRACE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How it came out.
enum Outcome {
    Done(Value),
    Failed(JobError),
    /// It was asked to stop, and did.
    Cancelled,
    /// The worker stops, and the handler did not finish in time.
    HandedBack,
}

pub async fn run<F>(config: &WorkerConfig, job: Job, work: F, stop: CancellationToken)
where
    F: Future<Output = Result<Value, JobError>> + Send + 'static,
{
    let beside = [
        AbortOnDropHandle::new(tokio::spawn(keep(config.clone(), job.clone()))),
        AbortOnDropHandle::new(tokio::spawn(send_log(job.clone()))),
    ];
    let outcome = tokio::select! {
        biased;
        () = job.lost() => None,
        outcome = work_on(config, &job, work, &stop) => Some(outcome),
    };
    let Some(outcome) = outcome else {
        tracing::warn!(job = job.number(), "the lease is lost; the handler was dropped");
        return;
    };
    let [renewals, log] = beside;
    drop(log);
    for _ in 0..LAST_WORDS {
        if job.send_log().await {
            break;
        }
        sleep(LOG_EVERY).await;
    }
    report(config, &job, outcome).await;
    drop(renewals);
}

/// Runs the handler until it returns, is told to stop and does not, or its time is up.
async fn work_on<F>(config: &WorkerConfig, job: &Job, work: F, stop: &CancellationToken) -> Outcome
where
    F: Future<Output = Result<Value, JobError>> + Send + 'static,
{
    let mut task = AbortOnDropHandle::new(tokio::spawn(work));
    let limit = job.claimed().timeout_seconds.map_or(Duration::MAX, Duration::from_secs);
    let instead = async {
        let outcome = tokio::select! {
            () = job.cancelled() => Outcome::Cancelled,
            () = sleep(limit) => {
                let message = format!("Stopped after {} seconds, its time limit.", limit.as_secs());
                Outcome::Failed(JobError::new("timeout", message).class("timeout"))
            }
            () = async { stop.cancelled().await; sleep(Duration::from_secs(config.shutdown_seconds)).await } => {
                Outcome::HandedBack
            }
        };
        job.cancel();
        outcome
    };
    let instead = tokio::select! {
        ended = &mut task => return judge(config, ended),
        instead = instead => instead,
    };
    match (tokio::time::timeout(GRACE, &mut task).await, instead) {
        // What is done is done, also at the last moment.
        (Ok(Ok(Ok(result))), _) => Outcome::Done(result),
        (_, instead) => instead,
    }
}

fn judge(config: &WorkerConfig, ended: Result<Result<Value, JobError>, tokio::task::JoinError>) -> Outcome {
    let mut error = match ended {
        Ok(Ok(result)) => return Outcome::Done(result),
        Ok(Err(error)) => error,
        Err(panic) => JobError::new("panic", format!("The handler panicked: {panic}")),
    };
    if error.retryable.is_none() {
        error.retryable = Some(config.retry_on_exception);
        error.retry_after = Some(Duration::from_secs(config.retry_backoff_seconds));
    }
    Outcome::Failed(error)
}

/// Renews until it is dropped. What could not be renewed by the end of the lease is lost, although nobody said so.
async fn keep(config: WorkerConfig, job: Job) {
    // The claim may have waited long at the server, so the lease is counted from its answer; what the answer took on
    // its way is little, and the server's fence does not depend on this clock.
    let mut ends_at = Instant::now() + config.lease();
    let mut wait = config.renew_in(rand::random());
    loop {
        sleep(wait).await;
        let now = Instant::now();
        let renewal = job.client().heartbeat(job.number(), job.lease(), config.lease_seconds);
        let left = ends_at.saturating_duration_since(now);
        let answer = tokio::time::timeout(left, renewal).await;
        match answer.map(|answer| job.heard(answer)) {
            Ok(Ok(held)) => {
                ends_at = now + config.lease();
                wait = config.renew_in(rand::random());
                if held.cancel_requested {
                    job.cancel();
                }
            }
            Ok(Err(error)) if error.is_lost() => return,
            Ok(Err(error)) => {
                tracing::warn!(job = job.number(), %error, "the lease cannot be renewed yet");
                wait = Duration::from_secs(1).min(config.lease() / 8);
            }
            Err(_) => wait = Duration::ZERO,
        }
        if Instant::now() >= ends_at {
            return job.lose();
        }
    }
}

async fn send_log(job: Job) {
    loop {
        sleep(LOG_EVERY).await;
        job.send_log().await;
    }
}

/// Sends the result until it is heard, with the same token each time. A lease that ran out is still ours until
/// somebody takes the job; a whole lease later somebody has.
async fn report(config: &WorkerConfig, job: &Job, mut outcome: Outcome) {
    let give_up_at = Instant::now() + config.lease() * 2;
    let mut pause = Duration::from_millis(100);
    while !job.is_lost() {
        let (number, lease, client) = (job.number(), job.lease(), job.client());
        let answer = match &outcome {
            Outcome::Done(result) => client.complete(number, lease, result).await,
            Outcome::Failed(error) => client.fail(number, lease, error).await,
            Outcome::Cancelled => client.cancelled(number, lease).await,
            Outcome::HandedBack => client.release(number, lease).await,
        };
        match job.heard(answer) {
            Ok(_) => return,
            Err(error) if error.is_lost() => break,
            Err(error) if error.is_passing() && Instant::now() < give_up_at => {
                tracing::warn!(job = number, %error, "the result cannot be delivered yet");
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(Error::Refused { code, detail, .. }) if matches!(outcome, Outcome::Done(_)) => {
                // The server does not take this result, and would not take it after another attempt either.
                outcome = Outcome::Failed(
                    JobError::new(code.to_lowercase(), detail).class("validation_error").permanent(),
                );
            }
            Err(error) => return tracing::error!(job = number, %error, "the result is dropped"),
        }
    }
    tracing::warn!(job = job.number(), "the lease is no longer ours; the result was refused");
}
