//! The second half of a bulk operation: the next numbers of a plan, in one transaction.
//!
//! How far the plan has come is written with what was changed, so a crash between two chunks loses nothing and
//! repeats nothing: the next call goes on. Jobs above the highest number of the plan are never looked at. For
//! actions on jobs that have ended, those that ended after the plan are left alone as well: nobody saw them.

use super::{
    archive,
    operation::{self, Operation},
    retry,
};
use crate::{
    SqliteStore,
    audit::audit,
    convert::limit,
    error::Outcome,
    filter,
    steered::{self, Order, Steered},
};
use leasehold_queue::{Scope, params::Wake, upkeep::BulkAction};
use leasehold_types::{
    JobStatus, Problem, ProblemCode, Timestamp,
    view::{BulkOperation, BulkState},
};
use sqlx::{QueryBuilder, SqliteConnection};
use std::collections::HashSet;
use uuid::Uuid;

pub(super) async fn apply(
    store: &SqliteStore,
    scope: &Scope,
    id: Uuid,
    chunk: u32,
) -> Outcome<BulkOperation> {
    let chunk = chunk.max(1);
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let mut operation = operation::find(&mut tx, scope, id).await?;
    check_open(&operation, now)?;
    if operation.view.state == BulkState::Planned {
        audit(&mut tx, scope, &[operation.deed("bulk.apply")], now).await?;
    }
    let numbers = next_numbers(&mut tx, &operation, chunk).await?;
    let jobs = steered::load(&mut tx, &numbers).await?;
    let reason = Some(operation.view.reason.as_str()).filter(|reason| !reason.is_empty());
    let order = Order { scope, reason, now };
    let changed = act(&mut tx, &operation.action, &jobs, &order).await?;
    advance(&mut operation, &numbers, chunk, changed, now);
    operation.save(&mut tx).await?;
    tx.commit().await?;
    if changed > 0 {
        ring(store, &operation.action);
    }
    Ok(operation.view)
}

/// A plan expires before its first chunk only: one under way may take as long as it needs.
fn check_open(operation: &Operation, now: Timestamp) -> Outcome<()> {
    let expired = operation.view.state == BulkState::Planned && now >= operation.view.expires_at;
    let detail = match operation.view.state {
        BulkState::Done => "This plan was applied before. Nothing was changed.",
        BulkState::Aborted => "This plan was aborted. Nothing was changed.",
        _ if expired => {
            "This plan has expired. Nothing was changed; make a new plan to see what matches now."
        }
        _ => return Ok(()),
    };
    Err(Problem::new(ProblemCode::WrongState, detail).into())
}

async fn next_numbers(
    connection: &mut SqliteConnection,
    operation: &Operation,
    chunk: u32,
) -> Outcome<Vec<i64>> {
    let view = &operation.view;
    let of_the_ended = operation.action.statuses().iter().all(|status| status.is_finished());
    let selection = operation
        .selection()
        .above(operation.reached)
        .below(Some(view.highest_number + 1))
        .ended_by(of_the_ended.then_some(view.created_at));
    let mut query = QueryBuilder::new("SELECT number FROM (");
    selection.push_numbers(&mut query, filter::Order::OldestFirst, limit(chunk));
    query.push(") ORDER BY number LIMIT ").push_bind(limit(chunk));
    Ok(query.build_query_scalar().fetch_all(connection).await?)
}

/// How many of the jobs it changed.
async fn act(
    connection: &mut SqliteConnection,
    action: &BulkAction,
    jobs: &[Steered],
    order: &Order<'_>,
) -> Outcome<usize> {
    if jobs.is_empty() {
        return Ok(0);
    }
    let all: Vec<&Steered> = jobs.iter().collect();
    match action {
        BulkAction::Cancel => cancel(connection, &all, order).await,
        BulkAction::Reschedule { at } => {
            // A moment that has passed is "now": the job must not jump ahead of those already waiting.
            let at = at.filter(|at| *at > order.now).unwrap_or(order.now);
            steered::reschedule(connection, &all, at, order).await?;
            Ok(all.len())
        }
        BulkAction::Retry => retry::retry(connection, &all, order).await,
        BulkAction::RequeueQuarantined => requeue(connection, &all, order).await,
        BulkAction::Prune { archive } => {
            archive::prune(connection, &all, *archive, order).await?;
            Ok(all.len())
        }
    }
}

async fn cancel(connection: &mut SqliteConnection, jobs: &[&Steered], order: &Order<'_>) -> Outcome<usize> {
    let (running, waiting): (Vec<&Steered>, Vec<&Steered>) =
        jobs.iter().partition(|job| job.status == JobStatus::Processing);
    let unasked: Vec<&Steered> = running.into_iter().filter(|job| !job.cancel_requested).collect();
    if !waiting.is_empty() {
        steered::cancel_waiting(connection, &waiting, order).await?;
    }
    if !unasked.is_empty() {
        steered::request_cancel(connection, &unasked, order).await?;
    }
    Ok(waiting.len() + unasked.len())
}

/// Of jobs that share a dedupe key only the first comes back.
async fn requeue(connection: &mut SqliteConnection, jobs: &[&Steered], order: &Order<'_>) -> Outcome<usize> {
    let blocked = steered::active_twins(connection, jobs).await?;
    let mut taken = HashSet::new();
    let mut is_free = |job: &Steered| match &job.dedupe_key {
        None => true,
        Some(key) => !blocked.contains_key(&job.number) && taken.insert((job.tenant, key.clone())),
    };
    let free: Vec<&Steered> = jobs.iter().copied().filter(|job| is_free(job)).collect();
    if !free.is_empty() {
        steered::requeue(connection, &free, order).await?;
    }
    Ok(free.len())
}

fn advance(operation: &mut Operation, numbers: &[i64], chunk: u32, changed: usize, now: Timestamp) {
    let view = &mut operation.view;
    view.changed += changed as i64;
    view.state = BulkState::Applying;
    if let Some(last) = numbers.last() {
        operation.reached = *last;
    }
    if numbers.len() < chunk as usize {
        operation.reached = view.highest_number;
        view.state = BulkState::Done;
        view.skipped = (view.planned - view.changed).max(0);
        view.finished_at = Some(now);
    }
}

fn ring(store: &SqliteStore, action: &BulkAction) {
    match action {
        BulkAction::Cancel => store.bell.ring(Wake::Cancel),
        BulkAction::Reschedule { .. } | BulkAction::Retry | BulkAction::RequeueQuarantined => {
            store.bell.ring(Wake::Jobs);
        }
        BulkAction::Prune { .. } => {}
    }
    store.bell.ring(Wake::Events);
}
