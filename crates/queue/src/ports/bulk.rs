//! The rows of bulk operations, and of the jobs they are about.

use super::{steering::SteeredJob, tx::Statements};
use crate::{
    params::{CreateAnswer, NewJob},
    rules::bulk::BulkAction,
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{
    JobFilter, JobStatus, TenantId, Timestamp,
    view::{BulkGroup, BulkOperation, BulkSkip, BulkState},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// An operation as it is kept: what people see, and what applying it needs beside that.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    pub view: BulkOperation,
    pub action: BulkAction,
    pub filter: JobFilter,
    /// The job that the filter's text named when it was planned: one that is gone since must not turn its number into a
    /// text that others contain.
    pub named: Option<i64>,
    /// The highest number already looked at.
    pub reached: i64,
    /// From where it was applied.
    pub origin: Option<String>,
    /// Whether its steps are in the audit log.
    pub audited: bool,
}

/// What an operation's row keeps as JSON.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Parameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    archive: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    applied_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    audited: bool,
    skips: Vec<BulkSkip>,
}

impl Operation {
    pub fn parameters(&self) -> Parameters {
        let (at, archive) = match self.action {
            BulkAction::Reschedule { at } => (at, false),
            BulkAction::Prune { archive } => (None, archive),
            _ => (None, false),
        };
        Parameters {
            at,
            archive,
            job: self.named,
            applied_by: self.view.applied_by.clone(),
            origin: self.origin.clone(),
            audited: self.audited,
            skips: self.view.skips.clone(),
        }
    }

    /// Put together again from its row; the view lacks only what the parameters hold.
    pub fn read(view: BulkOperation, filter: JobFilter, reached: i64, kept: Parameters) -> StoreResult<Self> {
        let known = [
            BulkAction::Cancel,
            BulkAction::Reschedule { at: kept.at },
            BulkAction::Retry,
            BulkAction::RequeueQuarantined,
            BulkAction::Prune { archive: kept.archive },
        ];
        let action = known.into_iter().find(|action| action.name() == view.action);
        let action = action.ok_or_else(|| StoreError::corrupt("bulk_operations", "action", &view.action))?;
        let (named, origin, audited) = (kept.job, kept.origin, kept.audited);
        let view = BulkOperation { applied_by: kept.applied_by, skips: kept.skips, ..view };
        Ok(Self { view, action, filter, named, reached, origin, audited })
    }
}

/// Which jobs a statement is about.
#[derive(Clone, Copy, Debug)]
pub struct JobSelection<'a> {
    pub tenant: Option<TenantId>,
    pub filter: &'a JobFilter,
    /// The job that the filter's text names; then no other matches.
    pub named: Option<i64>,
    /// Others never match, whatever the filter says.
    pub statuses: &'static [JobStatus],
    /// Only higher numbers.
    pub above: i64,
    /// Only numbers up to this.
    pub up_to: Option<i64>,
    /// Only jobs that had ended by then.
    pub ended_by: Option<Timestamp>,
}

/// Which operations are wanted; what is not said does not matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OperationFilter {
    pub tenant: Option<TenantId>,
    pub id: Option<Uuid>,
    pub state: Option<BulkState>,
    /// Only those made before this one.
    pub before: Option<Uuid>,
}

/// How many jobs of one kind and state match, and the highest of their numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct CountedGroup {
    pub group: BulkGroup,
    pub highest: i64,
}

/// What a job leaves to the one that repeats it.
#[derive(Clone, PartialEq, Debug)]
pub struct RetriedJob {
    pub number: i64,
    pub tenant: TenantId,
    pub definition_key: Option<String>,
    pub queue: String,
    pub priority: i32,
    pub max_attempts: i32,
    pub payload: Value,
    pub concurrency_key: Option<String>,
    pub correlation_id: Option<String>,
    pub owner_user_id: Option<String>,
    pub project_id: Option<i64>,
}

#[async_trait]
pub trait OperationRows: Statements {
    /// The job of this tenant that the text names by its number or id.
    async fn named_job(&mut self, tenant: Option<TenantId>, text: &str) -> Result<Option<i64>, Self::Error>;
    /// All groups that match, in the order of their names.
    async fn count_jobs(&mut self, wanted: JobSelection<'_>) -> Result<Vec<CountedGroup>, Self::Error>;
    /// The lowest matching numbers, lowest first; nothing is locked.
    async fn lowest_numbers(&mut self, wanted: JobSelection<'_>, most: u32) -> Result<Vec<i64>, Self::Error>;
    /// Locks these jobs, lowest first, and gives those that match now that they are ours.
    async fn lock_matching(
        &mut self,
        wanted: JobSelection<'_>,
        numbers: &[i64],
    ) -> Result<Vec<SteeredJob>, Self::Error>;
    /// Lowest first.
    async fn jobs_to_retry(&mut self, numbers: &[i64]) -> Result<Vec<RetriedJob>, Self::Error>;
    /// Creates jobs as the store's own verb does, with an answer for each. None: another transaction took one of the
    /// keys meanwhile, and this one has to be begun anew.
    async fn create_jobs(
        &mut self,
        scope: &Scope,
        jobs: &[NewJob],
    ) -> Result<Option<Vec<CreateAnswer>>, Self::Error>;
    /// Removes jobs with all that belongs to them but their events, and moves the counters; before that, if asked to,
    /// copies them into the archive.
    async fn delete_jobs(&mut self, jobs: &[&SteeredJob], archive: bool) -> Result<(), Self::Error>;

    async fn insert_operation(&mut self, operation: &Operation) -> Result<(), Self::Error>;
    /// Keeps others from it until the transaction ends.
    async fn lock_operation(&mut self, id: Uuid) -> Result<(), Self::Error>;
    /// Newest first.
    async fn operations(&mut self, wanted: OperationFilter, most: u32)
    -> Result<Vec<Operation>, Self::Error>;
    /// How far it has come.
    async fn save_operation(&mut self, operation: &Operation) -> Result<(), Self::Error>;
    /// Removes operations that finished before the one moment, if it is given, and plans that expired unapplied before
    /// the other; how many, at most `most`.
    async fn delete_operations(
        &mut self,
        finished_before: Option<Timestamp>,
        expired_before: Timestamp,
        most: u32,
    ) -> Result<u64, Self::Error>;
}
