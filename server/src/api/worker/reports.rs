//! What a worker reports on a job it holds, and what it hears back.

use super::requests::{check_name, full_name, lease};
use crate::api::schemas::{Anything, ErrorClassWord, JobState, Moment, StreamWord};
use leasehold_queue::{
    EngineConfig, Scope,
    engine::{Ended as EngineEnded, Held, KeptLines, Renewed},
    params::NewLogLine,
    progress::ProgressReport,
    transition::{Ending, Failure},
};
use leasehold_types::{ErrorClass, JobRef, JobStatus, LeaseId, LogStream, Problem, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use utoipa::ToSchema;

const MOST_LINES: usize = 1_000;
const LONGEST_TOKEN: usize = 200;
/// A week; the definition's own backoff has its own cap.
const LONGEST_RETRY: f64 = 7.0 * 86_400.0;

/// Each of these names its job in the address and shows the lease in the body.
macro_rules! shows_its_lease {
    ($($body:ty),+) => {$(
        impl $body {
            pub fn held(&self, scope: &Scope, job: JobRef) -> Result<Held, Problem> {
                check_name(&self.worker_id)?;
                Ok(Held { job, worker: full_name(scope, &self.worker_id), lease_id: self.lease_id })
            }
        }
    )+};
}

shows_its_lease!(Heartbeat, Progress, Logs, Checkpoint, Complete, Fail, Cancelled, Release);

/// The lease to be renewed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    lease_seconds: Option<u64>,
}

impl Heartbeat {
    pub fn extend_by(&self, config: &EngineConfig) -> Result<Duration, Problem> {
        lease(self.lease_seconds, config)
    }
}

/// How far a job has come.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ProgressReport)]
pub struct Progress {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    stage: Option<String>,
    percent: Option<f64>,
    message: Option<String>,
}

impl Progress {
    pub fn report(self) -> Result<ProgressReport, Problem> {
        let percent = match self.percent {
            Some(percent) if !(0.0..=100.0).contains(&percent) => {
                return Err(Problem::invalid("percent", "It must be between 0 and 100."));
            }
            percent => percent.map(|p| p.floor() as i16),
        };
        Ok(ProgressReport { stage: self.stage, percent, message: self.message })
    }
}

/// Whether the worker still holds the job, and for how long.
#[derive(Serialize, ToSchema)]
#[schema(as = HeldLease)]
pub struct StillHeld {
    cancel_requested: bool,
    #[schema(value_type = Moment)]
    leased_until: Timestamp,
}

impl From<Renewed> for StillHeld {
    fn from(renewed: Renewed) -> Self {
        Self { cancel_requested: renewed.cancel_requested, leased_until: renewed.leased_until }
    }
}

/// Lines for the log of the running attempt.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewLogLines)]
pub struct Logs {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    lines: Vec<Line>,
}

/// A line to be appended.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewLogLine)]
struct Line {
    /// Counts from 1 within the attempt.
    seq: i64,
    text: String,
    #[schema(value_type = Option<StreamWord>)]
    stream: Option<LogStream>,
}

impl Logs {
    pub fn lines(self, now: Timestamp) -> Result<Vec<NewLogLine>, Problem> {
        if self.lines.len() > MOST_LINES {
            return Err(Problem::invalid("lines", format!("One request may carry at most {MOST_LINES}.")));
        }
        if let Some(i) = self.lines.iter().position(|line| line.seq < 1) {
            return Err(Problem::invalid(format!("lines[{i}].seq"), "Lines are numbered from 1 on."));
        }
        let line = |line: Line| NewLogLine {
            seq: line.seq,
            stream: line.stream.unwrap_or(LogStream::Stdout),
            text: line.text,
            at: now,
        };
        Ok(self.lines.into_iter().map(line).collect())
    }
}

/// How many lines were kept.
#[derive(Serialize, ToSchema)]
#[schema(as = KeptLogLines)]
pub struct Written {
    kept: usize,
    dropped: usize,
}

impl From<KeptLines> for Written {
    fn from(lines: KeptLines) -> Self {
        Self { kept: lines.kept, dropped: lines.dropped }
    }
}

/// How far the work is, and the lease it is held under.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    /// Whatever the next attempt needs to go on.
    #[schema(value_type = Anything)]
    checkpoint: Value,
}

impl Checkpoint {
    pub fn value(self) -> Value {
        self.checkpoint
    }
}

// ---- the end ---------------------------------------------------------------------------------------

/// The end of a job that went well.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Completion)]
pub struct Complete {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    #[schema(value_type = Anything, required = false)]
    result: Option<Value>,
    completion_token: Option<String>,
}

impl Complete {
    pub fn parts(self) -> Result<(Ending, Option<Value>, Option<String>), Problem> {
        Ok((Ending::Completed, self.result, token(self.completion_token)?))
    }
}

/// The end of an attempt that failed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FailedAttempt)]
pub struct Fail {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    error_code: Option<String>,
    #[schema(value_type = Option<ErrorClassWord>)]
    error_class: Option<ErrorClass>,
    #[serde(default)]
    message: String,
    stack: Option<String>,
    retryable: Option<bool>,
    /// Seconds.
    retry_after: Option<f64>,
    completion_token: Option<String>,
}

impl Fail {
    pub fn parts(self) -> Result<(Ending, Option<String>), Problem> {
        let retry_after = match self.retry_after {
            Some(seconds) if !(0.0..=LONGEST_RETRY).contains(&seconds) => {
                return Err(Problem::invalid("retry_after", "It must be between 0 seconds and a week."));
            }
            seconds => seconds.map(Duration::from_secs_f64),
        };
        let failure = Failure {
            timed_out: self.error_class == Some(ErrorClass::Timeout),
            error_code: self.error_code,
            error_class: self.error_class,
            message: self.message,
            stack: self.stack,
            retryable: self.retryable,
            retry_after,
        };
        Ok((Ending::Failed(failure), token(self.completion_token)?))
    }
}

/// The lease of a job that was stopped on request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancelled {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    completion_token: Option<String>,
}

impl Cancelled {
    pub fn parts(self) -> Result<(Ending, Option<String>), Problem> {
        Ok((Ending::Cancelled, token(self.completion_token)?))
    }
}

/// The lease of a job that is given back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    worker_id: String,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
}

fn token(given: Option<String>) -> Result<Option<String>, Problem> {
    let fine = |token: &String| {
        (1..=LONGEST_TOKEN).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic())
    };
    match given {
        Some(token) if !fine(&token) => {
            let message = format!("It must be 1 to {LONGEST_TOKEN} letters, digits or signs without blanks.");
            Err(Problem::invalid("completion_token", message))
        }
        token => Ok(token),
    }
}

/// What the report made of the job.
#[derive(Serialize, ToSchema)]
#[schema(as = ReportOutcome)]
pub struct Ended {
    #[schema(value_type = JobState)]
    status: JobStatus,
    already_done: bool,
}

impl From<EngineEnded> for Ended {
    fn from(ended: EngineEnded) -> Self {
        Self { status: ended.status, already_done: ended.already_done }
    }
}
