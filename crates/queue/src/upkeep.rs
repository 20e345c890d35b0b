//! The second half of the storage seam: verbs for people and sweeps that put a queue in order.
//!
//! Bulk operations work on a *filter*. First a plan counts what matches, exactly, and remembers the highest job
//! number it saw; then the plan is applied in chunks, with the same condition that counted it, and never to a
//! job that came after it. What a plan counts and what applying it changes can therefore differ only by jobs
//! that moved on in between, and those are reported as skipped.

use crate::{quota::Quotas, scope::Scope, store::StoreResult, transition::Rules};
use async_trait::async_trait;
use leasehold_types::{
    JobFilter, JobRef, JobStatus, Timestamp,
    view::{BulkOperation, DiagnosisFacts},
};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

#[derive(Clone, PartialEq, Debug)]
pub enum BulkAction {
    /// Queued and quarantined jobs are cancelled, running ones asked to stop.
    Cancel,
    /// Queued jobs become available at this moment (none = now).
    Reschedule { at: Option<Timestamp> },
    /// Each terminal job that did not complete gets a new job that names it as parent.
    Retry,
    /// Quarantined jobs go back to the queue.
    RequeueQuarantined,
    /// Terminal and quarantined jobs are removed with their attempts, logs and attachments, optionally into the archive.
    Prune { archive: bool },
}

impl BulkAction {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cancel => "cancel",
            Self::Reschedule { .. } => "reschedule",
            Self::Retry => "retry",
            Self::RequeueQuarantined => "requeue_quarantined",
            Self::Prune { .. } => "prune",
        }
    }

    /// The states it applies to; others never match, whatever the filter says.
    pub const fn statuses(&self) -> &'static [JobStatus] {
        use JobStatus::{Cancelled, Completed, DeadLetter, Failed, Processing, Quarantined, Queued};
        match self {
            Self::Cancel => &[Queued, Processing, Quarantined],
            Self::Reschedule { .. } => &[Queued],
            Self::Retry => &[Failed, DeadLetter, Cancelled],
            Self::RequeueQuarantined => &[Quarantined],
            Self::Prune { .. } => &[Completed, Failed, Cancelled, DeadLetter, Quarantined],
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct BulkRequest {
    pub action: BulkAction,
    pub filter: JobFilter,
    pub reason: String,
    /// How many of the largest groups (domain, queue, type, state) to name.
    pub top_groups: u32,
}

/// When jobs have lived too long.
#[derive(Clone, PartialEq, Debug)]
pub struct TtlRule {
    /// Queued jobs created longer ago than this.
    pub queued_for: Option<Duration>,
    /// Running jobs whose current attempt is older than this; earlier attempts and backoff do not count.
    pub running_for: Option<Duration>,
    pub action: TtlAction,
    pub domain: Option<String>,
    pub queue: Option<String>,
    pub job_type: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TtlAction {
    Cancel,
    Fail,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TtlCount {
    pub queued: u64,
    pub running: u64,
}

/// Where a sweep looks. What is not said means everywhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    pub domain: Option<String>,
    pub queue: Option<String>,
    pub job_type: Option<String>,
}

impl Place {
    /// `domain/queue/job_type`, with a star for what was not said.
    pub fn name(&self) -> String {
        let word = |part: &Option<String>| part.clone().unwrap_or_else(|| "*".to_owned());
        format!("{}/{}/{}", word(&self.domain), word(&self.queue), word(&self.job_type))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IntegrityCount {
    /// Rows that carry a lease although they are not running.
    pub leases_on_idle_rows: u64,
    /// Running rows whose lease has run out.
    pub expired_leases: u64,
    /// How many of them were mended.
    pub fixed: u64,
}

#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// Counts what matches and remembers it for ten minutes. Changes no job.
    async fn plan_bulk(&self, scope: &Scope, request: BulkRequest) -> StoreResult<BulkOperation>;
    /// Applies the next chunk of a plan in one transaction and returns where it stands. `NOT_FOUND` for an
    /// unknown or foreign plan, `WRONG_STATE` for one that has expired, finished or was aborted.
    async fn apply_bulk(&self, scope: &Scope, id: Uuid, chunk: u32) -> StoreResult<BulkOperation>;
    /// Stops a plan where it stands; `WRONG_STATE` when there is nothing left to stop.
    async fn abort_bulk(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation>;
    /// Newest first.
    async fn bulk_operations(&self, scope: &Scope, limit: u32) -> StoreResult<Vec<BulkOperation>>;

    /// Ends up to `limit` jobs that lived too long. Decisive: a running job's lease is cleared, its worker fenced,
    /// its attempt closed.
    async fn sweep_ttl(&self, scope: &Scope, rule: &TtlRule, limit: u32) -> StoreResult<TtlCount>;
    /// Looks for rows of this place that contradict themselves; mends them when asked to. Mending is audited.
    async fn sweep_integrity(
        &self,
        scope: &Scope,
        place: &Place,
        rules: &Rules,
        fix: bool,
    ) -> StoreResult<IntegrityCount>;
    /// Removes up to `limit` of the oldest events, as far as they are older than this; how many. What is kept has no
    /// hole, and the newest event always stays.
    async fn prune_events(&self, older_than: Duration, limit: u32) -> StoreResult<u64>;
    /// What [`crate::diagnosis::explain`] needs to say why a job is not running. The quotas are those that claims
    /// respect.
    async fn diagnosis(
        &self,
        scope: &Scope,
        job: JobRef,
        quotas: &Arc<Quotas>,
    ) -> StoreResult<Option<DiagnosisFacts>>;
}
