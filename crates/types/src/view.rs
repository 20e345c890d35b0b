//! What pages and the API show. Stores fill these; nothing here is written back.

mod bulk;
mod diagnosis;

use crate::{
    AttachmentId, AttemptOutcome, DefinitionId, DefinitionLimits, JobId, JobStatus, KeyId, LogStream, Role,
    Source, Stage, TenantId, TenantLimits, Timestamp, UserId,
};
pub use bulk::{BulkGroup, BulkOperation, BulkSkip, BulkState};
pub use diagnosis::{Cause, Delay, Diagnosis, DiagnosisFacts, LimitReached};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One line of the jobs table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct JobRow {
    pub number: i64,
    pub id: JobId,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub source: Source,
    pub status: JobStatus,
    pub priority: i32,
    /// How often it was taken; attempts are numbered with it.
    pub attempt_count: i32,
    /// Of `max_attempts`: those handed back do not count, nor those before it was last requeued.
    pub attempts_used: i32,
    pub max_attempts: i32,
    pub created_at: Timestamp,
    pub available_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    pub acquired_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// Who holds it.
    pub worker_id: Option<String>,
    /// Who ran it last and when; stays after its end.
    pub last_run: Option<LastRun>,
    pub stage: Option<String>,
    pub progress: i16,
    pub progress_message: Option<String>,
    pub error_code: Option<String>,
    pub cancel_requested_at: Option<Timestamp>,
}

/// The newest attempt, as lists show it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LastRun {
    pub worker_id: String,
    pub started_at: Timestamp,
    /// None while it runs.
    pub finished_at: Option<Timestamp>,
}

/// One job with everything its page shows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct JobDetail {
    pub row: JobRow,
    pub tenant_id: TenantId,
    pub definition_key: Option<String>,
    pub owner_user_id: Option<String>,
    pub project_id: Option<i64>,
    pub stages: Vec<Stage>,
    pub payload: Value,
    pub result: Option<Value>,
    /// What its caller wants to find with it again.
    pub metadata: Value,
    pub requested_by: String,
    pub source_ref: Option<String>,
    pub trace_id: String,
    pub request_id: Option<String>,
    pub correlation_id: Option<String>,
    pub dedupe_key: Option<String>,
    pub concurrency_key: Option<String>,
    pub parent: Option<JobLink>,
    pub children: Vec<JobLink>,
    pub queued_at: Timestamp,
    pub updated_at: Timestamp,
    pub cancelled_at: Option<Timestamp>,
    pub leased_until: Option<Timestamp>,
    /// It runs on a worker that is not heard of.
    #[serde(default)]
    pub silent: Option<Silence>,
    pub error_class: Option<String>,
    pub error_message: Option<String>,
    pub error_stack: Option<String>,
    pub cancellation_reason: Option<String>,
    pub cancelled_by: Option<String>,
    pub quarantined_at: Option<Timestamp>,
    pub failure_timeline: Vec<FailureMark>,
    /// Oldest first; the running one, if any, is last.
    pub attempts: Vec<AttemptView>,
    pub trail: Vec<TrailEntry>,
    /// The moment this view was read, so that a page can count from it.
    pub now: Timestamp,
    /// The newest event this view already contains; live readers resume after it.
    pub cursor: i64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct JobLink {
    pub number: i64,
    pub status: JobStatus,
}

/// An entry of the failure timeline: when, why, and how long the retry waits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FailureMark {
    pub ts: Timestamp,
    pub error_code: Option<String>,
    /// Seconds until the next attempt; none when there was no next attempt.
    pub retry_backoff: Option<f64>,
}

impl FailureMark {
    pub fn retry_at(&self) -> Option<Timestamp> {
        let seconds = self.retry_backoff.filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
        Some(Timestamp::from_micros(self.ts.micros().saturating_add((seconds * 1e6) as i64)))
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AttemptView {
    pub attempt: i32,
    pub outcome: AttemptOutcome,
    pub worker_id: String,
    pub pid: Option<i32>,
    pub started_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub exit_code: Option<i32>,
    pub error_code: Option<String>,
    pub error_text: Option<String>,
    /// Where it failed, as the worker told it.
    #[serde(default)]
    pub error_stack: Option<String>,
    pub stdout_tail: Option<String>,
    pub stderr_tail: Option<String>,
    /// The stages it went through, in order.
    #[serde(default)]
    pub stages: Vec<StageMark>,
    /// The newest lines kept of this attempt, oldest first.
    pub logs: Vec<LogLine>,
}

/// An attempt came to a stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StageMark {
    pub attempt: i32,
    pub stage: String,
    pub at: Timestamp,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LogLine {
    /// Counts within one attempt.
    pub seq: i64,
    pub at: Timestamp,
    pub stream: LogStream,
    pub text: String,
}

/// A file a job left behind, without its bytes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AttachmentView {
    pub id: AttachmentId,
    /// The job's.
    pub number: i64,
    /// One of its kind in the job.
    pub name: String,
    pub content_type: String,
    /// In bytes.
    pub size: i64,
    /// Of the bytes, in hex.
    pub sha256: String,
    /// The attempt that wrote it.
    pub attempt: i32,
    pub created_at: Timestamp,
}

/// A file with a link that works for a while.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LinkedAttachment {
    pub file: AttachmentView,
    /// The path and query on this installation; whoever has it may fetch the file.
    pub path: String,
    pub expires_at: Timestamp,
}

/// Who did what to a job, and why.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrailEntry {
    pub at: Timestamp,
    pub actor: String,
    pub action: String,
    pub reason: Option<String>,
}

/// One queue of one tenant, as a card on the overview.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct QueueCard {
    pub domain: String,
    pub queue: String,
    /// Ready now.
    pub queued: i64,
    /// Waiting for a time: scheduled, or a retry.
    pub scheduled: i64,
    /// At least that many: counting stopped there, and what is beyond it stands among `queued`.
    pub scheduled_capped: bool,
    pub running: i64,
    pub completed: i64,
    pub failed: i64,
    pub dead_letter: i64,
    pub quarantined: i64,
    pub cancelled: i64,
    pub oldest_queued_at: Option<Timestamp>,
    pub paused: bool,
    pub draining: bool,
    /// No live worker serves this queue although jobs wait.
    pub unserved: bool,
    /// Finished and failed jobs per five seconds over the last five minutes, oldest first.
    pub finished_per_slot: Vec<u32>,
    pub failed_per_slot: Vec<u32>,
}

/// The overview of one tenant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Overview {
    pub cards: Vec<QueueCard>,
    pub recent_failures: Vec<JobRow>,
    pub running: Vec<JobRow>,
    pub workers_live: i64,
    pub now: Timestamp,
    pub cursor: i64,
}

/// A page of the jobs table, with the cursor live readers resume from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct JobsPage {
    pub rows: Vec<JobRow>,
    pub next: Option<i64>,
    /// How many match, counted up to a cap.
    pub matching: CappedCount,
    pub now: Timestamp,
    pub cursor: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CappedCount {
    pub count: i64,
    pub capped: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tenant {
    pub id: TenantId,
    pub slug: String,
    pub name: String,
    pub timezone: String,
    #[serde(default)]
    pub limits: TenantLimits,
    pub created_at: Timestamp,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub email: String,
    pub name: String,
    pub super_admin: bool,
    pub created_at: Timestamp,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Membership {
    pub tenant: Tenant,
    pub role: Role,
}

/// An API key without its secret.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ApiKey {
    pub id: KeyId,
    /// None: the installation's, for every tenant.
    pub tenant_id: Option<TenantId>,
    pub name: String,
    pub prefix: String,
    pub scopes: Vec<String>,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

/// The policy of one kind of job.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Definition {
    pub id: DefinitionId,
    pub key: String,
    pub description: String,
    pub domain: String,
    pub job_type: String,
    pub queue: String,
    /// `command`, `builtin` or `remote`.
    pub executor: String,
    pub arg_schema: Value,
    pub timeout_seconds: i32,
    pub max_attempts: i32,
    pub retry: RetryPolicy,
    pub stages: Vec<Stage>,
    #[serde(default)]
    pub limits: DefinitionLimits,
    pub is_active: bool,
}

/// How failures of one kind of job are retried.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct RetryPolicy {
    pub base_seconds: f64,
    pub cap_seconds: f64,
    pub jitter: Jitter,
    /// When not empty, only these classes are retried.
    pub retryable_classes: Vec<String>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { base_seconds: 2.0, cap_seconds: 30.0, jitter: Jitter::Full, retryable_classes: vec![] }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jitter {
    None,
    #[default]
    Full,
    Decorrelated,
}

/// A worker as the dashboard lists it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WorkerView {
    pub worker_id: String,
    pub hostname: String,
    pub version: String,
    pub queues: Vec<String>,
    pub commands: Vec<String>,
    pub running_count: i32,
    pub started_at: Timestamp,
    pub last_seen_at: Timestamp,
    /// What it tells of itself: `kind`, `pid`, `concurrency`, `reduced`, …
    #[serde(default)]
    pub metadata: Value,
    /// Three beats were missed.
    pub stale: bool,
    /// Then it says for how long, and what becomes of its jobs.
    #[serde(default)]
    pub silent: Option<Silence>,
}

/// The workers heard of lately, the newest sign of life first: as many as were asked for, and how many there are.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct WorkerList {
    pub workers: Vec<WorkerView>,
    pub live: i64,
    pub stale: i64,
}

/// A worker that is not heard of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Silence {
    /// The last sign of life.
    pub since: Timestamp,
    pub seconds: i64,
    /// Until the last of its leases ends; none when it holds nothing.
    pub lease_left_seconds: Option<i64>,
    /// All of it in one sentence.
    pub text: String,
}
