//! What became of jobs that were asked for.

use crate::{
    api::words::{JobState, Moment},
    problem,
};
use leasehold_queue::{engine::Enqueued, params::HowCreated};
use leasehold_types::{JobId, JobStatus, Problem, TenantId, Timestamp};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The job a request came to.
#[derive(Serialize, ToSchema)]
#[schema(as = EnqueuedJob)]
pub struct EnqueuedOne {
    #[schema(value_type = Uuid)]
    id: JobId,
    number: i64,
    #[schema(value_type = Uuid)]
    tenant_id: TenantId,
    #[schema(value_type = JobState)]
    status: JobStatus,
    definition_key: String,
    #[schema(value_type = Moment)]
    queued_at: Timestamp,
    /// False: it existed already.
    created: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
}

/// Why there is no new job.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The idempotency key was used before with the same payload.
    Idempotent,
    /// A job that waits or runs holds the dedupe key.
    Deduplicated,
}

impl EnqueuedOne {
    pub fn new(tenant_id: TenantId, made: &Enqueued) -> Self {
        Self {
            id: made.job.id,
            number: made.job.number,
            tenant_id,
            status: made.job.status,
            definition_key: made.definition_key.clone(),
            queued_at: made.job.queued_at,
            created: made.is_new(),
            reason: match made.job.how {
                HowCreated::Inserted => None,
                HowCreated::Replayed => Some(Reason::Idempotent),
                HowCreated::Deduplicated => Some(Reason::Deduplicated),
            },
        }
    }
}

/// An answer for each job, in the order they were asked for.
#[derive(Serialize, ToSchema)]
#[schema(as = EnqueuedJobs)]
pub struct EnqueuedMany {
    jobs: Vec<EnqueuedItem>,
    /// How many are new.
    pub created: usize,
    /// How many were turned away by a key or a limit.
    refused: usize,
}

/// Either the job or what stood in its way.
#[derive(Serialize, ToSchema)]
#[schema(as = EnqueuedItem)]
struct EnqueuedItem {
    #[serde(flatten)]
    job: Option<EnqueuedOne>,
    /// A problem as it would have been answered to this job alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<crate::api::words::ProblemShape>)]
    problem: Option<Value>,
}

impl EnqueuedMany {
    pub fn new(tenant: TenantId, made: Vec<Result<Enqueued, Problem>>) -> Self {
        let created = made.iter().flatten().filter(|made| made.is_new()).count();
        let refused = made.iter().filter(|made| made.is_err()).count();
        let item = |made: Result<Enqueued, Problem>| match made {
            Ok(made) => EnqueuedItem { job: Some(EnqueuedOne::new(tenant, &made)), problem: None },
            Err(refused) => EnqueuedItem { job: None, problem: Some(problem::body(&refused)) },
        };
        Self { jobs: made.into_iter().map(item).collect(), created, refused }
    }
}
