//! Operations on many jobs.

use crate::{JobStatus, TenantId, Timestamp};
use serde::{Deserialize, Serialize};

/// A bulk operation: planned, under way, or done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BulkOperation {
    pub id: uuid::Uuid,
    pub tenant_id: Option<TenantId>,
    pub action: String,
    pub state: BulkState,
    pub reason: String,
    pub actor: String,
    /// How many matched when it was planned, exactly.
    pub planned: i64,
    pub groups: Vec<BulkGroup>,
    /// A few of the job numbers, the lowest first.
    pub sample: Vec<i64>,
    pub highest_number: i64,
    pub changed: i64,
    /// Matched when planned, and left as they were: they had moved on by the time they were reached, or were refused.
    pub skipped: i64,
    /// Why jobs were skipped, where there is more to say than that they had moved on.
    #[serde(default)]
    pub skips: Vec<BulkSkip>,
    /// Who had it applied; the jobs name them.
    #[serde(default)]
    pub applied_by: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    pub finished_at: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BulkState {
    Planned,
    Applying,
    Done,
    Aborted,
}

impl BulkState {
    pub const ALL: [Self; 4] = [Self::Planned, Self::Applying, Self::Done, Self::Aborted];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Applying => "applying",
            Self::Done => "done",
            Self::Aborted => "aborted",
        }
    }
}

impl std::str::FromStr for BulkState {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|state| state.as_str() == word);
        known.ok_or_else(|| format!("“{word}” is not a state of a bulk operation"))
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BulkGroup {
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub status: JobStatus,
    pub jobs: i64,
}

/// Jobs that were skipped for the same reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BulkSkip {
    pub code: String,
    pub reason: String,
    pub jobs: i64,
    /// The first of them.
    pub first: i64,
}
