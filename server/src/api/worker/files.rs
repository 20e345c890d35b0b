//! Files of a job, for the worker that holds it.

use super::{
    Workers,
    requests::{check_name, full_name},
};
use crate::{
    api::{
        Answer, Body, JobParam, JobPath, Query, Refusal,
        jobs::files::{File, Files, NewFile},
    },
    auth::api_key::Entered,
};
use axum::{Json, extract::State, http::StatusCode};
use leasehold_queue::{Scope, attachments::NewAttachment, engine::Held};
use leasehold_types::{JobRef, LeaseId, Problem};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Lease {
    worker_id: String,
    #[param(value_type = Uuid)]
    lease_id: LeaseId,
}

/// A file to keep with the job, and the lease it is held under.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepFile {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    #[schema(min_length = 1, max_length = 200, example = "page-1.png")]
    name: String,
    /// `text/plain` for text, `application/octet-stream` for bytes when left out.
    content_type: Option<String>,
    /// The content as it is; or give `base64`.
    text: Option<String>,
    /// The content as bytes.
    base64: Option<String>,
}

impl KeepFile {
    fn file(self) -> Result<NewAttachment, Problem> {
        let Self { name, content_type, text, base64, .. } = self;
        NewFile { name, content_type, text, base64 }.file()
    }
}

fn held(scope: &Scope, job: JobRef, worker_id: &str, lease_id: LeaseId) -> Result<Held, Problem> {
    check_name(worker_id)?;
    Ok(Held { job, worker: full_name(scope, worker_id), lease_id })
}

/// The files of a job you hold
///
/// By name: what earlier attempts kept, and what came with the job. Whoever has a file's `url` may fetch it for a while,
/// without a key.
#[utoipa::path(
    get, path = "/jobs/{id}/attachments", operation_id = "list_held_attachments", tag = "worker",
    params(JobParam, Lease),
    responses((status = 200, body = Files), Refusal)
)]
pub async fn list(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Query(lease): Query<Lease>,
) -> Answer<Files> {
    let held = held(&scope, job, &lease.worker_id, lease.lease_id)?;
    Ok(Json(workers.api.engine.remote_attachments(&scope, &held).await?.into()))
}

/// Keep a file with a job you hold
///
/// A file of the same name is replaced, so that a repeated attempt leaves it once. Text is kept without the secrets in it.
#[utoipa::path(
    post, path = "/jobs/{id}/attachments", operation_id = "add_held_attachment", tag = "worker", request_body = KeepFile,
    params(JobParam),
    responses((status = 201, body = File), Refusal)
)]
pub async fn add(
    State(workers): State<Workers>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<KeepFile>,
) -> Result<(StatusCode, Json<File>), Refusal> {
    let held = held(&scope, job, &body.worker_id, body.lease_id)?;
    let kept = workers.api.engine.remote_attach(&scope, &held, body.file()?).await?;
    workers.roll.seen(&[held.worker]);
    Ok((StatusCode::CREATED, Json(kept.into())))
}
