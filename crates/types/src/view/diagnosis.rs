//! Why a job is not running.

use super::{FailureMark, Silence};
use crate::{JobStatus, Timestamp};
use serde::{Deserialize, Serialize};

/// What a store knows about why a job may be waiting.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DiagnosisFacts {
    pub number: i64,
    pub status: JobStatus,
    pub now: Timestamp,
    pub available_at: Option<Timestamp>,
    /// The newest one, whenever it was.
    pub last_failure: Option<FailureMark>,
    /// Of its last attempt.
    pub error_code: Option<String>,
    pub error_message: Option<String>,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub queue_paused: bool,
    pub queue_draining: bool,
    pub definition_inactive: bool,
    /// Live workers that serve its queue and can run its type.
    pub capable_workers: i64,
    /// What its waiting calls need and none of these workers knows, in words.
    pub providers_missing: Vec<String>,
    pub limits_reached: Vec<LimitReached>,
    /// The number of a running job that holds its concurrency key.
    pub concurrency_holder: Option<i64>,
    /// Ready jobs of the same tenant, queue and type that are claimed before it, counted up to a cap.
    pub ahead: i64,
    pub ahead_capped: bool,
    /// It runs on a worker that is not heard of.
    pub silent: Option<Silence>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LimitReached {
    /// Who is limited, as the start of a sentence: "This tenant", "“export”", …
    pub what: String,
    pub used: i64,
    pub max: i64,
}

/// Why a job is not running.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    pub status: JobStatus,
    pub summary: String,
    pub causes: Vec<Cause>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Cause {
    /// Stable: `scheduled`, `retry_wait`, `queue_paused`, `no_worker`, …
    pub code: String,
    pub text: String,
}

/// Why a queued job waits for a moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delay {
    /// An attempt failed, and the next one may begin then.
    Retry,
    /// A worker could not run it and handed it back.
    Snoozed,
    /// It was wanted then, by whoever made it or moved it.
    Scheduled,
}

impl Delay {
    /// `available_at` is the job's, and so is the error of its last attempt.
    pub fn of(available_at: Timestamp, last_failure: Option<&FailureMark>, error_code: Option<&str>) -> Self {
        let is_then = |at: Timestamp| available_at.seconds_since(at).abs() < 0.01;
        if last_failure.and_then(FailureMark::retry_at).is_some_and(is_then) {
            return Self::Retry;
        }
        // The error of a failure stays with a job that somebody moved to another time.
        let of_failure = last_failure.is_some_and(|mark| mark.error_code.as_deref() == error_code);
        if error_code.is_some() && !of_failure { Self::Snoozed } else { Self::Scheduled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_told_by_what_caused_it() {
        let at = Timestamp::from_secs;
        let mark = FailureMark { ts: at(100), error_code: Some("x".into()), retry_backoff: Some(7.5) };
        let retry = at(107).plus(std::time::Duration::from_millis(500));
        assert_eq!(Delay::of(retry, Some(&mark), Some("x")), Delay::Retry);
        assert_eq!(Delay::of(at(900), Some(&mark), Some("x")), Delay::Scheduled, "moved by somebody");
        assert_eq!(Delay::of(at(900), Some(&mark), None), Delay::Scheduled, "requeued and moved");
        assert_eq!(Delay::of(at(900), Some(&mark), Some("provider_elsewhere")), Delay::Snoozed);
        assert_eq!(Delay::of(at(900), None, Some("provider_elsewhere")), Delay::Snoozed);
        assert_eq!(Delay::of(at(900), None, None), Delay::Scheduled);
    }
}
