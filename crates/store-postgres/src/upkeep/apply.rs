//! The second half of a bulk operation: the next numbers of a plan, in one transaction.
//!
//! How far the plan has come is written with what was changed, so a crash between two chunks loses nothing and
//! repeats nothing: the next call goes on. Jobs above the highest number of the plan are never looked at. For
//! actions on jobs that have ended, those that ended after the plan are left alone as well: nobody saw them.
//!
//! The numbers are chosen without locks, so that the chunk's end is known; then the rows are locked, lowest
//! first, and asked for the same condition again. What has moved on in between is skipped.

use super::{
    archive,
    operation::{self, Operation},
    retry,
};
use crate::{
    PostgresStore,
    create::lost_a_race,
    error::database,
    filter::Selection,
    steered::{self, Order},
};
use leasehold_queue::{Scope, StoreResult, params::Wake, upkeep::BulkAction};
use leasehold_types::{
    Problem, ProblemCode, Timestamp,
    view::{BulkOperation, BulkState},
};
use sqlx::{PgConnection, QueryBuilder};
use std::{collections::HashSet, time::Duration};
use uuid::Uuid;

/// How often a chunk is tried that lost a dedupe key to somebody else between look and write.
const ROUNDS: u64 = 20;

pub(super) async fn apply(
    store: &PostgresStore,
    scope: &Scope,
    id: Uuid,
    chunk: u32,
) -> StoreResult<BulkOperation> {
    for round in 0..ROUNDS {
        if let Some(view) = try_chunk(store, scope, id, chunk.max(1)).await? {
            return Ok(view);
        }
        tokio::time::sleep(Duration::from_millis(rand::random_range(0..=round * 2))).await;
    }
    let detail = "Others are using the same dedupe keys right now. Nothing was changed; please try again.";
    Err(Problem::new(ProblemCode::Unavailable, detail).retry_after(1).into())
}

/// None when somebody else won a dedupe key; nothing was changed then.
async fn try_chunk(
    store: &PostgresStore,
    scope: &Scope,
    id: Uuid,
    chunk: u32,
) -> StoreResult<Option<BulkOperation>> {
    let mut tx = store.work.begin().await.map_err(database)?;
    let now = store.clock.now();
    let mut operation = operation::hold(&mut tx, scope, id).await?;
    check_open(&operation, now)?;
    if operation.view.state == BulkState::Planned {
        operation.audit(&mut tx, scope, "bulk.apply", now).await?;
    }
    let numbers = next_numbers(&mut tx, &operation, chunk).await?;
    let matching = lock(&mut tx, &operation, &numbers).await?;
    let reason = Some(operation.view.reason.as_str()).filter(|reason| !reason.is_empty());
    let order = Order { scope, reason, now, outbox: store.outbox };
    let changed = match act(&mut tx, &operation.action, &matching, &order).await {
        Ok(changed) => changed,
        Err(e) if lost_a_race(&e) => return Ok(None),
        Err(e) => return Err(database(e)),
    };
    advance(&mut operation, &numbers, chunk, changed, now);
    operation.save(&mut tx).await?;
    tx.commit().await.map_err(database)?;
    if changed > 0 {
        tell(store, &operation.action);
    }
    Ok(Some(operation.view))
}

/// A plan expires before its first chunk only: one under way may take as long as it needs.
fn check_open(operation: &Operation, now: Timestamp) -> StoreResult<()> {
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

fn selection(operation: &Operation) -> Selection<'_> {
    let view = &operation.view;
    let of_the_ended = operation.action.statuses().iter().all(|status| status.is_finished());
    operation
        .selection()
        .above(operation.reached)
        .below(Some(view.highest_number + 1))
        .ended_by(of_the_ended.then_some(view.created_at))
}

async fn next_numbers(
    connection: &mut PgConnection,
    operation: &Operation,
    chunk: u32,
) -> StoreResult<Vec<i64>> {
    let mut query = QueryBuilder::new("");
    selection(operation).push_lowest_numbers(&mut query, i64::from(chunk));
    query.build_query_scalar().fetch_all(connection).await.map_err(database)
}

/// Those of the numbers that match once their rows are ours.
async fn lock(
    connection: &mut PgConnection,
    operation: &Operation,
    numbers: &[i64],
) -> StoreResult<Vec<i64>> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::new("SELECT j.number FROM jobs j WHERE ");
    selection(operation).push_condition_on(&mut query, numbers.to_vec());
    query.push(" ORDER BY j.number FOR UPDATE");
    query.build_query_scalar().fetch_all(connection).await.map_err(database)
}

/// How many of the jobs it changed.
async fn act(
    connection: &mut PgConnection,
    action: &BulkAction,
    numbers: &[i64],
    order: &Order<'_>,
) -> Result<usize, sqlx::Error> {
    if numbers.is_empty() {
        return Ok(0);
    }
    let changed = match action {
        BulkAction::Cancel => {
            let waiting = steered::cancel_waiting(&mut *connection, numbers, order).await?;
            let asked = steered::request_cancel(connection, numbers, order).await?;
            waiting.len() + asked.into_iter().filter(|just_now| *just_now).count()
        }
        BulkAction::Reschedule { at } => {
            // A moment that has passed is "now": the job must not jump ahead of those already waiting.
            let at = at.filter(|at| *at > order.now).unwrap_or(order.now);
            steered::reschedule(connection, numbers, at, order).await?.len()
        }
        BulkAction::Retry => {
            let free = with_free_keys(connection, numbers).await?;
            retry::retry(connection, &free, order).await?
        }
        BulkAction::RequeueQuarantined => {
            let free = with_free_keys(connection, numbers).await?;
            steered::requeue(connection, &free, order).await?.len()
        }
        BulkAction::Prune { archive } => archive::prune(connection, numbers, *archive, order).await?.len(),
    };
    Ok(changed)
}

/// Jobs that can become active, or have a successor that does: nobody active holds their dedupe key. Of jobs
/// that share a key only the first comes back.
async fn with_free_keys(connection: &mut PgConnection, numbers: &[i64]) -> Result<Vec<i64>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT j.number, j.tenant_id, j.dedupe_key FROM jobs j
           WHERE j.number = ANY($1) AND NOT EXISTS (
             SELECT FROM jobs active
             WHERE active.tenant_id = j.tenant_id AND active.dedupe_key = j.dedupe_key
               AND active.dedupe_key IS NOT NULL AND active.status IN ('queued', 'processing')
               AND active.number <> j.number)
           ORDER BY j.number"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    let mut taken = HashSet::new();
    let first = rows.into_iter().filter(|row| match &row.dedupe_key {
        None => true,
        Some(key) => taken.insert((row.tenant_id, key.clone())),
    });
    Ok(first.map(|row| row.number).collect())
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

fn tell(store: &PostgresStore, action: &BulkAction) {
    match action {
        BulkAction::Cancel => store.wakes.tell(&[Wake::Events, Wake::Cancel]),
        BulkAction::Reschedule { .. } | BulkAction::Retry | BulkAction::RequeueQuarantined => {
            store.directory.forget();
            store.wakes.tell(&[Wake::Jobs, Wake::Events]);
        }
        BulkAction::Prune { .. } => store.wakes.tell(&[Wake::Events]),
    }
}
