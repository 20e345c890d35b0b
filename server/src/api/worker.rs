//! Workers over HTTP: claim → heartbeat, progress, logs → complete, fail or release.
//!
//! A worker is known by its key and the name it gives itself, so that no key can speak for another's worker. Every
//! request after the claim shows the lease in its body.

mod asking;
mod poll;
mod reporting;
mod roll;

use super::{Answer, Api, Body, JobPath};
use crate::auth::api_key::{self, Entered, Entrance, KeyScope};
use asking::{Claim, Claimed};
use axum::{Json, Router, extract::State, middleware::from_fn_with_state, routing::post};
use leasehold_queue::transition::Ending;
use poll::Waiting;
use reporting::{Complete, Ended, Fail, Heartbeat, Logs, Progress, Release, StillHeld, Written};
use roll::Roll;
use std::{sync::Arc, time::Duration};

#[derive(Clone)]
struct Workers {
    api: Api,
    roll: Arc<Roll>,
    waiting: Arc<Waiting>,
}

pub fn routes(api: Api) -> Router {
    let entrance = Entrance { engine: api.engine.clone(), needs: KeyScope::Worker };
    Router::new()
        .route("/jobs/claim", post(claim))
        .route("/jobs/{id}/heartbeat", post(heartbeat))
        .route("/jobs/{id}/progress", post(progress))
        .route("/jobs/{id}/logs", post(logs))
        .route("/jobs/{id}/complete", post(complete))
        .route("/jobs/{id}/fail", post(fail))
        .route("/jobs/{id}/release", post(release))
        .layer(from_fn_with_state(entrance, api_key::enter))
        .with_state(Workers { api, roll: Arc::default(), waiting: Arc::default() })
}

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
