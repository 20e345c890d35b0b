//! Workers over HTTP: claim → heartbeat, progress, logs → complete, fail or release.
//!
//! A worker is known by its key and the name it gives itself, so that no key can speak for another's worker. Every
//! request after the claim shows the lease in its body.

mod delivery;
mod dispatcher;
mod files;
mod presence;
mod reports;
mod requests;
mod waiting;

use super::{Answer, Api, Body, JobParam, JobPath, Refusal, openapi::guarded};
use crate::auth::api_key::{Entered, KeyScope};
use axum::{Json, extract::State};
use dispatcher::Dispatcher;
use leasehold_queue::transition::Ending;
use presence::Presence;
use reports::{
    Cancelled, Checkpoint, Complete, Ended, Fail, Heartbeat, Logs, Progress, Release, StillHeld, Written,
};
use requests::{Claim, Claimed};
use std::{sync::Arc, time::Duration};
use utoipa_axum::{router::OpenApiRouter, routes};

#[derive(Clone)]
struct Workers {
    api: Api,
    roll: Arc<Presence>,
    dispatcher: Arc<Dispatcher>,
}

impl Workers {
    fn new(api: &Api) -> Self {
        let roll = Arc::new(Presence::new(api.engine.clone()));
        let dispatcher = Dispatcher::new(api.engine.clone(), api.ending.clone(), roll.clone());
        Self { api: api.clone(), roll, dispatcher: Arc::new(dispatcher) }
    }
}

pub fn routes(api: &Api) -> OpenApiRouter {
    let protocol = OpenApiRouter::new()
        .routes(routes!(claim))
        .routes(routes!(heartbeat))
        .routes(routes!(progress))
        .routes(routes!(logs))
        .routes(routes!(checkpoint))
        .routes(routes!(files::list, files::add))
        .routes(routes!(complete))
        .routes(routes!(fail))
        .routes(routes!(cancelled))
        .routes(routes!(release));
    guarded(protocol, api, KeyScope::Worker).with_state(Workers::new(api))
}

/// Claim jobs
///
/// Waits up to `wait_seconds` for one; an empty list says that there was none. Who waits longest is served first. A key
/// may have only so many workers, and only so many claims waiting: beyond that the answer is 429.
#[utoipa::path(
    post, path = "/jobs/claim", operation_id = "claim_jobs", tag = "worker", request_body = Claim,
    responses((status = 200, body = Claimed), Refusal)
)]
async fn claim(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    Body(body): Body<Claim>,
) -> Answer<Claimed> {
    let engine = &workers.api.engine;
    let (name, asked, patience) = body.checked(&scope, engine.config())?;
    workers.roll.admit(&scope, &asked).await?;
    let handed = workers.dispatcher.claim(&scope, asked, patience).await?;
    let definitions = engine.definitions().await?;
    Ok(Json(Claimed::new(name, handed.take(), &definitions)))
}

/// Renew a job’s lease
///
/// Send it at least every third of `lease_seconds`. The answer says when somebody wants the job to stop.
#[utoipa::path(
    post, path = "/jobs/{id}/heartbeat", operation_id = "heartbeat_job", tag = "worker", request_body = Heartbeat,
    params(JobParam),
    responses((status = 200, body = StillHeld), Refusal)
)]
async fn heartbeat(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Heartbeat>,
) -> Answer<StillHeld> {
    let engine = &workers.api.engine;
    let (held, extend_by) = (body.held(&scope, job)?, body.extend_by(engine.config())?);
    let renewed = engine.remote_renew(&scope, &held, extend_by, None).await?;
    workers.roll.seen(&[held.worker]);
    Ok(Json(renewed.into()))
}

/// Report progress
///
/// It never goes back, over attempts too.
#[utoipa::path(
    post, path = "/jobs/{id}/progress", operation_id = "report_progress", tag = "worker", request_body = Progress,
    params(JobParam),
    responses((status = 200, body = StillHeld), Refusal)
)]
async fn progress(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Progress>,
) -> Answer<StillHeld> {
    let engine = &workers.api.engine;
    let held = body.held(&scope, job)?;
    let report = body.report()?;
    let renewed = engine.remote_renew(&scope, &held, Duration::ZERO, Some(report)).await?;
    workers.roll.seen(&[held.worker]);
    Ok(Json(renewed.into()))
}

/// Append log lines
///
/// A line sent twice (the same `seq`) is kept once.
#[utoipa::path(
    post, path = "/jobs/{id}/logs", operation_id = "append_log_lines", tag = "worker", request_body = Logs,
    params(JobParam),
    responses((status = 200, body = Written), Refusal)
)]
async fn logs(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Logs>,
) -> Answer<Written> {
    let engine = &workers.api.engine;
    let held = body.held(&scope, job)?;
    let written = engine.remote_logs(&scope, &held, body.lines(engine.now())?).await?;
    Ok(Json(written.into()))
}

/// Keep a checkpoint
///
/// It replaces the one before. The claim of the next attempt brings it.
#[utoipa::path(
    post, path = "/jobs/{id}/checkpoint", operation_id = "checkpoint_job", tag = "worker", request_body = Checkpoint,
    params(JobParam),
    responses((status = 200, body = StillHeld), Refusal)
)]
async fn checkpoint(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Checkpoint>,
) -> Answer<StillHeld> {
    let held = body.held(&scope, job)?;
    let renewed = workers.api.engine.remote_checkpoint(&scope, &held, body.value()).await?;
    workers.roll.seen(&[held.worker]);
    Ok(Json(renewed.into()))
}

/// Complete a job
///
/// What is done is done, also when it was asked to stop meanwhile. Repeated with the same `completion_token` it has no further effect.
#[utoipa::path(
    post, path = "/jobs/{id}/complete", operation_id = "complete_job", tag = "worker", request_body = Complete,
    params(JobParam),
    responses((status = 200, body = Ended), Refusal)
)]
async fn complete(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Complete>,
) -> Answer<Ended> {
    let held = body.held(&scope, job)?;
    let (ending, result, token) = body.parts()?;
    Ok(Json(workers.api.engine.remote_finish(&scope, &held, ending, result, token).await?.into()))
}

/// Report a failure
///
/// The job goes back to the queue, or ends, as its definition says. One that was asked to stop ends as cancelled.
#[utoipa::path(
    post, path = "/jobs/{id}/fail", operation_id = "fail_job", tag = "worker", request_body = Fail,
    params(JobParam),
    responses((status = 200, body = Ended), Refusal)
)]
async fn fail(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Fail>,
) -> Answer<Ended> {
    let held = body.held(&scope, job)?;
    let (ending, token) = body.parts()?;
    Ok(Json(workers.api.engine.remote_finish(&scope, &held, ending, None, token).await?.into()))
}

/// Acknowledge a cancellation
///
/// Only when `cancel_requested` was true; else 409 `WRONG_STATE`.
#[utoipa::path(
    post, path = "/jobs/{id}/cancelled", operation_id = "acknowledge_cancel", tag = "worker", request_body = Cancelled,
    params(JobParam),
    responses((status = 200, body = Ended), Refusal)
)]
async fn cancelled(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Cancelled>,
) -> Answer<Ended> {
    let held = body.held(&scope, job)?;
    let (ending, token) = body.parts()?;
    Ok(Json(workers.api.engine.remote_finish(&scope, &held, ending, None, token).await?.into()))
}

/// Release a job
///
/// It goes back to its queue unfinished, for any worker to claim.
#[utoipa::path(
    post, path = "/jobs/{id}/release", operation_id = "release_job", tag = "worker", request_body = Release,
    params(JobParam),
    responses((status = 200, body = Ended), Refusal)
)]
async fn release(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<Release>,
) -> Answer<Ended> {
    let held = body.held(&scope, job)?;
    let ending = Ending::Released;
    Ok(Json(workers.api.engine.remote_finish(&scope, &held, ending, None, None).await?.into()))
}
