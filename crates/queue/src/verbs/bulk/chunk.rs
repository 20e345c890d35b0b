//! One chunk of a bulk operation, inside its transaction: the same moves as the single verbs make, many at a time.
//!
//! The audit log has one entry for each step of an operation, not one for each job. What was done to a job, by whom
//! and why, is in its events.

use super::super::{audit, steering};
use crate::{
    params::{NewJob, Wake},
    ports::{
        bulk::{Operation, OperationFilter},
        steering::{Move, SteeredJob},
        tx::Tx,
    },
    rules::{
        bulk::{BulkAction, Done, asked_before, moment_for, no_such_plan, with_free_keys},
        steering::{Cancelling, cancel},
    },
    scope::Scope,
    store::{StoreError, StoreResult},
};
use leasehold_types::{JobStatus, LiveKind, Problem, Timestamp, view::BulkState};
use std::collections::HashSet;
use uuid::Uuid;

/// Nobody else gets at it until the transaction ends. A plan of another tenant is as if it did not exist.
pub(super) async fn find<T: Tx>(tx: &mut T, scope: &Scope, id: Uuid) -> StoreResult<Operation>
where
    StoreError: From<T::Error>,
{
    tx.lock_operation(id).await?;
    let wanted = OperationFilter { tenant: scope.tenant(), id: Some(id), ..OperationFilter::default() };
    Ok(tx.operations(wanted, 1).await?.pop().ok_or_else(no_such_plan)?)
}

/// The same, for one that can be applied; with its first step it is under way.
pub(super) async fn open<T: Tx>(tx: &mut T, scope: &Scope, id: Uuid) -> StoreResult<Operation>
where
    StoreError: From<T::Error>,
{
    let mut operation = find(tx, scope, id).await?;
    operation.check_open(tx.now())?;
    if operation.view.state == BulkState::Planned {
        operation.begin(scope);
        let entry = operation.entry("bulk.apply").because(operation.view.reason.as_str());
        audit(tx, scope, &[entry]).await?;
    }
    Ok(operation)
}

/// With its last chunk the audit log says what it came to.
pub(super) async fn save<T: Tx>(tx: &mut T, operation: &Operation) -> Result<(), T::Error> {
    tx.save_operation(operation).await?;
    if operation.view.state == BulkState::Done && operation.audited {
        let entry = operation.entry("bulk.finish").because(operation.outcome());
        tx.insert_audit(&operation.by(), operation.origin.as_deref(), &[entry]).await?;
    }
    Ok(())
}

/// What it came to; none when another transaction took a key, and this one has to be begun anew.
pub(super) async fn act<T: Tx>(
    tx: &mut T,
    operation: &Operation,
    jobs: &[SteeredJob],
) -> Result<Option<Done>, T::Error> {
    if jobs.is_empty() {
        return Ok(Some(Done::default()));
    }
    let (by, reason) = (operation.by(), operation.reason());
    match operation.action {
        BulkAction::Cancel => cancel_all(tx, jobs, &by, reason).await.map(Some),
        BulkAction::Reschedule { at } => reschedule(tx, jobs, at, (&by, reason)).await.map(Some),
        BulkAction::RequeueQuarantined => requeue(tx, jobs, &by, reason).await,
        BulkAction::Prune { archive } => {
            tx.delete_jobs(&jobs.iter().collect::<Vec<_>>(), archive).await?;
            tx.wake(Wake::Events);
            Ok(Some(Done { changed: jobs.len() as i64, ..Done::default() }))
        }
        // Through the engine's door.
        BulkAction::Retry => Ok(Some(Done::default())),
    }
}

async fn cancel_all<T: Tx>(
    tx: &mut T,
    jobs: &[SteeredJob],
    by: &str,
    reason: Option<&str>,
) -> Result<Done, T::Error> {
    let (mut waiting, mut running, mut skips) = (Vec::new(), Vec::new(), Vec::new());
    for job in jobs {
        match cancel(job) {
            Ok(Cancelling::Ends) => waiting.push(job),
            Ok(Cancelling::IsAsked) => running.push(job),
            Ok(Cancelling::WasAsked) => skips.push((job.number, asked_before())),
            Err(problem) => skips.push((job.number, problem)),
        }
    }
    if !waiting.is_empty() {
        steering::cancel_waiting(tx, &waiting, (by, reason), Some(by)).await?;
    }
    if !running.is_empty() {
        steering::ask_running(tx, &running, (by, reason), Some(by)).await?;
    }
    Ok(Done { changed: (waiting.len() + running.len()) as i64, skips })
}

async fn reschedule<T: Tx>(
    tx: &mut T,
    jobs: &[SteeredJob],
    at: Option<Timestamp>,
    (by, message): (&str, Option<&str>),
) -> Result<Done, T::Error> {
    let jobs: Vec<_> = jobs.iter().collect();
    let at = moment_for(at, tx.now());
    tx.reschedule_jobs(&steering::numbers(&jobs), at).await?;
    let (kind, status) = (LiveKind::Rescheduled, JobStatus::Queued);
    tx.record_moves(&jobs, Move { kind, status, message, error_code: None, actor: Some(by) }).await?;
    tx.wake(Wake::Jobs);
    tx.wake(Wake::Events);
    Ok(Done { changed: jobs.len() as i64, ..Done::default() })
}

async fn requeue<T: Tx>(
    tx: &mut T,
    jobs: &[SteeredJob],
    by: &str,
    reason: Option<&str>,
) -> Result<Option<Done>, T::Error> {
    let held = tx.dedupe_holders(&steering::numbers(&jobs.iter().collect::<Vec<_>>())).await?;
    let (free, skips) = with_free_keys(jobs, &held);
    if !free.is_empty() && !steering::requeue_all(tx, &free, reason, Some(by)).await? {
        return Ok(None);
    }
    Ok(Some(Done { changed: free.len() as i64, skips }))
}

/// New jobs for those whose parent is still as it was when they were checked.
pub(super) async fn retry<T: Tx>(
    tx: &mut T,
    parents: &[SteeredJob],
    checked: &[(i64, Result<NewJob, Problem>)],
) -> Result<Option<Done>, T::Error> {
    let here: HashSet<i64> = parents.iter().map(|job| job.number).collect();
    let (mut jobs, mut numbers, mut done) = (Vec::new(), Vec::new(), Done::default());
    for (number, checked) in checked.iter().filter(|(number, _)| here.contains(number)) {
        match checked {
            Ok(job) => {
                jobs.push(job.clone());
                numbers.push(*number);
            }
            Err(problem) => done.skips.push((*number, problem.clone())),
        }
    }
    // The operation's own entries are in the audit log.
    let scope = Scope::system("operations");
    let Some(answers) = tx.create_jobs(&scope, &jobs).await? else { return Ok(None) };
    for (number, answer) in numbers.into_iter().zip(answers) {
        match answer {
            Ok(_) => done.changed += 1,
            Err(problem) => done.skips.push((number, problem)),
        }
    }
    if done.changed > 0 {
        tx.wake(Wake::Jobs);
        tx.wake(Wake::Events);
    }
    Ok(Some(done))
}
