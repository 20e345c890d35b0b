//! Parts of a job: attempts, log, diagnosis, units, and what became of steering it.

use crate::api::schemas::{JobState, Moment, OutcomeWord, StreamWord, UnitKindWord, UnitStateWord};
use leasehold_queue::params::CancelAnswer;
use leasehold_types::{
    AttemptOutcome, JobId, JobStatus, LogStream, Timestamp, UnitKind, UnitState,
    unit::UnitsView,
    view::{AttemptView, Diagnosis, JobDetail, LogLine},
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// The executions of a job.
#[derive(Serialize, ToSchema)]
pub struct Attempts {
    attempts: Vec<Attempt>,
}

/// One execution of a job.
#[derive(Serialize, ToSchema)]
pub struct Attempt {
    attempt: i32,
    #[schema(value_type = OutcomeWord)]
    status: AttemptOutcome,
    worker_id: String,
    pid: Option<i32>,
    #[schema(value_type = Moment)]
    started_at: Timestamp,
    #[schema(value_type = Option<Moment>)]
    finished_at: Option<Timestamp>,
    exit_code: Option<i32>,
    error_code: Option<String>,
    error_text: Option<String>,
    /// Where it failed, as its worker told it.
    error_stack: Option<String>,
    stdout_tail: Option<String>,
    stderr_tail: Option<String>,
    /// The stages it went through, in order.
    stages: Vec<StagePassed>,
}

/// A stage an attempt went through.
#[derive(Serialize, ToSchema)]
pub struct StagePassed {
    stage: String,
    /// When it was entered.
    #[schema(value_type = Moment)]
    started_at: Timestamp,
}

impl From<JobDetail> for Attempts {
    fn from(detail: JobDetail) -> Self {
        let attempt = |a: AttemptView| Attempt {
            attempt: a.attempt,
            status: a.outcome,
            worker_id: a.worker_id,
            pid: a.pid,
            started_at: a.started_at,
            finished_at: a.finished_at,
            exit_code: a.exit_code,
            error_code: a.error_code,
            error_text: a.error_text,
            error_stack: a.error_stack,
            stdout_tail: a.stdout_tail,
            stderr_tail: a.stderr_tail,
            stages: a
                .stages
                .into_iter()
                .map(|mark| StagePassed { stage: mark.stage, started_at: mark.at })
                .collect(),
        };
        Self { attempts: detail.attempts.into_iter().map(attempt).collect() }
    }
}

/// Lines of the log of one attempt.
#[derive(Serialize, ToSchema)]
pub struct LogLines {
    attempt: i32,
    lines: Vec<Line>,
    /// Give it as `after` to read on.
    next_after: i64,
}

/// One line of a log.
#[derive(Serialize, ToSchema)]
#[schema(as = LogLine)]
pub struct Line {
    seq: i64,
    #[schema(value_type = Moment)]
    at: Timestamp,
    #[schema(value_type = StreamWord)]
    stream: LogStream,
    text: String,
}

impl LogLines {
    pub fn new(attempt: i32, after: i64, lines: Vec<LogLine>) -> Self {
        let next_after = lines.last().map_or(after, |line| line.seq);
        let line = |line: LogLine| Line { seq: line.seq, at: line.at, stream: line.stream, text: line.text };
        Self { attempt, lines: lines.into_iter().map(line).collect(), next_after }
    }
}

/// Why a job is not running.
#[derive(Serialize, ToSchema)]
#[schema(as = Diagnosis)]
pub struct DiagnosisView {
    #[schema(value_type = JobState)]
    status: JobStatus,
    summary: String,
    causes: Vec<Cause>,
}

/// Something that keeps a job from running.
#[derive(Serialize, ToSchema)]
pub struct Cause {
    /// Stable: `scheduled`, `retry_wait`, `queue_paused`, `no_worker`, …
    code: String,
    text: String,
}

impl From<Diagnosis> for DiagnosisView {
    fn from(found: Diagnosis) -> Self {
        let causes = found.causes.into_iter().map(|cause| Cause { code: cause.code, text: cause.text });
        Self { status: found.status, summary: found.summary, causes: causes.collect() }
    }
}

/// The work units of a composite job.
#[derive(Serialize, ToSchema)]
#[schema(as = WorkUnits)]
pub struct UnitsPage {
    counts: Vec<UnitCount>,
    units: Vec<Unit>,
}

/// How many work units are in one state.
#[derive(Serialize, ToSchema)]
pub struct UnitCount {
    #[schema(value_type = UnitStateWord)]
    state: UnitState,
    units: i64,
}

/// One call or step of a composite job.
#[derive(Serialize, ToSchema)]
#[schema(as = WorkUnit)]
pub struct Unit {
    id: Uuid,
    seq: i64,
    name: String,
    #[schema(value_type = UnitKindWord)]
    kind: UnitKind,
    provider: Option<String>,
    #[schema(value_type = UnitStateWord)]
    state: UnitState,
    attempts: i32,
    #[schema(value_type = Option<Moment>)]
    available_at: Option<Timestamp>,
    #[schema(value_type = Option<Moment>)]
    started_at: Option<Timestamp>,
    #[schema(value_type = Option<Moment>)]
    finished_at: Option<Timestamp>,
    error_code: Option<String>,
    error_message: Option<String>,
}

impl From<UnitsView> for UnitsPage {
    fn from(view: UnitsView) -> Self {
        let units = view.rows.into_iter().map(|row| Unit {
            id: row.id,
            seq: row.seq,
            name: row.name,
            kind: row.kind,
            provider: row.provider,
            state: row.state,
            attempts: row.attempts,
            available_at: row.available_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            error_code: row.error_code,
            error_message: row.error_message,
        });
        let counts = view.counts.into_iter().map(|(state, units)| UnitCount { state, units });
        Self { counts: counts.collect(), units: units.collect() }
    }
}

/// What became of the wish to cancel.
#[derive(Serialize, ToSchema)]
#[schema(as = CancelledJob)]
pub struct Cancelled {
    #[schema(value_type = Uuid)]
    id: JobId,
    number: i64,
    #[schema(value_type = JobState)]
    status: JobStatus,
    outcome: CancelOutcome,
}

/// Whether the job is cancelled, or was asked to stop.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CancelOutcome {
    /// It was waiting and is cancelled now.
    Cancelled,
    /// It runs; the worker has been told.
    Requested,
}

impl Cancelled {
    pub fn new(answer: CancelAnswer, job: &JobDetail) -> Self {
        let outcome = match answer {
            CancelAnswer::Cancelled => CancelOutcome::Cancelled,
            CancelAnswer::Requested => CancelOutcome::Requested,
        };
        Self { id: job.row.id, number: job.row.number, status: job.row.status, outcome }
    }
}

/// The new job that repeats an old one.
#[derive(Serialize, ToSchema)]
#[schema(as = RetriedJob)]
pub struct Retried {
    #[schema(value_type = Uuid)]
    id: JobId,
    number: i64,
    #[schema(value_type = JobState)]
    status: JobStatus,
    definition_key: Option<String>,
    #[schema(value_type = Moment)]
    queued_at: Timestamp,
    #[schema(value_type = Uuid)]
    parent_job_id: JobId,
    parent_number: i64,
}

impl Retried {
    pub fn new(new: &JobDetail, old: &JobDetail) -> Self {
        Self {
            id: new.row.id,
            number: new.row.number,
            status: new.row.status,
            definition_key: new.definition_key.clone(),
            queued_at: new.queued_at,
            parent_job_id: old.row.id,
            parent_number: old.row.number,
        }
    }
}
