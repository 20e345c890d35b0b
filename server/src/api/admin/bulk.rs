//! Many jobs at once: a plan that counts, then the plan applied. Small ones are done when the answer comes; a very
//! large one goes on after it.

use crate::api::schemas::JobState;
use leasehold_queue::{Engine, Scope, bulk::BulkAction};
use leasehold_types::{
    JobFilter, JobStatus, Problem, ProblemCode,
    view::{BulkGroup, BulkOperation, BulkState},
};
use serde::Serialize;
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};
use tracing::Instrument;
use utoipa::ToSchema;

/// How long a caller is kept waiting; what is left is done without it.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Asked {
    pub action: BulkAction,
    pub filter: JobFilter,
    pub reason: String,
    pub top_groups: u32,
    pub dry_run: bool,
}

/// The plan alone for a dry run, else the plan applied.
pub async fn carry_out(engine: &Arc<Engine>, scope: Scope, asked: Asked) -> Result<BulkOperation, Problem> {
    let Asked { action, filter, reason, top_groups, dry_run } = asked;
    let plan = engine.plan_bulk_in_groups(&scope, action, filter, &reason, top_groups).await?;
    if dry_run {
        return Ok(plan);
    }
    let (tell, told) = watch::channel(plan.clone());
    let engine = engine.clone();
    // Its own task: a caller that goes away must not leave the work half done.
    let work = async move {
        let known = |operation: &BulkOperation| drop(tell.send_replace(operation.clone()));
        engine.apply_bulk_to_end(&scope, plan.id, known).await
    };
    let work = tokio::spawn(work.in_current_span());
    match timeout(PATIENCE, work).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(Problem::new(ProblemCode::Internal, "The plan was not applied to its end.")),
        Err(_) => Ok(told.borrow().clone()),
    }
}

/// How many a plan changed, or would change.
pub fn affected(operation: &BulkOperation) -> i64 {
    match operation.state {
        BulkState::Planned => operation.planned,
        _ => operation.changed,
    }
}

pub fn state(operation: &BulkOperation) -> &'static str {
    operation.state.as_str()
}

/// How many jobs of one kind and state.
#[derive(Serialize, ToSchema)]
#[schema(as = JobGroup)]
pub struct Group {
    domain: String,
    queue: String,
    job_type: String,
    #[schema(value_type = JobState)]
    status: JobStatus,
    count: i64,
}

impl From<BulkGroup> for Group {
    fn from(group: BulkGroup) -> Self {
        let BulkGroup { domain, queue, job_type, status, jobs } = group;
        Self { domain, queue, job_type, status, count: jobs }
    }
}
