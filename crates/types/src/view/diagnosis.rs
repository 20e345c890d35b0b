//! Why a job is not running.

use super::Silence;
use crate::{JobStatus, Timestamp};
use serde::{Deserialize, Serialize};

/// What a store knows about why a job may be waiting.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DiagnosisFacts {
    pub number: i64,
    pub status: JobStatus,
    pub now: Timestamp,
    pub available_at: Option<Timestamp>,
    pub attempt_count: i32,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub queue_paused: bool,
    pub queue_draining: bool,
    pub definition_inactive: bool,
    /// Live workers that serve its queue and can run its type.
    pub capable_workers: i64,
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
