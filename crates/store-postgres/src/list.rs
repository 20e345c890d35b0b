//! The jobs table. The only statements put together at run time: a filter has too many shapes.
//!
//! There is one index for lists, `(tenant, status, number)`: the list is the merge of the newest rows of each
//! tenant and state, so a page costs the same however many jobs there are.

use crate::{PostgresStore, convert::JobRecord, convert::moment, error::database, read::locate};
use leasehold_queue::{Scope, StoreResult};
use leasehold_types::{
    JobFilter, JobRef, JobStatus, PageRequest,
    view::{CappedCount, JobRow, JobsPage},
};
use sqlx::{Postgres, QueryBuilder};

const COUNT_CAP: i64 = 10_000;

impl PostgresStore {
    pub(crate) async fn page(
        &self,
        scope: &Scope,
        filter: &JobFilter,
        page: PageRequest,
    ) -> StoreResult<JobsPage> {
        let cursor = self.safe_cursor().await?;
        let search = self.search_of(scope, filter).await?;
        let mut rows = self.rows(scope, filter, &search, page).await?;
        let more = rows.len() > page.limit as usize;
        rows.truncate(page.limit as usize);
        let next = rows.last().map(|r| r.number).filter(|_| more);
        let count = self.count(scope, filter, &search).await?;
        Ok(JobsPage {
            rows,
            next,
            matching: CappedCount { count: count.min(COUNT_CAP), capped: count > COUNT_CAP },
            now: self.clock.now(),
            cursor,
        })
    }

    /// A number or an id that names a job is that job and no text search.
    async fn search_of(&self, scope: &Scope, filter: &JobFilter) -> StoreResult<Search> {
        let Some(q) = filter.q.as_deref().map(str::trim).filter(|q| !q.is_empty()) else {
            return Ok(Search::Nothing);
        };
        if let Ok(job) = q.parse::<JobRef>()
            && let Some(number) = locate(&self.work, scope, job).await?
        {
            return Ok(Search::Job(number));
        }
        Ok(Search::Text(contains_pattern(q)))
    }

    async fn rows(
        &self,
        scope: &Scope,
        filter: &JobFilter,
        search: &Search,
        page: PageRequest,
    ) -> StoreResult<Vec<JobRow>> {
        let limit = i64::from(page.limit) + 1;
        let mut query = QueryBuilder::new(
            "SELECT j.number, j.id, j.domain, j.queue, j.job_type, j.source, j.status, j.priority, \
             j.attempt_count, j.max_attempts, j.created_at, j.available_at, j.started_at, j.acquired_at, \
             j.completed_at, j.worker_id, j.stage, j.progress_percent, j.progress_message, j.error_code, \
             j.cancel_requested_at FROM ",
        );
        push_lanes(&mut query, scope, filter);
        query.push(
            " CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE j.tenant_id = t.id AND j.status = s.status",
        );
        if let Some(before) = page.before {
            query.push(" AND j.number < ").push_bind(before);
        }
        push_conditions(&mut query, filter, search);
        query.push(" ORDER BY j.number DESC LIMIT ").push_bind(limit);
        query.push(") j ORDER BY j.number DESC LIMIT ").push_bind(limit);
        let records: Vec<JobRecord> = query.build_query_as().fetch_all(&self.work).await.map_err(database)?;
        records.into_iter().map(TryInto::try_into).collect()
    }

    async fn count(&self, scope: &Scope, filter: &JobFilter, search: &Search) -> StoreResult<i64> {
        let mut query = QueryBuilder::new("SELECT count(*) FROM (SELECT FROM ");
        push_lanes(&mut query, scope, filter);
        query.push(" JOIN jobs j ON j.tenant_id = t.id AND j.status = s.status");
        push_conditions(&mut query, filter, search);
        query.push(" LIMIT ").push_bind(COUNT_CAP + 1).push(") counted");
        query.build_query_scalar().fetch_one(&self.work).await.map_err(database)
    }
}

enum Search {
    Nothing,
    Job(i64),
    Text(String),
}

/// Every tenant the scope reaches, times every state asked for.
fn push_lanes(query: &mut QueryBuilder<Postgres>, scope: &Scope, filter: &JobFilter) {
    match scope.tenant() {
        Some(tenant) => query.push("(SELECT ").push_bind(tenant.0).push("::uuid AS id) t"),
        None => query.push("tenants t"),
    };
    let asked = if filter.statuses.is_empty() { JobStatus::ALL } else { &filter.statuses };
    let mut statuses: Vec<String> = asked.iter().map(|s| s.as_str().to_owned()).collect();
    statuses.sort();
    statuses.dedup();
    query.push(" CROSS JOIN UNNEST(").push_bind(statuses).push("::text[]) s(status)");
}

fn push_conditions(query: &mut QueryBuilder<Postgres>, filter: &JobFilter, search: &Search) {
    let equal = [
        (" AND j.source = ", filter.source.map(|s| s.as_str().to_owned())),
        (" AND j.domain = ", filter.domain.clone()),
        (" AND j.queue = ", filter.queue.clone()),
        (" AND j.job_type = ", filter.job_type.clone()),
        (" AND j.owner_user_id = ", filter.owner_user_id.clone()),
    ];
    for (condition, value) in equal {
        if let Some(value) = value {
            query.push(condition).push_bind(value);
        }
    }
    if let Some(after) = filter.created_after {
        query.push(" AND j.created_at >= ").push_bind(moment(after));
    }
    if let Some(before) = filter.created_before {
        query.push(" AND j.created_at < ").push_bind(moment(before));
    }
    match search {
        Search::Nothing => {}
        Search::Job(number) => {
            query.push(" AND j.number = ").push_bind(*number);
        }
        Search::Text(pattern) => {
            for (index, column) in
                ["job_type", "error_code", "error_message", "correlation_id"].iter().enumerate()
            {
                query.push(if index == 0 { " AND (j." } else { " OR j." });
                query.push(column).push(" ILIKE ").push_bind(pattern.clone());
            }
            query.push(")");
        }
    }
}

/// The text anywhere, with the pattern language's own characters taken literally.
fn contains_pattern(q: &str) -> String {
    let mut pattern = String::from("%");
    for c in q.chars().filter(|c| *c != '\0') {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
