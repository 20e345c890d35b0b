//! The jobs table, a page at a time, and how many jobs match.

use crate::{
    PostgresStore,
    convert::{COLUMNS, JobRecord, LAST_ATTEMPT},
    error::database,
    filter::{Search, Selection, words_of},
    read::locate,
};
use async_trait::async_trait;
use leasehold_queue::{ListQueries, Scope, StoreResult};
use leasehold_types::{
    JobFilter, JobRef, PageRequest, TenantId,
    view::{CappedCount, JobRow, JobsPage},
};
use sqlx::{Postgres, QueryBuilder};

const COUNT_CAP: i64 = 10_000;

#[async_trait]
impl ListQueries for PostgresStore {
    async fn list(&self, scope: &Scope, filter: &JobFilter, page: PageRequest) -> StoreResult<JobsPage> {
        let cursor = self.safe_cursor().await?;
        let search = self.search_of(scope, filter).await?;
        let selection = Selection::new(scope.tenant(), filter, &search);
        let matching = self.matching(scope, filter, &selection).await?;
        let mut rows = self.rows(&selection.below(page.before), page.limit).await?;
        let more = rows.len() > page.limit as usize;
        rows.truncate(page.limit as usize);
        let next = rows.last().map(|r| r.number).filter(|_| more);
        Ok(JobsPage { rows, next, matching, now: self.clock.now(), cursor })
    }
}

impl PostgresStore {
    /// How many match.
    pub(crate) async fn matching(
        &self,
        scope: &Scope,
        filter: &JobFilter,
        selection: &Selection<'_>,
    ) -> StoreResult<CappedCount> {
        if filter.is_counted() {
            return Ok(CappedCount { count: self.counted(scope.tenant(), filter).await?, capped: false });
        }
        let count = self.count(selection).await?;
        Ok(CappedCount { count: count.min(COUNT_CAP), capped: count > COUNT_CAP })
    }

    /// A number or an id that names a job is that job and no text search.
    pub(crate) async fn search_of(&self, scope: &Scope, filter: &JobFilter) -> StoreResult<Search> {
        let Some(words) = words_of(filter) else { return Ok(Search::Nothing) };
        // What the words mean does not depend on the domains; what is shown does, by the filter.
        let scope = Scope { domains: None, ..scope.clone() };
        if let Ok(job) = words.parse::<JobRef>()
            && let Some(number) = locate(&self.work, &scope, job).await?
        {
            return Ok(Search::Job(number));
        }
        Ok(Search::text(words))
    }

    async fn rows(&self, selection: &Selection<'_>, limit: u32) -> StoreResult<Vec<JobRow>> {
        let mut query = QueryBuilder::new("");
        push_rows(&mut query, selection, limit);
        let records: Vec<JobRecord> = query.build_query_as().fetch_all(&self.work).await.map_err(database)?;
        records.into_iter().map(TryInto::try_into).collect()
    }

    /// From the counters.
    async fn counted(&self, tenant: Option<TenantId>, filter: &JobFilter) -> StoreResult<i64> {
        let statuses: Vec<String> = filter.statuses.iter().map(|s| s.as_str().to_owned()).collect();
        sqlx::query_scalar!(
            r#"SELECT COALESCE(sum(jobs), 0)::bigint AS "jobs!"
               FROM (SELECT tenant_id, domain, queue, job_type, status, jobs FROM job_counters
                     UNION ALL
                     SELECT tenant_id, domain, queue, job_type, status, delta FROM job_counter_deltas) c
               WHERE ($1::uuid IS NULL OR tenant_id = $1) AND (cardinality($2::text[]) = 0 OR status = ANY($2))
                 AND ($3::text IS NULL OR domain = $3) AND ($4::text IS NULL OR queue = $4)
                 AND ($5::text IS NULL OR job_type = $5)"#,
            tenant.map(|t| t.0),
            &statuses,
            filter.domain,
            filter.queue,
            filter.job_type
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)
    }

    /// One by one, up to the cap. In the order of the index, or the planner may prefer to read the table.
    async fn count(&self, selection: &Selection<'_>) -> StoreResult<i64> {
        let mut query = QueryBuilder::new("SELECT count(*) FROM (SELECT FROM ");
        selection.push_ranges(&mut query);
        query.push(" CROSS JOIN LATERAL (SELECT FROM jobs j WHERE ");
        selection.push_range_condition(&mut query);
        query.push(" ORDER BY -j.number LIMIT ").push_bind(COUNT_CAP + 1);
        query.push(") j LIMIT ").push_bind(COUNT_CAP + 1).push(") counted");
        query.build_query_scalar().fetch_one(&self.work).await.map_err(database)
    }
}

pub(crate) fn push_rows(query: &mut QueryBuilder<Postgres>, selection: &Selection<'_>, limit: u32) {
    let limit = i64::from(limit) + 1;
    query.push(format_args!("SELECT {COLUMNS} FROM "));
    selection.push_ranges(query);
    query.push(" CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE ");
    selection.push_range_condition(query);
    query.push(" ORDER BY -j.number LIMIT ").push_bind(limit);
    query.push(format_args!(") j {LAST_ATTEMPT} ORDER BY j.number DESC LIMIT ")).push_bind(limit);
}
