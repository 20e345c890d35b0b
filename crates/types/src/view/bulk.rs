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
    /// Matched when planned, but had moved on by the time they were reached.
    pub skipped: i64,
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

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BulkGroup {
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub status: JobStatus,
    pub jobs: i64,
}
