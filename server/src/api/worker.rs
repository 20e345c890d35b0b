//! Workers over HTTP: claim → heartbeat, progress, logs → complete, fail or release.
//!
//! A worker is known by its key and the name it gives itself, so that no key can speak for another's worker. Every
//! request after the claim shows the lease in its body.

mod asking;
mod poll;
mod reporting;
mod roll;

use super::{Answer, Api, Body, JobParam, JobPath, Refusal, openapi::guarded};
use crate::auth::api_key::{Entered, KeyScope};
use asking::{Claim, Claimed};
use axum::{Json, extract::State};
use leasehold_queue::transition::Ending;
use poll::Waiting;
use reporting::{Complete, Ended, Fail, Heartbeat, Logs, Progress, Release, StillHeld, Written};
use roll::Roll;
use std::{sync::Arc, time::Duration};
use utoipa_axum::{router::OpenApiRouter, routes};

#[derive(Clone)]
struct Workers {
    api: Api,
    roll: Arc<Roll>,
    waiting: Arc<Waiting>,
}

pub fn routes(api: &Api) -> OpenApiRouter {
    let protocol = OpenApiRouter::new()
        .routes(routes!(claim))
        .routes(routes!(heartbeat))
        .routes(routes!(progress))
        .routes(routes!(logs))
        .routes(routes!(complete))
        .routes(routes!(fail))
        .routes(routes!(release));
    let workers = Workers { api: api.clone(), roll: Arc::default(), waiting: Arc::default() };
    guarded(protocol, api, KeyScope::Worker).with_state(workers)
}

/// Claim jobs
///
/// Waits up to `wait_seconds` for one; an empty list says that there was none.
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
    let jobs = poll::claim(&workers, scope, asked, patience).await?;
    let definitions = engine.definitions().await?;
    Ok(Json(Claimed::new(name, jobs, &definitions)))
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
    workers.roll.seen(engine, &held.worker).await;
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
    workers.roll.seen(engine, &held.worker).await;
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

/// Complete a job
///
/// Repeated with the same `completion_token` it has no further effect.
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
/// The job goes back to the queue, or ends, as its definition says.
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
