//! Bulk operations: planned, applied chunk by chunk, carried on by whichever process leads, aborted, forgotten.

use super::{Engine, door::Door, enqueue::EnqueueRequest};
use crate::{
    bulk::{BulkAction, BulkRequest, has_no_definition, no_such_plan},
    ports::bulk::RetriedJob,
    scope::{Permission, Scope},
    store::StoreResult,
    verbs::bulk::{Applied, Checked, RetryChunk},
};
use leasehold_types::{
    JobFilter, Problem, ProblemCode, Source,
    view::{BulkOperation, BulkState, JobDetail},
};
use std::time::Duration;
use uuid::Uuid;

/// Jobs per transaction when a plan is applied: enough to be quick, few enough to hold no lock for long.
const CHUNK: u32 = 500;
/// The payloads of jobs to be retried are held in memory at once.
const RETRY_CHUNK: u32 = 100;
const TOP_GROUPS: u32 = 10;
/// Operations on one page of the list.
pub const MOST_OPERATIONS: u32 = 200;

const LEADERSHIP: &str = "operations";
const LEADS_FOR: Duration = Duration::from_secs(10);
/// Chunks of one operation in one look, so that others get their turn.
const CHUNKS_AT_ONCE: usize = 20;
/// Pages read for one list by somebody who sees only some of the operations.
const LIST_ROUNDS: usize = 20;
/// Batches of forgotten operations in one look.
const PRUNE_ROUNDS: usize = 20;

impl Engine {
    /// Counts what would be changed, and changes nothing.
    pub async fn plan_bulk(
        &self,
        scope: &Scope,
        action: BulkAction,
        filter: JobFilter,
        reason: &str,
    ) -> Result<BulkOperation, Problem> {
        self.plan_bulk_in_groups(scope, action, filter, reason, TOP_GROUPS).await
    }

    /// The same, naming so many of the largest groups.
    pub async fn plan_bulk_in_groups(
        &self,
        scope: &Scope,
        action: BulkAction,
        filter: JobFilter,
        reason: &str,
        top_groups: u32,
    ) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        let reason = self.reason_given(reason)?;
        let filter = self.as_kept(&filter).await?;
        let filter = scope.narrowed(&filter)?.into_owned();
        let request = BulkRequest { action, filter, reason, top_groups };
        Ok(self.store.plan_bulk(scope, request).await?)
    }

    /// Marks a plan as under way; [`Engine::carry_on_operations`] does the work.
    pub async fn begin_bulk(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        self.check_planner(scope, plan).await?;
        Ok(self.store.begin_bulk(scope, plan).await?)
    }

    /// Applies the next chunk of a plan; call again until it is done.
    pub async fn apply_bulk(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        self.apply_chunk(scope, plan, CHUNK).await
    }

    /// The same with another number of jobs in the chunk.
    pub async fn apply_chunk(&self, scope: &Scope, plan: Uuid, most: u32) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        let known = self.check_planner(scope, plan).await?;
        let most = if known.action == BulkAction::Retry.name() { most.min(RETRY_CHUNK) } else { most };
        match self.store.apply_bulk(scope, plan, most).await? {
            Applied::Chunk(operation) => Ok(operation),
            Applied::ToRetry(chunk) => {
                let checked = self.check_retries(&chunk).await?;
                Ok(self.store.retry_chunk(scope, &chunk, checked).await?)
            }
        }
    }

    /// Applies a plan to its end, telling after each chunk how far it has come. Each chunk stands by itself: what
    /// is cut off here is carried on by whoever leads.
    pub async fn apply_bulk_to_end(
        &self,
        scope: &Scope,
        plan: Uuid,
        mut told: impl FnMut(&BulkOperation),
    ) -> Result<BulkOperation, Problem> {
        let mut operation = self.apply_bulk(scope, plan).await?;
        loop {
            told(&operation);
            if operation.state != BulkState::Applying {
                return Ok(operation);
            }
            operation = self.go_on(scope, plan).await?;
        }
    }

    /// The next chunk of an operation under way, which others may finish or abort at any moment.
    async fn go_on(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        match self.apply_bulk(scope, plan).await {
            Err(problem) if problem.code == ProblemCode::WrongState => {
                Ok(self.store.bulk_operation(scope, plan).await?)
            }
            applied => applied,
        }
    }

    /// Who is kept to some domains sees and applies only plans of their own: another's may reach further.
    async fn check_planner(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        let found = self.store.bulk_operation(scope, plan).await?;
        if sees(scope, &found) { Ok(found) } else { Err(no_such_plan()) }
    }

    pub async fn abort_bulk(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        scope.require(Permission::Operate)?;
        self.check_planner(scope, plan).await?;
        Ok(self.store.abort_bulk(scope, plan).await?)
    }

    pub async fn bulk_operation(&self, scope: &Scope, plan: Uuid) -> Result<BulkOperation, Problem> {
        scope.require(Permission::View)?;
        self.check_planner(scope, plan).await
    }

    /// Newest first; from before this one, if one is given.
    pub async fn bulk_operations(
        &self,
        scope: &Scope,
        before: Option<Uuid>,
        limit: u32,
    ) -> Result<Vec<BulkOperation>, Problem> {
        scope.require(Permission::View)?;
        let limit = limit.clamp(1, MOST_OPERATIONS);
        let (mut found, mut before) = (Vec::new(), before);
        // Others' operations do not count: a page is full, or it is the last.
        for _ in 0..LIST_ROUNDS {
            let page = self.store.bulk_operations(scope, before, limit).await?;
            let is_last = page.len() < limit as usize;
            before = page.last().map(|operation| operation.id).or(before);
            found.extend(page.into_iter().filter(|operation| sees(scope, operation)));
            if is_last || found.len() >= limit as usize {
                break;
            }
        }
        found.truncate(limit as usize);
        Ok(found)
    }

    /// One look for operations under way: the leader applies some chunks of each, however they came to be left. Two
    /// leaders at once share the chunks. How many chunks were applied.
    pub async fn carry_on_operations(&self, holder: &str) -> StoreResult<usize> {
        let under_way = self.store.bulk_under_way().await?;
        if under_way.is_empty() || !self.store.try_lead(LEADERSHIP, holder, LEADS_FOR).await? {
            return Ok(0);
        }
        let mut chunks = 0;
        for operation in under_way {
            // One that cannot be carried on must not stop the others.
            match self.carry_on(&operation).await {
                Ok(applied) => chunks += applied,
                Err(problem) => {
                    tracing::warn!(operation = %operation.id, problem = %problem.detail, "a bulk operation is stuck");
                }
            }
        }
        Ok(chunks)
    }

    async fn carry_on(&self, operation: &BulkOperation) -> Result<usize, Problem> {
        let scope = Scope::system("operations");
        for applied in 0..CHUNKS_AT_ONCE {
            if self.go_on(&scope, operation.id).await?.state != BulkState::Applying {
                return Ok(applied + 1);
            }
        }
        Ok(CHUNKS_AT_ONCE)
    }

    /// Forgets operations that finished long ago, and plans that expired unapplied.
    pub async fn prune_operations(&self) -> StoreResult<()> {
        let kept = self.config.operations_kept;
        let before = (!kept.is_zero()).then(|| self.now().minus(kept));
        for _ in 0..PRUNE_ROUNDS {
            if self.store.prune_bulk(before).await? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The next jobs of a plan to retry, checked as an enqueue is. What the caller may reach was decided with the plan.
    async fn check_retries(&self, chunk: &RetryChunk) -> Result<Checked, Problem> {
        let scope = Scope::system("operations");
        let by = chunk.operation.applied_by.as_ref().unwrap_or(&chunk.operation.actor);
        let mut checked = Vec::with_capacity(chunk.jobs.len());
        let (mut door, mut tenant): (Option<Door<'_>>, _) = (None, None);
        for job in &chunk.jobs {
            if tenant != Some(job.tenant) {
                let limits = self.limits_of(job.tenant).await?;
                match &mut door {
                    Some(door) => door.turn_to(job.tenant, limits),
                    none => *none = Some(Door::open(self, &scope, job.tenant).await?),
                }
                tenant = Some(job.tenant);
            }
            let Some(door) = &mut door else { continue };
            door.next_call();
            let new = match repeat_of(job.clone()) {
                Ok(request) => door.check(request).await,
                Err(problem) => Err(problem),
            };
            let new = new.map(|mut new| {
                new.requested_by.clone_from(by);
                new
            });
            checked.push((job.number, new));
            tokio::task::yield_now().await;
        }
        Ok(checked)
    }
}

fn sees(scope: &Scope, operation: &BulkOperation) -> bool {
    scope.domains.is_none() || operation.actor == scope.actor.to_string()
}

/// The request that repeats a job. Its dedupe and idempotency keys stay with it: they would stand in the way.
pub(super) fn repeat_of(old: RetriedJob) -> Result<EnqueueRequest, Problem> {
    let key = old.definition_key.ok_or_else(has_no_definition)?;
    Ok(EnqueueRequest {
        queue: Some(old.queue),
        priority: Some(old.priority),
        max_attempts: Some(old.max_attempts),
        concurrency_key: old.concurrency_key,
        correlation_id: old.correlation_id,
        owner_user_id: old.owner_user_id,
        project_id: old.project_id,
        parent: Some(old.number),
        ..EnqueueRequest::new(key, old.payload, Source::Manual)
    })
}

impl From<JobDetail> for RetriedJob {
    fn from(old: JobDetail) -> Self {
        Self {
            number: old.row.number,
            tenant: old.tenant_id,
            definition_key: old.definition_key,
            queue: old.row.queue,
            priority: old.row.priority,
            max_attempts: old.row.max_attempts,
            payload: old.payload,
            concurrency_key: old.concurrency_key,
            correlation_id: old.correlation_id,
            owner_user_id: old.owner_user_id,
            project_id: old.project_id,
        }
    }
}
