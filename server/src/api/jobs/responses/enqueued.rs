//! What became of jobs that were asked for.

use crate::{
    api::schemas::{JobState, Moment},
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
    /// False: it existed already, for one of the two reasons that follow.
    created: bool,
    /// The idempotency key was used before with the same payload.
    replayed: bool,
    /// A job that waits or runs holds the dedupe key.
    deduplicated: bool,
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
            replayed: made.job.how == HowCreated::Replayed,
            deduplicated: made.job.how == HowCreated::Deduplicated,
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
    /// How many were turned away.
    refused: usize,
}

/// Either the job or what stood in its way.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = EnqueuedItem)]
enum EnqueuedItem {
    Job(EnqueuedOne),
    Refused {
        /// As it would have been answered to this job alone.
        #[schema(value_type = crate::api::schemas::ProblemShape)]
        problem: Value,
    },
}

impl EnqueuedMany {
    pub fn new(tenant: TenantId, made: Vec<Result<Enqueued, Problem>>) -> Self {
        let created = made.iter().flatten().filter(|made| made.is_new()).count();
        let refused = made.iter().filter(|made| made.is_err()).count();
        let item = |made: Result<Enqueued, Problem>| match made {
            Ok(made) => EnqueuedItem::Job(EnqueuedOne::new(tenant, &made)),
            Err(refused) => EnqueuedItem::Refused { problem: problem::body(&refused) },
        };
        Self { jobs: made.into_iter().map(item).collect(), created, refused }
    }
}
