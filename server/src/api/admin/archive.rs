//! What the archive keeps of a job that was pruned.

use crate::{
    api::{
        Answer, Api, Query, Refusal,
        schemas::{JobState, Moment},
    },
    auth::api_key::Entered,
};
use axum::{Json, extract::State};
use leasehold_queue::administration::ArchivedJob;
use leasehold_types::{JobId, JobRef, JobStatus, Problem, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Named {
    /// The number or id of the job.
    job_id: String,
}

/// What the archive keeps of a job that was removed.
#[derive(Serialize, ToSchema)]
#[schema(as = ArchivedJob)]
pub struct ArchiveMeta {
    number: i64,
    #[schema(value_type = Uuid)]
    id: JobId,
    domain: String,
    queue: String,
    job_type: String,
    #[schema(value_type = JobState)]
    status: JobStatus,
    #[schema(value_type = Moment)]
    archived_at: Timestamp,
    has_payload_json: bool,
    has_result_json: bool,
    has_payload_compressed: bool,
    has_result_compressed: bool,
}

impl From<ArchivedJob> for ArchiveMeta {
    fn from(kept: ArchivedJob) -> Self {
        Self {
            number: kept.number,
            id: kept.id,
            domain: kept.domain,
            queue: kept.queue,
            job_type: kept.job_type,
            status: kept.status,
            archived_at: kept.archived_at,
            has_payload_json: kept.has_payload,
            has_result_json: kept.has_result,
            // The archive keeps plain JSON only.
            has_payload_compressed: false,
            has_result_compressed: false,
        }
    }
}

/// Show an archived job
///
/// 404 for a job that was never archived.
#[utoipa::path(
    get, path = "/jobs/archive/meta", operation_id = "get_archived_job", tag = "operations", params(Named),
    responses((status = 200, body = ArchiveMeta), Refusal)
)]
pub async fn meta(
    State(api): State<Api>,
    Entered(scope): Entered,
    Query(named): Query<Named>,
) -> Answer<ArchiveMeta> {
    let job: JobRef = named.job_id.parse().map_err(|()| Problem::not_found("This job"))?;
    Ok(Json(api.engine.archived_job(&scope, job).await?.into()))
}
