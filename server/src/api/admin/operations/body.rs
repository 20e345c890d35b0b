//! What an operation is asked for, and what is told of it.

use crate::api::{
    admin::{REASON, bulk, bulk::Group, place},
    schemas::{JobState, Moment},
};
use leasehold_queue::{bulk::BulkAction, engine::MOST_OPERATIONS};
use leasehold_types::{
    JobFilter, JobStatus, Problem, TenantId, Timestamp,
    view::{BulkOperation, BulkSkip},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

const USUAL: u32 = 50;
const LONGEST_SEARCH: usize = 200;

/// What to do to which jobs.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOperation {
    action: OperationAction,
    /// Which jobs; every one the action applies to when left out.
    #[serde(default)]
    filter: OperationFilter,
    /// Why; the jobs’ activity and the audit log show it.
    #[schema(max_length = 500)]
    reason: Option<String>,
    /// Of `reschedule`: the moment to move them to; now when left out.
    #[schema(value_type = Option<Moment>)]
    at: Option<Timestamp>,
    /// Of `prune`: whether a copy is kept in the archive; usually as the installation is set.
    archive: Option<bool>,
}

/// What is done to jobs.
#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub enum OperationAction {
    /// Queued and quarantined jobs end at once, running ones are asked to stop.
    Cancel,
    /// Queued jobs become available at another moment.
    Reschedule,
    /// Jobs that ended without completing get a new job each, which is checked like any other.
    Retry,
    /// Quarantined jobs go back to the queue.
    RequeueQuarantined,
    /// Jobs that have ended are removed.
    Prune,
}

/// Which jobs are meant; all that is given must hold.
#[derive(Deserialize, ToSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct OperationFilter {
    /// Only in these states; of those only the ones the action applies to.
    #[serde(default)]
    #[schema(value_type = Vec<JobState>)]
    statuses: Vec<JobStatus>,
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
    /// Only those with this error.
    error_code: Option<String>,
    /// Only those created at this moment or later.
    #[schema(value_type = Option<Moment>)]
    created_after: Option<Timestamp>,
    /// Only those created before this moment.
    #[schema(value_type = Option<Moment>)]
    created_before: Option<Timestamp>,
    /// Only those that ended before this moment.
    #[schema(value_type = Option<Moment>)]
    completed_before: Option<Timestamp>,
    /// A number or an id, or else part of the type, the error or the correlation id.
    #[schema(max_length = 200)]
    q: Option<String>,
}

pub struct Asked {
    pub action: BulkAction,
    pub filter: JobFilter,
    pub reason: String,
}

impl NewOperation {
    pub fn asked(self, archive: bool) -> Result<Asked, Problem> {
        let wrong = |field: &str| {
            let message = "It does not belong to this action. Nothing was planned.";
            Err(Problem::invalid(field, message))
        };
        let action = match self.action {
            OperationAction::Reschedule => BulkAction::Reschedule { at: self.at },
            _ if self.at.is_some() => return wrong("at"),
            OperationAction::Prune => BulkAction::Prune { archive: self.archive.unwrap_or(archive) },
            OperationAction::Cancel => BulkAction::Cancel,
            OperationAction::Retry => BulkAction::Retry,
            OperationAction::RequeueQuarantined => BulkAction::RequeueQuarantined,
        };
        if self.archive.is_some() && !matches!(action, BulkAction::Prune { .. }) {
            return wrong("archive");
        }
        let reason = self.reason.unwrap_or_else(|| REASON.to_owned());
        Ok(Asked { action, filter: self.filter.checked()?, reason })
    }
}

impl OperationFilter {
    fn checked(self) -> Result<JobFilter, Problem> {
        self.error_code.as_deref().map_or(Ok(()), |code| place::check("filter.error_code", code))?;
        if let Some(q) = &self.q
            && (q.chars().count() > LONGEST_SEARCH || q.contains('\0'))
        {
            let message = format!("At most {LONGEST_SEARCH} characters. Nothing was planned.");
            return Err(Problem::invalid("filter.q", message));
        }
        let place = place::place(self.domain, self.queue, self.job_type)?;
        Ok(JobFilter {
            statuses: self.statuses,
            error_code: self.error_code,
            created_after: self.created_after,
            created_before: self.created_before,
            completed_before: self.completed_before,
            q: self.q,
            ..place::filter(place)
        })
    }
}

/// A bulk operation: planned, under way, or over.
#[derive(Serialize, ToSchema)]
#[schema(as = Operation)]
pub struct OperationView {
    id: Uuid,
    /// Null when it reaches every tenant.
    #[schema(value_type = Option<Uuid>)]
    tenant_id: Option<TenantId>,
    /// `cancel`, `reschedule`, `retry`, `requeue_quarantined` or `prune`.
    action: String,
    /// `planned`, `applying`, `done` or `aborted`.
    state: &'static str,
    /// Why.
    reason: String,
    /// Who planned it.
    planned_by: String,
    /// Who had it applied.
    applied_by: Option<String>,
    /// How many jobs matched when it was planned, exactly.
    planned: i64,
    /// How many were changed so far.
    changed: i64,
    /// How many of the planned were left as they are; known when it is over.
    skipped: i64,
    /// Why jobs were skipped, where there is more to say than that they had moved on.
    skips: Vec<SkipView>,
    /// The largest groups of what matched.
    groups: Vec<Group>,
    /// A few of the job numbers, the lowest first.
    sample: Vec<i64>,
    #[schema(value_type = Moment)]
    created_at: Timestamp,
    /// Until then the plan can be applied.
    #[schema(value_type = Moment)]
    expires_at: Timestamp,
    /// When it was done or aborted.
    #[schema(value_type = Option<Moment>)]
    finished_at: Option<Timestamp>,
}

/// Jobs that were skipped for the same reason.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationSkip)]
pub struct SkipView {
    /// The problem's stable code.
    code: String,
    /// The problem in words.
    reason: String,
    /// How many jobs.
    jobs: i64,
    /// The number of the first of them.
    first: i64,
}

impl From<BulkSkip> for SkipView {
    fn from(skip: BulkSkip) -> Self {
        Self { code: skip.code, reason: skip.reason, jobs: skip.jobs, first: skip.first }
    }
}

impl From<BulkOperation> for OperationView {
    fn from(operation: BulkOperation) -> Self {
        Self {
            state: bulk::state(&operation),
            id: operation.id,
            tenant_id: operation.tenant_id,
            action: operation.action,
            reason: operation.reason,
            planned_by: operation.actor,
            applied_by: operation.applied_by,
            planned: operation.planned,
            changed: operation.changed,
            skipped: operation.skipped,
            skips: operation.skips.into_iter().map(SkipView::from).collect(),
            groups: operation.groups.into_iter().map(Group::from).collect(),
            sample: operation.sample,
            created_at: operation.created_at,
            expires_at: operation.expires_at,
            finished_at: operation.finished_at,
        }
    }
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// The `next_before` of the page before.
    pub before: Option<Uuid>,
}

impl ListQuery {
    pub fn limit(&self) -> Result<u32, Problem> {
        let limit = self.limit.unwrap_or(USUAL);
        if (1..=MOST_OPERATIONS).contains(&limit) {
            return Ok(limit);
        }
        Err(Problem::invalid("limit", format!("It must be from 1 to {MOST_OPERATIONS}.")))
    }
}

/// Bulk operations, newest first.
#[derive(Serialize, ToSchema)]
pub struct OperationList {
    /// The operations of this page.
    operations: Vec<OperationView>,
    /// Where the next page begins.
    next_before: Option<Uuid>,
}

impl OperationList {
    pub fn new(operations: Vec<BulkOperation>, limit: u32) -> Self {
        let next_before =
            operations.last().filter(|_| operations.len() == limit as usize).map(|last| last.id);
        Self { operations: operations.into_iter().map(OperationView::from).collect(), next_before }
    }
}
