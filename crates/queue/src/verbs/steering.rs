//! Jobs and queues, as people steer them: cancel, requeue, pause, drain, resume.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    params::{CancelAnswer, QueueControl, Wake},
    ports::{
        steering::{JobRows, Move, SteeredJob},
        tx::{Transactions, Tx},
    },
    rules::steering::{self, Cancelling, QueueAction, contended, no_such_job},
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{JobRef, JobStatus, LiveKind};

/// How often a transaction is begun anew that lost a key to another.
pub(super) const ROUNDS: usize = 20;

#[async_trait]
pub trait Steering: Send + Sync {
    /// Waiting (queued, quarantined) → cancelled at once; running → `cancel_requested_at` (the first request
    /// wins) and a wake-up; terminal → `WRONG_STATE`; not reached → `NOT_FOUND`. Audited.
    async fn cancel(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<CancelAnswer>;
    /// Quarantined → queued in place: streak, budget, token, error and `completed_at` reset, attempt numbers
    /// go on. Else `WRONG_STATE`; `ALREADY_EXISTS` when an active job holds its dedupe key. Audited.
    async fn requeue(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<()>;
    /// Pauses, drains or resumes a queue and leaves the rest of its control as it is, however many do so at
    /// once. Answers with the state that holds now. Audited.
    async fn control_queue(
        &self,
        scope: &Scope,
        domain: &str,
        queue: &str,
        action: QueueAction,
        reason: Option<&str>,
    ) -> StoreResult<QueueControl>;
}

#[async_trait]
impl<S: Transactions> Steering for S
where
    StoreError: From<Failed<S>>,
{
    async fn cancel(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<CancelAnswer> {
        let mut tx = self.transaction().await?;
        let job = find(&mut tx, scope, job).await?;
        let step = steering::cancel(&job)?;
        let by = scope.actor.to_string();
        let answer = match step {
            Cancelling::WasAsked => return Ok(CancelAnswer::Requested),
            Cancelling::Ends => {
                cancel_waiting(&mut tx, &[&job], (&by, reason), None).await?;
                CancelAnswer::Cancelled
            }
            Cancelling::IsAsked => {
                ask_running(&mut tx, &[&job], (&by, reason), None).await?;
                CancelAnswer::Requested
            }
        };
        audit(&mut tx, scope, &[entry(&job, "job.cancel", reason)]).await?;
        tx.commit().await?;
        Ok(answer)
    }

    async fn requeue(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<()> {
        for _ in 0..ROUNDS {
            let mut tx = self.transaction().await?;
            let job = find(&mut tx, scope, job).await?;
            let holder = tx.dedupe_holders(&[job.number]).await?.remove(&job.number);
            steering::requeue(&job, holder)?;
            if requeue_all(&mut tx, &[&job], reason, None).await? {
                audit(&mut tx, scope, &[entry(&job, "job.requeue", reason)]).await?;
                return tx.commit().await;
            }
        }
        Err(contended().into())
    }

    async fn control_queue(
        &self,
        scope: &Scope,
        domain: &str,
        queue: &str,
        action: QueueAction,
        reason: Option<&str>,
    ) -> StoreResult<QueueControl> {
        let mut tx = self.transaction().await?;
        let by = scope.actor.to_string();
        let control = tx.change_queue(domain, queue, action.change(), &by, reason).await?;
        let name = format!("{domain}/{queue}");
        let entry = NewAuditEntry::new(scope.tenant(), action.audited_as(), "queue", name);
        audit(&mut tx, scope, &[because(entry, reason)]).await?;
        // A resumed queue may have jobs ready.
        tx.wake(Wake::Jobs);
        tx.commit().await?;
        Ok(control)
    }
}

/// A job of another tenant is as if it did not exist.
async fn find<T: Tx>(tx: &mut T, scope: &Scope, job: JobRef) -> StoreResult<SteeredJob>
where
    StoreError: From<T::Error>,
{
    let job = tx.lock_job(scope.tenant(), job).await?.ok_or_else(no_such_job)?;
    scope.check_domain(&job.domain)?;
    Ok(job)
}

fn entry(job: &SteeredJob, action: &'static str, reason: Option<&str>) -> NewAuditEntry {
    because(NewAuditEntry::new(Some(job.tenant), action, "job", job.number), reason)
}

fn because(entry: NewAuditEntry, reason: Option<&str>) -> NewAuditEntry {
    NewAuditEntry { reason: reason.map(str::to_owned), ..entry }
}

pub(super) fn numbers(jobs: &[&SteeredJob]) -> Vec<i64> {
    jobs.iter().map(|job| job.number).collect()
}

/// Waiting jobs end. `actor` is named in their events.
pub(super) async fn cancel_waiting<T: Tx>(
    tx: &mut T,
    jobs: &[&SteeredJob],
    (by, reason): (&str, Option<&str>),
    actor: Option<&str>,
) -> Result<(), T::Error> {
    tx.cancel_jobs(&numbers(jobs), by, reason).await?;
    let (kind, status) = (LiveKind::Cancelled, JobStatus::Cancelled);
    tx.record_moves(jobs, Move { kind, status, message: reason, error_code: None, actor }).await?;
    tx.wake(Wake::Events);
    Ok(())
}

/// Running jobs are asked to stop, and their workers told.
pub(super) async fn ask_running<T: Tx>(
    tx: &mut T,
    jobs: &[&SteeredJob],
    (by, reason): (&str, Option<&str>),
    actor: Option<&str>,
) -> Result<(), T::Error> {
    tx.request_cancel(&numbers(jobs), by, reason).await?;
    let (kind, status) = (LiveKind::CancelRequested, JobStatus::Processing);
    tx.record_moves(jobs, Move { kind, status, message: reason, error_code: None, actor }).await?;
    tx.wake(Wake::Events);
    tx.wake(Wake::Cancel);
    Ok(())
}

/// Quarantined jobs are queued again; false when a key was lost to another transaction.
pub(super) async fn requeue_all<T: Tx>(
    tx: &mut T,
    jobs: &[&SteeredJob],
    reason: Option<&str>,
    actor: Option<&str>,
) -> Result<bool, T::Error> {
    if !tx.requeue_jobs(&numbers(jobs)).await? {
        return Ok(false);
    }
    let (kind, status) = (LiveKind::Requeued, JobStatus::Queued);
    tx.record_moves(jobs, Move { kind, status, message: reason, error_code: None, actor }).await?;
    tx.wake(Wake::Jobs);
    tx.wake(Wake::Events);
    Ok(true)
}
