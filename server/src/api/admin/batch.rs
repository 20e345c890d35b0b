//! Cancel, reschedule or requeue many jobs at once.

use super::{
    REASON,
    bulk::{self, Asked, Group},
    confirm::Confirmation,
    place,
};
use crate::{
    api::{Answer, Api, Body, Refusal, schemas::Moment},
    auth::api_key::Entered,
};
use axum::{Json, extract::State};
use leasehold_queue::bulk::BulkAction;
use leasehold_types::{JobFilter, Problem, Timestamp, view::BulkOperation};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;
use uuid::Uuid;

const GROUPS: u32 = 10;
const LONGEST_DELAY: u64 = 31_536_000;

/// Which jobs to cancel, or to requeue.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = JobSelection)]
pub struct Selected {
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
    /// Only those with this error.
    error_code: Option<String>,
    /// Why; the jobs’ activity shows it.
    reason: Option<String>,
    /// Only count.
    #[serde(default)]
    dry_run: bool,
}

impl Selected {
    fn asked(self, action: BulkAction) -> Result<Asked, Problem> {
        self.error_code.as_deref().map_or(Ok(()), |code| place::check("error_code", code))?;
        let place = place::place(self.domain, self.queue, self.job_type)?;
        let filter = JobFilter { error_code: self.error_code, ..place::filter(place) };
        let reason = self.reason.unwrap_or_else(|| REASON.to_owned());
        Ok(Asked { action, filter, reason, top_groups: GROUPS, dry_run: self.dry_run })
    }
}

/// Which queued jobs to move, and to when: `delay_seconds` from now, `at` a moment, or `set_now`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reschedule {
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
    #[schema(maximum = 31_536_000)]
    delay_seconds: Option<u64>,
    #[serde(default)]
    set_now: bool,
    #[schema(value_type = Option<Moment>)]
    at: Option<Timestamp>,
    reason: Option<String>,
    /// Only count.
    #[serde(default)]
    dry_run: bool,
}

impl Reschedule {
    fn asked(self, now: Timestamp) -> Result<Asked, Problem> {
        let at = match (self.delay_seconds, self.set_now, self.at) {
            (Some(delay), false, None) if delay <= LONGEST_DELAY => {
                Some(now.plus(Duration::from_secs(delay)))
            }
            (Some(_), false, None) => {
                return Err(Problem::invalid("delay_seconds", "At most a year. Nothing was changed."));
            }
            (None, true, None) => None,
            (None, false, Some(at)) => Some(at),
            _ => {
                let message = "Please say one of delay_seconds, set_now and at. Nothing was changed.";
                return Err(Problem::invalid("delay_seconds", message));
            }
        };
        let filter = place::filter(place::place(self.domain, self.queue, self.job_type)?);
        let reason = self.reason.unwrap_or_else(|| REASON.to_owned());
        let action = BulkAction::Reschedule { at };
        Ok(Asked { action, filter, reason, top_groups: GROUPS, dry_run: self.dry_run })
    }
}

/// What was changed, or would be.
#[derive(Serialize, ToSchema)]
#[schema(as = BatchOutcome)]
pub struct Batch {
    affected: i64,
    /// Matched, but had moved on by the time they were reached.
    skipped: i64,
    /// The operation, for `/operations/{id}`; a dry run can be applied there.
    plan_id: Uuid,
    /// `planned` (a dry run), `done`, or `applying`: the rest is done after this answer.
    state: &'static str,
    /// The largest groups of what matched.
    groups: Vec<Group>,
}

impl From<BulkOperation> for Batch {
    fn from(operation: BulkOperation) -> Self {
        Self {
            affected: bulk::affected(&operation),
            skipped: operation.skipped,
            plan_id: operation.id,
            state: bulk::state(&operation),
            groups: operation.groups.into_iter().map(Group::from).collect(),
        }
    }
}

/// Cancel many jobs
///
/// Queued and quarantined ones at once; running ones are asked to stop.
#[utoipa::path(
    post, path = "/jobs/batch/cancel", operation_id = "cancel_jobs", tag = "operations", request_body = Selected,
    params(("X-Confirm" = Option<String>, Header, description = "`true`, unless it is a dry run")),
    responses((status = 200, body = Batch), Refusal)
)]
pub async fn cancel(
    State(api): State<Api>,
    Entered(scope): Entered,
    confirmed: Confirmation,
    Body(body): Body<Selected>,
) -> Answer<Batch> {
    let asked = body.asked(BulkAction::Cancel)?;
    confirmed.require_unless(asked.dry_run)?;
    Ok(Json(bulk::carry_out(&api.engine, scope, asked).await?.into()))
}

/// Reschedule many jobs
///
/// Queued ones only: later, at a moment, or now.
#[utoipa::path(
    post, path = "/jobs/batch/reschedule", operation_id = "reschedule_jobs", tag = "operations", request_body = Reschedule,
    params(("X-Confirm" = Option<String>, Header, description = "`true`, unless it is a dry run")),
    responses((status = 200, body = Batch), Refusal)
)]
pub async fn reschedule(
    State(api): State<Api>,
    Entered(scope): Entered,
    confirmed: Confirmation,
    Body(body): Body<Reschedule>,
) -> Answer<Batch> {
    let asked = body.asked(api.engine.now())?;
    confirmed.require_unless(asked.dry_run)?;
    Ok(Json(bulk::carry_out(&api.engine, scope, asked).await?.into()))
}

/// Requeue quarantined jobs
///
/// With all their attempts again. What made them fail should have been fixed first.
#[utoipa::path(
    post, path = "/jobs/batch/requeue_quarantined", operation_id = "requeue_quarantined_jobs", tag = "operations", request_body = Selected,
    params(("X-Confirm" = Option<String>, Header, description = "`true`, unless it is a dry run")),
    responses((status = 200, body = Batch), Refusal)
)]
pub async fn requeue_quarantined(
    State(api): State<Api>,
    Entered(scope): Entered,
    confirmed: Confirmation,
    Body(body): Body<Selected>,
) -> Answer<Batch> {
    let asked = body.asked(BulkAction::RequeueQuarantined)?;
    confirmed.require_unless(asked.dry_run)?;
    Ok(Json(bulk::carry_out(&api.engine, scope, asked).await?.into()))
}
