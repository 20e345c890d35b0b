//! The first half of a bulk operation: counting. No job is touched.
//!
//! Count and sample come from one snapshot, which waits for nobody; only the plan's own row is written.

use super::operation::Operation;
use crate::{PostgresStore, convert::word, error::database, filter::Selection};
use leasehold_queue::{Scope, StoreResult, upkeep::BulkRequest};
use leasehold_types::view::{BulkGroup, BulkOperation, BulkState};
use sqlx::{PgConnection, QueryBuilder};
use std::{cmp::Reverse, time::Duration};
use uuid::Uuid;

const VALID_FOR: Duration = Duration::from_secs(600);
const SAMPLE: i64 = 10;

pub(super) async fn plan(
    store: &PostgresStore,
    scope: &Scope,
    request: BulkRequest,
) -> StoreResult<BulkOperation> {
    let now = store.clock.now();
    let view = BulkOperation {
        id: Uuid::now_v7(),
        tenant_id: scope.tenant(),
        action: request.action.name().to_owned(),
        state: BulkState::Planned,
        reason: request.reason,
        actor: scope.actor.to_string(),
        planned: 0,
        groups: Vec::new(),
        sample: Vec::new(),
        highest_number: 0,
        changed: 0,
        skipped: 0,
        created_at: now,
        expires_at: now.plus(VALID_FOR),
        finished_at: None,
    };
    let search = store.search_of(scope, &request.filter).await?;
    let mut operation =
        Operation { view, action: request.action, filter: request.filter, search, reached: 0 };
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    let mut tx = store.work.begin_with(begin).await.map_err(database)?;
    let mut count = count(&mut tx, &operation.selection()).await?;
    count.groups.truncate(request.top_groups as usize);
    operation.view.sample = sample(&mut tx, &operation.selection()).await?;
    operation.view.planned = count.jobs;
    operation.view.highest_number = count.highest;
    operation.view.groups = count.groups;
    operation.insert(&mut tx).await?;
    operation.audit(&mut tx, scope, "bulk.plan", now).await?;
    tx.commit().await.map_err(database)?;
    Ok(operation.view)
}

struct Count {
    jobs: i64,
    highest: i64,
    /// The largest first; equally large ones in the order of their names.
    groups: Vec<BulkGroup>,
}

async fn count(connection: &mut PgConnection, selection: &Selection<'_>) -> StoreResult<Count> {
    let mut query =
        QueryBuilder::new("SELECT j.domain, j.queue, j.job_type, j.status, count(*), max(j.number) FROM ");
    selection.push_ranges(&mut query);
    query.push(" JOIN jobs j ON ");
    selection.push_range_condition(&mut query);
    query.push(" GROUP BY j.domain, j.queue, j.job_type, j.status");
    let mut rows: Vec<(String, String, String, String, i64, i64)> =
        query.build_query_as().fetch_all(connection).await.map_err(database)?;
    rows.sort();
    let mut count = Count { jobs: 0, highest: 0, groups: Vec::with_capacity(rows.len()) };
    for (domain, queue, job_type, status, jobs, highest) in rows {
        count.jobs += jobs;
        count.highest = count.highest.max(highest);
        let status = word("jobs", "status", &status)?;
        count.groups.push(BulkGroup { domain, queue, job_type, status, jobs });
    }
    count.groups.sort_by_key(|group| Reverse(group.jobs));
    Ok(count)
}

async fn sample(connection: &mut PgConnection, selection: &Selection<'_>) -> StoreResult<Vec<i64>> {
    let mut query = QueryBuilder::new("");
    selection.push_lowest_numbers(&mut query, SAMPLE);
    query.build_query_scalar().fetch_all(connection).await.map_err(database)
}
