//! Bulk operations. First a plan counts what matches, exactly, and remembers the highest job number it saw; then it is
//! applied in chunks, each a transaction that locks the operation's row first and writes how far it has come. So two
//! processes that apply the same plan share its chunks, and one that is killed loses and repeats nothing.
//!
//! What a plan counts and what applying it changes can differ only by jobs that moved on in between, or were refused;
//! those are counted as skipped.

mod chunk;

use super::{Failed, audit, steering::ROUNDS};
use crate::{
    params::NewJob,
    ports::{
        bulk::{Operation, OperationFilter, OperationRows, RetriedJob},
        tx::{Transactions, Tx},
    },
    rules::{
        bulk::{BulkAction, BulkRequest, no_such_plan},
        steering::contended,
    },
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{
    Problem, Timestamp,
    view::{BulkOperation, BulkState},
};
use uuid::Uuid;

/// Job numbers that a plan shows.
const SAMPLE: u32 = 10;
/// Operations removed by one transaction.
const REMOVED_AT_ONCE: u32 = 500;

/// What the next chunk of a plan came to.
#[derive(Clone, PartialEq, Debug)]
pub enum Applied {
    Chunk(BulkOperation),
    /// New jobs come in through the engine's door: it checks these and calls [`Bulk::retry_chunk`].
    ToRetry(RetryChunk),
}

/// The next jobs of a plan to retry; nothing was changed yet.
#[derive(Clone, PartialEq, Debug)]
pub struct RetryChunk {
    pub operation: BulkOperation,
    /// Where the plan stood; if it stands elsewhere by the time the jobs are made, somebody else made them.
    pub after: i64,
    pub numbers: Vec<i64>,
    pub is_last: bool,
    pub jobs: Vec<RetriedJob>,
}

/// What the door said to the jobs of a chunk: each with the number of the one it repeats.
pub type Checked = Vec<(i64, Result<NewJob, Problem>)>;

#[async_trait]
pub trait Bulk: Send + Sync {
    /// Counts what matches and remembers it for ten minutes. Changes no job. Audited.
    async fn plan_bulk(&self, scope: &Scope, request: BulkRequest) -> StoreResult<BulkOperation>;
    /// Marks a plan as under way, for whoever carries it on. `NOT_FOUND` for an unknown or foreign plan, `WRONG_STATE`
    /// for one that has expired, finished or was aborted; one under way is answered as it stands. Audited.
    async fn begin_bulk(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation>;
    /// Applies the next chunk of a plan in one transaction and says where it stands; refuses like
    /// [`Bulk::begin_bulk`]. The end is audited.
    async fn apply_bulk(&self, scope: &Scope, id: Uuid, most: u32) -> StoreResult<Applied>;
    /// Makes the jobs of a chunk that was checked. Those that a gate refuses, or whose parent has moved on, are skipped.
    async fn retry_chunk(
        &self,
        scope: &Scope,
        chunk: &RetryChunk,
        checked: Checked,
    ) -> StoreResult<BulkOperation>;
    /// Stops a plan where it stands; `WRONG_STATE` when there is nothing left to stop. Audited.
    async fn abort_bulk(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation>;
    /// `NOT_FOUND`.
    async fn bulk_operation(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation>;
    /// Newest first; from before this one, if one is given.
    async fn bulk_operations(
        &self,
        scope: &Scope,
        before: Option<Uuid>,
        limit: u32,
    ) -> StoreResult<Vec<BulkOperation>>;
    /// Those that are under way, the oldest first.
    async fn bulk_under_way(&self) -> StoreResult<Vec<BulkOperation>>;
    /// Forgets operations that finished before a moment (none: they are kept) and plans that expired unapplied.
    async fn prune_bulk(&self, finished_before: Option<Timestamp>) -> StoreResult<u64>;
}

/// Operations looked at in one go.
const MOST_UNDER_WAY: u32 = 100;

#[async_trait]
impl<S: Transactions> Bulk for S
where
    StoreError: From<Failed<S>>,
{
    async fn plan_bulk(&self, scope: &Scope, request: BulkRequest) -> StoreResult<BulkOperation> {
        let mut snapshot = self.snapshot().await?;
        let named = match request.filter.q.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => snapshot.named_job(scope.tenant(), text).await?,
            None => None,
        };
        let top = request.top_groups;
        let mut operation = Operation::new(scope, request, named, snapshot.now());
        let groups = snapshot.count_jobs(operation.selection()).await?;
        operation.view.sample = snapshot.lowest_numbers(operation.selection(), SAMPLE).await?;
        drop(snapshot);
        operation.counted(groups, top);
        let mut tx = self.transaction().await?;
        tx.insert_operation(&operation).await?;
        let entry = operation.entry("bulk.plan").because(operation.view.reason.as_str());
        audit(&mut tx, scope, &[entry]).await?;
        tx.commit().await?;
        Ok(operation.view)
    }

    async fn begin_bulk(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation> {
        let mut tx = self.transaction().await?;
        let operation = chunk::open(&mut tx, scope, id).await?;
        tx.save_operation(&operation).await?;
        tx.commit().await?;
        Ok(operation.view)
    }

    async fn apply_bulk(&self, scope: &Scope, id: Uuid, most: u32) -> StoreResult<Applied> {
        let most = most.max(1);
        for _ in 0..ROUNDS {
            let mut tx = self.transaction().await?;
            let mut operation = chunk::open(&mut tx, scope, id).await?;
            let numbers = tx.lowest_numbers(operation.rest(), most).await?;
            let is_last = numbers.len() < most as usize;
            if operation.action == BulkAction::Retry && !numbers.is_empty() {
                let jobs = tx.jobs_to_retry(&numbers).await?;
                tx.save_operation(&operation).await?;
                tx.commit().await?;
                let (after, operation) = (operation.reached, operation.view);
                return Ok(Applied::ToRetry(RetryChunk { operation, after, numbers, is_last, jobs }));
            }
            let jobs = tx.lock_matching(operation.rest(), &numbers).await?;
            let Some(done) = chunk::act(&mut tx, &operation, &jobs).await? else { continue };
            operation.advance(&numbers, is_last, done, tx.now());
            chunk::save(&mut tx, &operation).await?;
            tx.commit().await?;
            return Ok(Applied::Chunk(operation.view));
        }
        Err(contended().into())
    }

    async fn retry_chunk(
        &self,
        scope: &Scope,
        chunk: &RetryChunk,
        checked: Checked,
    ) -> StoreResult<BulkOperation> {
        for _ in 0..ROUNDS {
            let mut tx = self.transaction().await?;
            let mut operation = chunk::find(&mut tx, scope, chunk.operation.id).await?;
            if operation.reached != chunk.after || operation.view.state != BulkState::Applying {
                return Ok(operation.view);
            }
            let found = tx.lock_matching(operation.rest(), &chunk.numbers).await?;
            let Some(done) = chunk::retry(&mut tx, &found, &checked).await? else { continue };
            operation.advance(&chunk.numbers, chunk.is_last, done, tx.now());
            chunk::save(&mut tx, &operation).await?;
            tx.commit().await?;
            return Ok(operation.view);
        }
        Err(contended().into())
    }

    async fn abort_bulk(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation> {
        let mut tx = self.transaction().await?;
        let mut operation = chunk::find(&mut tx, scope, id).await?;
        operation.abort(tx.now())?;
        tx.save_operation(&operation).await?;
        let entry = operation.entry("bulk.abort").because(operation.outcome());
        audit(&mut tx, scope, &[entry]).await?;
        tx.commit().await?;
        Ok(operation.view)
    }

    async fn bulk_operation(&self, scope: &Scope, id: Uuid) -> StoreResult<BulkOperation> {
        let wanted = OperationFilter { tenant: scope.tenant(), id: Some(id), ..OperationFilter::default() };
        let found = self.snapshot().await?.operations(wanted, 1).await?.pop();
        Ok(found.ok_or_else(no_such_plan)?.view)
    }

    async fn bulk_operations(
        &self,
        scope: &Scope,
        before: Option<Uuid>,
        limit: u32,
    ) -> StoreResult<Vec<BulkOperation>> {
        let wanted = OperationFilter { tenant: scope.tenant(), before, ..OperationFilter::default() };
        let found = self.snapshot().await?.operations(wanted, limit).await?;
        Ok(found.into_iter().map(|operation| operation.view).collect())
    }

    async fn bulk_under_way(&self) -> StoreResult<Vec<BulkOperation>> {
        let wanted = OperationFilter { state: Some(BulkState::Applying), ..OperationFilter::default() };
        let found = self.snapshot().await?.operations(wanted, MOST_UNDER_WAY).await?;
        Ok(found.into_iter().rev().map(|operation| operation.view).collect())
    }

    async fn prune_bulk(&self, finished_before: Option<Timestamp>) -> StoreResult<u64> {
        let mut tx = self.transaction().await?;
        let now = tx.now();
        let removed = tx.delete_operations(finished_before, now, REMOVED_AT_ONCE).await?;
        tx.commit().await?;
        Ok(removed)
    }
}
