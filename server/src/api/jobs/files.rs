//! Files of jobs.

use crate::{
    api::{Answer, Api, Body, JobParam, JobPath, QueryPairs, Refusal, schemas::Moment},
    auth::api_key::Entered,
};
use axum::{Json, extract::State, http::StatusCode};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use leasehold_queue::attachments::NewAttachment;
use leasehold_types::{AttachmentId, Problem, Timestamp, view::LinkedAttachment};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// List a job’s files
///
/// By name. Whoever has a file's `url` may fetch it for a while, without a key.
#[utoipa::path(
    get, path = "/jobs/{id}/attachments", operation_id = "list_attachments", tag = "jobs",
    params(JobParam),
    responses((status = 200, body = Files), Refusal)
)]
pub async fn list(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    pairs: QueryPairs,
) -> Answer<Files> {
    pairs.nothing_else()?;
    api.engine.find_job(&scope, job).await?;
    let files = api.engine.attachments(&scope, job).await?;
    Ok(Json(files.into()))
}

/// Add a file to a job
///
/// A file of the same name is replaced. Text is kept without the secrets in it.
#[utoipa::path(
    post, path = "/jobs/{id}/attachments", operation_id = "add_attachment", tag = "jobs", request_body = NewFile,
    params(JobParam),
    responses((status = 201, body = File), Refusal)
)]
pub async fn add(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    Body(body): Body<NewFile>,
) -> Result<(StatusCode, Json<File>), Refusal> {
    let kept = api.engine.keep_file(&scope, job, body.file()?).await?;
    Ok((StatusCode::CREATED, Json(api.engine.link(kept).await?.into())))
}

/// A file to be kept with a job.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewAttachment)]
#[serde(deny_unknown_fields)]
pub struct NewFile {
    #[schema(min_length = 1, max_length = 200, example = "notes.txt")]
    pub name: String,
    /// `text/plain` for text, `application/octet-stream` for bytes when left out.
    pub content_type: Option<String>,
    /// The content as it is; or give `base64`.
    pub text: Option<String>,
    /// The content as bytes.
    pub base64: Option<String>,
}

impl NewFile {
    pub fn file(self) -> Result<NewAttachment, Problem> {
        let (bytes, usual) = match (self.text, self.base64) {
            (Some(text), None) => (text.into_bytes(), "text/plain"),
            (None, Some(encoded)) => {
                let bytes = BASE64_STANDARD.decode(encoded.trim());
                let message = "This is not base64. Nothing was kept.";
                (bytes.map_err(|_| Problem::invalid("base64", message))?, "application/octet-stream")
            }
            _ => {
                let message = "Give the content either as text or as base64. Nothing was kept.";
                return Err(Problem::invalid("text", message));
            }
        };
        Ok(NewAttachment::new(self.name, self.content_type.unwrap_or_else(|| usual.to_owned()), bytes))
    }
}

/// The files of a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Attachments)]
pub struct Files {
    attachments: Vec<File>,
}

impl From<Vec<LinkedAttachment>> for Files {
    fn from(files: Vec<LinkedAttachment>) -> Self {
        Self { attachments: files.into_iter().map(Into::into).collect() }
    }
}

/// A file of a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Attachment)]
pub struct File {
    #[schema(value_type = Uuid)]
    id: AttachmentId,
    job_number: i64,
    name: String,
    content_type: String,
    /// In bytes.
    size: i64,
    sha256: String,
    /// The attempt that wrote it, or the last one before it came.
    attempt: i32,
    #[schema(value_type = Moment)]
    created_at: Timestamp,
    /// On this installation.
    url: String,
    #[schema(value_type = Moment)]
    url_expires_at: Timestamp,
}

impl From<LinkedAttachment> for File {
    fn from(linked: LinkedAttachment) -> Self {
        let file = linked.file;
        Self {
            id: file.id,
            job_number: file.number,
            name: file.name,
            content_type: file.content_type,
            size: file.size,
            sha256: file.sha256,
            attempt: file.attempt,
            created_at: file.created_at,
            url: linked.path,
            url_expires_at: linked.expires_at,
        }
    }
}
