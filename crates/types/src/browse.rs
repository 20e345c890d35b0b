//! Jobs as programs read them: in an order of their choice, a page at a time, and counted by kind.

use crate::{
    JobStatus, TenantId, Timestamp,
    state::{UnknownWord, words},
    view::{CappedCount, JobRow},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr};

words! {
    /// What a list is sorted by; equals are sorted by number.
    SortBy {
        /// By number, which is the order in which jobs were accepted.
        CreatedAt = "created_at",
        Priority = "priority",
        /// In the order of a job's life, as [`JobStatus`] names its states.
        Status = "status",
    }
}

words! {
    SortOrder {
        Ascending = "asc",
        Descending = "desc",
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sorting {
    pub by: SortBy,
    pub order: SortOrder,
}

impl Default for Sorting {
    fn default() -> Self {
        Self { by: SortBy::CreatedAt, order: SortOrder::Descending }
    }
}

impl Sorting {
    pub fn is_descending(self) -> bool {
        self.order == SortOrder::Descending
    }
}

/// Where a page ended: everything a job can be sorted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    pub number: i64,
    pub priority: i32,
    pub status: JobStatus,
}

impl Mark {
    pub fn of(row: &JobRow) -> Self {
        Self { number: row.number, priority: row.priority, status: row.status }
    }
}

/// Which page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Browse {
    pub sorting: Sorting,
    /// Behind this job.
    pub after: Option<Mark>,
    /// How many to skip, for callers that count pages instead of following them.
    pub skip: u32,
    pub limit: u32,
}

impl Default for Browse {
    fn default() -> Self {
        Self { sorting: Sorting::default(), after: None, skip: 0, limit: 50 }
    }
}

/// A job in a list, with what tells programs whose it is.
#[derive(Clone, PartialEq, Debug)]
pub struct BrowsedJob {
    pub row: JobRow,
    pub tenant_id: TenantId,
    pub definition_key: Option<String>,
    pub owner_user_id: Option<String>,
    pub correlation_id: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct BrowsedJobs {
    pub jobs: Vec<BrowsedJob>,
    /// Others come after these.
    pub more: bool,
    /// How many match, counted up to a cap.
    pub matching: CappedCount,
}

/// Which kinds are counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KindFilter {
    pub domain: Option<String>,
    pub queue: Option<String>,
    pub job_type: Option<String>,
}

impl KindFilter {
    pub fn matches(&self, domain: &str, queue: &str, job_type: &str) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|word| word == found);
        is(&self.domain, domain) && is(&self.queue, queue) && is(&self.job_type, job_type)
    }
}

/// How many jobs of one kind in one queue stand where.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KindCounts {
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    /// Ready now.
    pub queued: i64,
    /// Waiting for a time: scheduled, or a retry.
    pub scheduled: i64,
    /// At least that many: counting stopped there, and what is beyond it stands among `queued`.
    pub scheduled_capped: bool,
    pub processing: i64,
    pub completed: i64,
    pub failed: i64,
    pub cancelled: i64,
    pub dead_letter: i64,
    pub quarantined: i64,
    /// Since when the first ready job could have run.
    pub oldest_queued_at: Option<Timestamp>,
}

impl KindCounts {
    pub fn of(&mut self, status: JobStatus) -> &mut i64 {
        match status {
            JobStatus::Queued => &mut self.queued,
            JobStatus::Processing => &mut self.processing,
            JobStatus::Completed => &mut self.completed,
            JobStatus::Failed => &mut self.failed,
            JobStatus::Cancelled => &mut self.cancelled,
            JobStatus::DeadLetter => &mut self.dead_letter,
            JobStatus::Quarantined => &mut self.quarantined,
        }
    }
}
