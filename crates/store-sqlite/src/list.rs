//! The jobs table: newest first, paged by number.

use crate::{
    SqliteStore,
    convert::{Table, limit, to_json},
    error::{Error, Outcome, outcome},
    filter::{Order, Selection},
    outbox, read,
};
use async_trait::async_trait;
use leasehold_queue::{ListQueries, Scope, StoreResult};
use leasehold_types::{
    JobFilter, PageRequest, TenantId,
    view::{CappedCount, JobRow, JobsPage, LastRun},
};
use sqlx::{QueryBuilder, SqliteConnection};

const JOBS: Table = Table("jobs");
const ATTEMPTS: Table = Table("job_attempts");
const COUNT_CAP: i64 = 10_000;
pub(crate) const COLUMNS: &str = "j.number, j.id, j.domain, j.queue, j.job_type, j.source, j.status, j.priority, \
     j.attempt_count, j.attempt_base, j.max_attempts, j.created_at, j.available_at, j.started_at, j.acquired_at, \
     j.completed_at, j.worker_id, last.worker_id AS last_worker_id, last.started_at AS last_started_at, \
     last.finished_at AS last_finished_at, j.stage, j.progress_percent, j.progress_message, j.error_code, \
     j.cancel_requested_at";
/// What [`COLUMNS`] are selected from. The running attempt has no row yet.
pub(crate) const TABLES: &str =
    "jobs j LEFT JOIN job_attempts last ON last.job_number = j.number AND last.attempt = j.attempt_count";

#[derive(sqlx::FromRow)]
pub(crate) struct JobRecord {
    pub number: i64,
    pub id: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub source: String,
    pub status: String,
    pub priority: i64,
    pub attempt_count: i64,
    pub attempt_base: i64,
    pub max_attempts: i64,
    pub created_at: String,
    pub available_at: Option<String>,
    pub started_at: Option<String>,
    pub acquired_at: Option<String>,
    pub completed_at: Option<String>,
    pub worker_id: Option<String>,
    pub last_worker_id: Option<String>,
    pub last_started_at: Option<String>,
    pub last_finished_at: Option<String>,
    pub stage: Option<String>,
    pub progress_percent: i64,
    pub progress_message: Option<String>,
    pub error_code: Option<String>,
    pub cancel_requested_at: Option<String>,
}

impl JobRecord {
    fn last_run(&self) -> Outcome<Option<LastRun>> {
        let (worker, started, finished) = match &self.worker_id {
            Some(worker) => (Some(worker), &self.acquired_at, None),
            None => (self.last_worker_id.as_ref(), &self.last_started_at, self.last_finished_at.as_deref()),
        };
        let (Some(worker_id), Some(started)) = (worker, started) else { return Ok(None) };
        Ok(Some(LastRun {
            worker_id: worker_id.clone(),
            started_at: ATTEMPTS.time("started_at", started)?,
            finished_at: ATTEMPTS.time_opt("finished_at", finished)?,
        }))
    }
}

impl TryFrom<JobRecord> for JobRow {
    type Error = Error;

    fn try_from(row: JobRecord) -> Outcome<Self> {
        let last_run = row.last_run()?;
        Ok(Self {
            number: row.number,
            id: JOBS.parse("id", &row.id)?,
            source: JOBS.parse("source", &row.source)?,
            status: JOBS.parse("status", &row.status)?,
            priority: JOBS.int("priority", row.priority)?,
            attempt_count: JOBS.int("attempt_count", row.attempt_count)?,
            attempts_used: JOBS.int("attempt_base", row.attempt_count - row.attempt_base)?,
            max_attempts: JOBS.int("max_attempts", row.max_attempts)?,
            created_at: JOBS.time("created_at", &row.created_at)?,
            available_at: JOBS.time_opt("available_at", row.available_at.as_deref())?,
            started_at: JOBS.time_opt("started_at", row.started_at.as_deref())?,
            acquired_at: JOBS.time_opt("acquired_at", row.acquired_at.as_deref())?,
            completed_at: JOBS.time_opt("completed_at", row.completed_at.as_deref())?,
            progress: JOBS.int("progress_percent", row.progress_percent)?,
            cancel_requested_at: JOBS.time_opt("cancel_requested_at", row.cancel_requested_at.as_deref())?,
            domain: row.domain,
            queue: row.queue,
            job_type: row.job_type,
            worker_id: row.worker_id,
            last_run,
            stage: row.stage,
            progress_message: row.progress_message,
            error_code: row.error_code,
        })
    }
}

#[async_trait]
impl ListQueries for SqliteStore {
    async fn list(&self, scope: &Scope, filter: &JobFilter, page: PageRequest) -> StoreResult<JobsPage> {
        outcome(async {
            // One snapshot: the cursor must be that of the rows.
            let mut snapshot = self.read.begin().await?;
            let cursor = outbox::newest(&mut snapshot).await?;
            let mut rows = newest(&mut snapshot, scope.tenant(), filter, page.before, page.limit + 1).await?;
            let more = rows.len() > page.limit as usize;
            rows.truncate(page.limit as usize);
            let next = rows.last().filter(|_| more).map(|row| row.number);
            let matching = matching(&mut snapshot, scope.tenant(), filter).await?;
            Ok(JobsPage { rows, next, matching, now: self.clock.now(), cursor })
        })
        .await
    }
}

/// How many match.
pub(crate) async fn matching(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    filter: &JobFilter,
) -> Outcome<CappedCount> {
    if filter.is_counted() {
        return Ok(CappedCount { count: counted(connection, tenant, filter).await?, capped: false });
    }
    count(connection, tenant, filter).await
}

/// The newest jobs that match, at most `max` of them.
pub(crate) async fn newest(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    filter: &JobFilter,
    before: Option<i64>,
    max: u32,
) -> Outcome<Vec<JobRow>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM {TABLES} WHERE j.number IN ("));
    let named = read::named_by(&mut *connection, tenant, filter).await?;
    let selection = Selection::new(tenant, filter).naming(named).below(before);
    selection.push_numbers(&mut query, Order::NewestFirst, limit(max));
    query.push(") ORDER BY j.number DESC LIMIT ").push_bind(limit(max));
    let rows: Vec<JobRecord> = query.build_query_as().fetch_all(&mut *connection).await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// From the counters.
async fn counted(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    filter: &JobFilter,
) -> Outcome<i64> {
    let statuses: Vec<&str> = filter.statuses.iter().map(|status| status.as_str()).collect();
    let (tenant, statuses) = (tenant.map(|id| id.to_string()), to_json(&statuses)?);
    let jobs = sqlx::query_scalar!(
        r#"SELECT COALESCE(SUM(jobs), 0) AS "jobs!: i64" FROM job_counters
           WHERE (?1 IS NULL OR tenant_id = ?1)
             AND (?2 = '[]' OR status IN (SELECT value FROM json_each(?2)))
             AND (?3 IS NULL OR domain = ?3) AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR job_type = ?5)"#,
        tenant,
        statuses,
        filter.domain,
        filter.queue,
        filter.job_type
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

/// One by one, up to the cap.
async fn count(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    filter: &JobFilter,
) -> Outcome<CappedCount> {
    let mut query = QueryBuilder::new("SELECT COUNT(*) FROM (SELECT number FROM (");
    let named = read::named_by(&mut *connection, tenant, filter).await?;
    let selection = Selection::new(tenant, filter).naming(named);
    selection.push_numbers(&mut query, Order::NewestFirst, COUNT_CAP + 1);
    query.push(") LIMIT ").push_bind(COUNT_CAP + 1).push(")");
    let found: i64 = query.build_query_scalar().fetch_one(connection).await?;
    Ok(CappedCount { count: found.min(COUNT_CAP), capped: found > COUNT_CAP })
}
