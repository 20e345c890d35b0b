//! What a list of jobs is narrowed to, and how it is paged (by keyset, never by offset).

use crate::{JobStatus, Source, Timestamp};
use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JobFilter {
    pub statuses: Vec<JobStatus>,
    pub source: Option<Source>,
    pub domain: Option<String>,
    pub queue: Option<String>,
    pub job_type: Option<String>,
    pub owner_user_id: Option<String>,
    pub created_after: Option<Timestamp>,
    pub created_before: Option<Timestamp>,
    /// Ended before this moment; jobs that have not ended never match.
    pub completed_before: Option<Timestamp>,
    pub error_code: Option<String>,
    pub definition_key: Option<String>,
    /// All of them must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub payload: Vec<PayloadMatch>,
    /// Free text: a number, an id, or part of the type, the error or the correlation id.
    pub q: Option<String>,
}

/// A place in the payload (names of properties, outermost first) and what stands there, as text: `3` is found as a
/// number and as a string.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PayloadMatch {
    pub path: Vec<String>,
    pub value: String,
}

impl JobFilter {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Asks only for what the counters know: how many match need not be counted.
    pub fn is_counted(&self) -> bool {
        let rest = Self {
            statuses: Vec::new(),
            domain: None,
            queue: None,
            job_type: None,
            q: self.q.clone().filter(|q| !q.trim().is_empty()),
            ..self.clone()
        };
        rest.is_empty()
    }
}

/// Which page: the newest jobs below `before` (a job number), `limit` of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRequest {
    pub before: Option<i64>,
    pub limit: u32,
}

impl Default for PageRequest {
    fn default() -> Self {
        Self { before: None, limit: 50 }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The cursor of the next page, when there is one.
    pub next: Option<i64>,
}
