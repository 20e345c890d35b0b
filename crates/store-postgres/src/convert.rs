//! Between the database's types and ours. A column that cannot be read names its table and itself.

use leasehold_queue::{StoreError, StoreResult};
use leasehold_types::{
    JobId, Timestamp,
    view::{FailureMark, JobRow, LastRun},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{borrow::Cow, fmt::Display, str::FromStr};
use time::OffsetDateTime;
use uuid::Uuid;

/// Failures a job's row remembers.
const TIMELINE_KEPT: usize = 10;

pub fn moment(at: Timestamp) -> OffsetDateTime {
    at.datetime()
}

pub fn stamp(at: OffsetDateTime) -> Timestamp {
    Timestamp::from_datetime(at)
}

pub fn stamp_if(at: Option<OffsetDateTime>) -> Option<Timestamp> {
    at.map(stamp)
}

/// The five-second slot a moment belongs to, for throughput.
pub fn slot(at: Timestamp) -> i64 {
    at.secs().div_euclid(5)
}

/// One of our closed sets of words.
pub fn word<T: FromStr<Err: Display>>(
    table: &'static str,
    column: &'static str,
    text: &str,
) -> StoreResult<T> {
    text.parse().map_err(|e| StoreError::corrupt(table, column, e))
}

pub fn parsed<T: DeserializeOwned>(table: &'static str, column: &'static str, json: Value) -> StoreResult<T> {
    serde_json::from_value(json).map_err(|e| StoreError::corrupt(table, column, e))
}

pub fn as_json<T: serde::Serialize>(value: &T) -> StoreResult<Value> {
    serde_json::to_value(value).map_err(|e| StoreError::Database {
        message: format!("cannot be written as JSON: {e}"),
        transient: false,
    })
}

/// Postgres cannot keep a NUL in text. What a worker sends must not fail a whole batch because of one.
pub fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { Cow::Owned(text.replace('\0', "\u{fffd}")) } else { Cow::Borrowed(text) }
}

pub fn text_if(value: Option<&String>) -> Option<String> {
    value.map(|t| text(t).into_owned())
}

/// The same for JSON, where a NUL may hide in any string or key.
pub fn json(value: &Value) -> Value {
    match value {
        Value::String(s) => Value::String(text(s).into_owned()),
        Value::Array(items) => items.iter().map(json).collect(),
        Value::Object(map) => map.iter().map(|(k, v)| (text(k).into_owned(), json(v))).collect(),
        plain => plain.clone(),
    }
}

/// The timeline with one more mark, cut to the newest.
pub fn remember(mut timeline: Vec<FailureMark>, mark: Option<FailureMark>) -> Vec<FailureMark> {
    timeline.extend(mark);
    let excess = timeline.len().saturating_sub(TIMELINE_KEPT);
    timeline.split_off(excess)
}

/// The columns of [`JobRow`], as every list selects them.
#[derive(sqlx::FromRow)]
pub struct JobRecord {
    pub number: i64,
    pub id: Uuid,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub source: String,
    pub status: String,
    pub priority: i32,
    pub attempt_count: i32,
    pub attempt_base: i32,
    pub max_attempts: i32,
    pub created_at: OffsetDateTime,
    pub available_at: Option<OffsetDateTime>,
    pub started_at: Option<OffsetDateTime>,
    pub acquired_at: Option<OffsetDateTime>,
    pub completed_at: Option<OffsetDateTime>,
    pub worker_id: Option<String>,
    pub last_worker_id: Option<String>,
    pub last_started_at: Option<OffsetDateTime>,
    pub last_finished_at: Option<OffsetDateTime>,
    pub stage: Option<String>,
    pub progress_percent: i16,
    pub progress_message: Option<String>,
    pub error_code: Option<String>,
    pub cancel_requested_at: Option<OffsetDateTime>,
}

/// The columns of [`JobRecord`]; `j` is the job, `last` what [`LAST_ATTEMPT`] joins.
pub const COLUMNS: &str = "j.number, j.id, j.domain, j.queue, j.job_type, j.source, j.status, j.priority, \
     j.attempt_count, j.attempt_base, j.max_attempts, j.created_at, j.available_at, j.started_at, j.acquired_at, \
     j.completed_at, j.worker_id, last.worker_id AS last_worker_id, last.started_at AS last_started_at, \
     last.finished_at AS last_finished_at, j.stage, j.progress_percent, j.progress_message, j.error_code, \
     j.cancel_requested_at";
/// The running attempt has no row yet. Looked up job by job: a plain join may be planned as a walk over all attempts,
/// because the planner cannot know how small the limit is.
pub const LAST_ATTEMPT: &str = "LEFT JOIN LATERAL (SELECT a.worker_id, a.started_at, a.finished_at FROM job_attempts a \
     WHERE a.job_number = j.number AND a.attempt = j.attempt_count LIMIT 1) last ON TRUE";

impl JobRecord {
    fn last_run(&self) -> Option<LastRun> {
        let (worker, started, finished) = match &self.worker_id {
            Some(worker) => (Some(worker), self.acquired_at, None),
            None => (self.last_worker_id.as_ref(), self.last_started_at, self.last_finished_at),
        };
        Some(LastRun {
            worker_id: worker?.clone(),
            started_at: stamp(started?),
            finished_at: stamp_if(finished),
        })
    }
}

impl TryFrom<JobRecord> for JobRow {
    type Error = StoreError;
    fn try_from(r: JobRecord) -> StoreResult<Self> {
        let last_run = r.last_run();
        Ok(Self {
            number: r.number,
            id: JobId(r.id),
            source: word("jobs", "source", &r.source)?,
            status: word("jobs", "status", &r.status)?,
            domain: r.domain,
            queue: r.queue,
            job_type: r.job_type,
            priority: r.priority,
            attempt_count: r.attempt_count,
            attempts_used: r.attempt_count - r.attempt_base,
            max_attempts: r.max_attempts,
            created_at: stamp(r.created_at),
            available_at: stamp_if(r.available_at),
            started_at: stamp_if(r.started_at),
            acquired_at: stamp_if(r.acquired_at),
            completed_at: stamp_if(r.completed_at),
            worker_id: r.worker_id,
            last_run,
            stage: r.stage,
            progress: r.progress_percent,
            progress_message: r.progress_message,
            error_code: r.error_code,
            cancel_requested_at: stamp_if(r.cancel_requested_at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_nul_is_replaced_wherever_it_hides() {
        assert_eq!(text("a\0b"), "a\u{fffd}b");
        assert_eq!(json(&json!({"a\0": ["x\0", 1]})), json!({"a\u{fffd}": ["x\u{fffd}", 1]}));
    }

    #[test]
    fn the_timeline_keeps_the_newest_ten() {
        let mark =
            |n: i64| FailureMark { ts: Timestamp::from_secs(n), error_code: None, retry_backoff: None };
        let timeline = remember((0..10).map(mark).collect(), Some(mark(10)));
        assert_eq!(timeline.len(), 10);
        assert_eq!(timeline[9].ts, Timestamp::from_secs(10));
        assert_eq!(timeline[0].ts, Timestamp::from_secs(1));
    }
}
