//! Jobs as the API shows them.

mod enqueued;
mod parts;

use super::list::Asked;
use crate::api::schemas::{Anything, JobState, Moment, SilenceView, SourceWord, StageShape};
pub use enqueued::{EnqueuedMany, EnqueuedOne};
use leasehold_types::{
    JobId, JobStatus, Source, Stage, TenantId, Timestamp,
    browse::{BrowsedJob, BrowsedJobs, Mark},
    view::{FailureMark, JobDetail, JobLink, JobRow},
};
pub use parts::{Attempts, Cancelled, DiagnosisView, LogLines, Retried, UnitsPage};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A job as lists show it.
#[derive(Serialize, ToSchema)]
pub struct Job {
    #[schema(value_type = Uuid)]
    id: JobId,
    number: i64,
    #[schema(value_type = Uuid)]
    tenant_id: TenantId,
    definition_key: Option<String>,
    domain: String,
    queue: String,
    job_type: String,
    #[schema(value_type = SourceWord)]
    source: Source,
    #[schema(value_type = JobState)]
    status: JobStatus,
    priority: i32,
    owner_user_id: Option<String>,
    correlation_id: Option<String>,
    /// How often it was claimed; attempts are numbered with it.
    attempt_count: i32,
    /// Of `max_attempts`: released attempts do not count, nor those before the job was last requeued.
    attempts_used: i32,
    max_attempts: i32,
    #[schema(value_type = Moment)]
    created_at: Timestamp,
    /// Not before this moment: it was scheduled, or a retry waits.
    #[schema(value_type = Option<Moment>)]
    scheduled_for: Option<Timestamp>,
    /// When it began for the first time.
    #[schema(value_type = Option<Moment>)]
    started_at: Option<Timestamp>,
    /// When its running attempt began.
    #[schema(value_type = Option<Moment>)]
    acquired_at: Option<Timestamp>,
    #[schema(value_type = Option<Moment>)]
    completed_at: Option<Timestamp>,
    /// Who holds it now.
    worker_id: Option<String>,
    /// Who ran it last; stays after its end.
    last_worker_id: Option<String>,
    stage: Option<String>,
    #[schema(minimum = 0, maximum = 100)]
    progress_percent: i16,
    progress_message: Option<String>,
    error_code: Option<String>,
    #[schema(value_type = Option<Moment>)]
    cancel_requested_at: Option<Timestamp>,
}

impl From<BrowsedJob> for Job {
    fn from(job: BrowsedJob) -> Self {
        let BrowsedJob { row, tenant_id, definition_key, owner_user_id, correlation_id } = job;
        let JobRow { number, id, domain, queue, job_type, source, status, priority, .. } = row;
        Self {
            id,
            number,
            tenant_id,
            definition_key,
            domain,
            queue,
            job_type,
            source,
            status,
            priority,
            owner_user_id,
            correlation_id,
            attempt_count: row.attempt_count,
            attempts_used: row.attempts_used,
            max_attempts: row.max_attempts,
            created_at: row.created_at,
            scheduled_for: row.available_at,
            started_at: row.started_at,
            acquired_at: row.acquired_at,
            completed_at: row.completed_at,
            worker_id: row.worker_id,
            last_worker_id: row.last_run.map(|run| run.worker_id),
            stage: row.stage,
            progress_percent: row.progress,
            progress_message: row.progress_message,
            error_code: row.error_code,
            cancel_requested_at: row.cancel_requested_at,
        }
    }
}

/// One page of a list of jobs.
#[derive(Serialize, ToSchema)]
#[schema(as = Jobs)]
pub struct JobsView {
    jobs: Vec<Job>,
    /// Give it as `cursor` for the next page; none on the last one.
    next_cursor: Option<String>,
    /// How many match.
    total: i64,
    /// There are more than `total`; nobody counted further.
    total_is_capped: bool,
    limit: u32,
    offset: u32,
}

impl JobsView {
    pub fn new(asked: &Asked, found: BrowsedJobs) -> Self {
        let last = found.jobs.last().filter(|_| found.more);
        Self {
            next_cursor: last.map(|job| asked.next(Mark::of(&job.row))),
            total: found.matching.count,
            total_is_capped: found.matching.capped,
            limit: asked.page.limit,
            offset: asked.page.skip,
            jobs: found.jobs.into_iter().map(Into::into).collect(),
        }
    }
}

/// One job with everything about it but its log.
#[derive(Serialize, ToSchema)]
#[schema(as = JobDetail)]
pub struct JobView {
    #[serde(flatten)]
    job: Job,
    #[schema(value_type = Anything)]
    payload: Value,
    #[schema(value_type = Anything, required = false)]
    result: Option<Value>,
    /// What its caller wants to find with it again.
    #[schema(value_type = Anything)]
    metadata: Value,
    requested_by: String,
    source_ref: Option<String>,
    project_id: Option<i64>,
    trace_id: String,
    request_id: Option<String>,
    dedupe_key: Option<String>,
    concurrency_key: Option<String>,
    parent: Option<Link>,
    children: Vec<Link>,
    #[schema(value_type = Vec<StageShape>)]
    stages: Vec<Stage>,
    #[schema(value_type = Moment)]
    queued_at: Timestamp,
    #[schema(value_type = Moment)]
    updated_at: Timestamp,
    #[schema(value_type = Option<Moment>)]
    leased_until: Option<Timestamp>,
    /// It runs on a worker that is not heard of.
    silent: Option<SilenceView>,
    error_class: Option<String>,
    error_message: Option<String>,
    error_stack: Option<String>,
    #[schema(value_type = Option<Moment>)]
    cancelled_at: Option<Timestamp>,
    cancellation_reason: Option<String>,
    cancelled_by: Option<String>,
    #[schema(value_type = Option<Moment>)]
    quarantined_at: Option<Timestamp>,
    failure_timeline: Vec<Failure>,
    /// The newest event this view already contains: follow the events after it.
    event_cursor: i64,
}

/// Another job, and the state it is in.
#[derive(Serialize, ToSchema)]
#[schema(as = JobLink)]
pub struct Link {
    number: i64,
    #[schema(value_type = JobState)]
    status: JobStatus,
}

impl From<JobLink> for Link {
    fn from(link: JobLink) -> Self {
        Self { number: link.number, status: link.status }
    }
}

/// One failed attempt.
#[derive(Serialize, ToSchema)]
#[schema(as = FailureMark)]
pub struct Failure {
    #[schema(value_type = Moment)]
    ts: Timestamp,
    error_code: Option<String>,
    /// Seconds until the next attempt; none when there was no next attempt.
    retry_backoff: Option<f64>,
}

impl From<FailureMark> for Failure {
    fn from(mark: FailureMark) -> Self {
        Self { ts: mark.ts, error_code: mark.error_code, retry_backoff: mark.retry_backoff }
    }
}

impl From<JobDetail> for JobView {
    fn from(detail: JobDetail) -> Self {
        Self {
            job: Job::from(BrowsedJob {
                row: detail.row,
                tenant_id: detail.tenant_id,
                definition_key: detail.definition_key,
                owner_user_id: detail.owner_user_id,
                correlation_id: detail.correlation_id,
            }),
            payload: detail.payload,
            result: detail.result,
            metadata: detail.metadata,
            requested_by: detail.requested_by,
            source_ref: detail.source_ref,
            project_id: detail.project_id,
            trace_id: detail.trace_id,
            request_id: detail.request_id,
            dedupe_key: detail.dedupe_key,
            concurrency_key: detail.concurrency_key,
            parent: detail.parent.map(Into::into),
            children: detail.children.into_iter().map(Into::into).collect(),
            stages: detail.stages,
            queued_at: detail.queued_at,
            updated_at: detail.updated_at,
            cancelled_at: detail.cancelled_at,
            leased_until: detail.leased_until,
            silent: detail.silent.map(Into::into),
            error_class: detail.error_class,
            error_message: detail.error_message,
            error_stack: detail.error_stack,
            cancellation_reason: detail.cancellation_reason,
            cancelled_by: detail.cancelled_by,
            quarantined_at: detail.quarantined_at,
            failure_timeline: detail.failure_timeline.into_iter().map(Into::into).collect(),
            event_cursor: detail.cursor,
        }
    }
}
