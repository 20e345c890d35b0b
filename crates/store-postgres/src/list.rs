//! The jobs table, a page at a time, and how many jobs match.

use crate::{
    PostgresStore,
    convert::JobRecord,
    error::database,
    filter::{Search, Selection, words_of},
    read::locate,
};
use leasehold_queue::{Scope, StoreResult};
use leasehold_types::{
    JobFilter, JobRef, PageRequest,
    view::{CappedCount, JobRow, JobsPage},
};
use sqlx::QueryBuilder;

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
        let selection = Selection::new(scope.tenant(), filter, &search);
        let count = self.count(&selection).await?;
        let mut rows = self.rows(&selection.below(page.before), page.limit).await?;
        let more = rows.len() > page.limit as usize;
        rows.truncate(page.limit as usize);
        let next = rows.last().map(|r| r.number).filter(|_| more);
        Ok(JobsPage {
            rows,
            next,
            matching: CappedCount { count: count.min(COUNT_CAP), capped: count > COUNT_CAP },
            now: self.clock.now(),
            cursor,
        })
    }

    /// A number or an id that names a job is that job and no text search.
    pub(crate) async fn search_of(&self, scope: &Scope, filter: &JobFilter) -> StoreResult<Search> {
        let Some(words) = words_of(filter) else { return Ok(Search::Nothing) };
        if let Ok(job) = words.parse::<JobRef>()
            && let Some(number) = locate(&self.work, scope, job).await?
        {
            return Ok(Search::Job(number));
        }
        Ok(Search::text(words))
    }

    async fn rows(&self, selection: &Selection<'_>, limit: u32) -> StoreResult<Vec<JobRow>> {
        let limit = i64::from(limit) + 1;
        let mut query = QueryBuilder::new(
            "SELECT j.number, j.id, j.domain, j.queue, j.job_type, j.source, j.status, j.priority, \
             j.attempt_count, j.max_attempts, j.created_at, j.available_at, j.started_at, j.acquired_at, \
             j.completed_at, j.worker_id, j.stage, j.progress_percent, j.progress_message, j.error_code, \
             j.cancel_requested_at FROM ",
        );
        selection.push_ranges(&mut query);
        query.push(" CROSS JOIN LATERAL (SELECT * FROM jobs j WHERE ");
        selection.push_range_condition(&mut query);
        query.push(" ORDER BY j.number DESC LIMIT ").push_bind(limit);
        query.push(") j ORDER BY j.number DESC LIMIT ").push_bind(limit);
        let records: Vec<JobRecord> = query.build_query_as().fetch_all(&self.work).await.map_err(database)?;
        records.into_iter().map(TryInto::try_into).collect()
    }

    async fn count(&self, selection: &Selection<'_>) -> StoreResult<i64> {
        let mut query = QueryBuilder::new("SELECT count(*) FROM (SELECT FROM ");
        selection.push_ranges(&mut query);
        query.push(" JOIN jobs j ON ");
        selection.push_range_condition(&mut query);
        query.push(" LIMIT ").push_bind(COUNT_CAP + 1).push(") counted");
        query.build_query_scalar().fetch_one(&self.work).await.map_err(database)
    }
}
