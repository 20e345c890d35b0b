//! The first half of a bulk operation: counting. No job is touched.
//!
//! Counting reads one snapshot and waits for nobody; only the plan's own row is written.

use super::operation::Operation;
use crate::{
    SqliteStore,
    audit::audit,
    error::Outcome,
    filter::{Order, Selection},
    read::JOBS,
};
use leasehold_queue::{Scope, upkeep::BulkRequest};
use leasehold_types::view::{BulkGroup, BulkOperation, BulkState};
use sqlx::{QueryBuilder, SqliteConnection};
use std::{cmp::Reverse, time::Duration};
use uuid::Uuid;

const VALID_FOR: Duration = Duration::from_secs(600);
const SAMPLE: i64 = 10;

pub(super) async fn plan(store: &SqliteStore, scope: &Scope, request: BulkRequest) -> Outcome<BulkOperation> {
    let now = store.clock.now();
    let selection = Selection::new(scope.tenant(), &request.filter).limited_to(request.action.statuses());
    let mut snapshot = store.read.begin().await?;
    let count = count(&mut snapshot, &selection).await?;
    let sample = sample(&mut snapshot, &selection).await?;
    snapshot.commit().await?;
    let mut groups = count.groups;
    groups.truncate(request.top_groups as usize);
    let view = BulkOperation {
        id: Uuid::now_v7(),
        tenant_id: scope.tenant(),
        action: request.action.name().to_owned(),
        state: BulkState::Planned,
        reason: request.reason,
        actor: scope.actor.to_string(),
        planned: count.jobs,
        groups,
        sample,
        highest_number: count.highest,
        changed: 0,
        skipped: 0,
        created_at: now,
        expires_at: now.plus(VALID_FOR),
        finished_at: None,
    };
    let operation = Operation { view, action: request.action, filter: request.filter, reached: 0 };
    let mut tx = store.begin().await?;
    operation.insert(&mut tx).await?;
    audit(&mut tx, scope, &[operation.deed("bulk.plan")], now).await?;
    tx.commit().await?;
    Ok(operation.view)
}

struct Count {
    jobs: i64,
    highest: i64,
    /// The largest first.
    groups: Vec<BulkGroup>,
}

async fn count(connection: &mut SqliteConnection, selection: &Selection<'_>) -> Outcome<Count> {
    let mut query =
        QueryBuilder::new("SELECT domain, queue, job_type, status, COUNT(*), MAX(number) FROM jobs WHERE ");
    selection.push_condition(&mut query);
    query.push(" GROUP BY domain, queue, job_type, status");
    let rows: Vec<(String, String, String, String, i64, i64)> =
        query.build_query_as().fetch_all(connection).await?;
    let mut count = Count { jobs: 0, highest: 0, groups: Vec::with_capacity(rows.len()) };
    for (domain, queue, job_type, status, jobs, highest) in rows {
        count.jobs += jobs;
        count.highest = count.highest.max(highest);
        count.groups.push(BulkGroup {
            domain,
            queue,
            job_type,
            status: JOBS.parse("status", &status)?,
            jobs,
        });
    }
    // Groups come in the order of their names; equally large ones keep it.
    count.groups.sort_by_key(|group| Reverse(group.jobs));
    Ok(count)
}

async fn sample(connection: &mut SqliteConnection, selection: &Selection<'_>) -> Outcome<Vec<i64>> {
    let mut query = QueryBuilder::new("SELECT number FROM (");
    selection.push_numbers(&mut query, Order::OldestFirst, SAMPLE);
    query.push(") ORDER BY number LIMIT ").push_bind(SAMPLE);
    Ok(query.build_query_scalar().fetch_all(connection).await?)
}
