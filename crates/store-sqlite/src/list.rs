//! The jobs table: newest first, paged by number.
//!
//! `jobs_list` is the only index for lists. Each state is read from it newest first and cut at the page's
//! size; the page is the merge of the states. So a page costs the same however many jobs there are.

use crate::{
    SqliteStore,
    convert::{Table, limit},
    error::{Error, Outcome},
    outbox,
};
use leasehold_queue::Scope;
use leasehold_types::{
    JobFilter, JobRef, JobStatus, PageRequest, TenantId,
    view::{CappedCount, JobRow, JobsPage},
};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

const JOBS: Table = Table("jobs");
const COUNT_CAP: i64 = 10_000;
const COLUMNS: &str = "number, id, domain, queue, job_type, source, status, priority, attempt_count, max_attempts, \
     created_at, available_at, started_at, acquired_at, completed_at, worker_id, stage, progress_percent, \
     progress_message, error_code, cancel_requested_at";

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
    pub max_attempts: i64,
    pub created_at: String,
    pub available_at: Option<String>,
    pub started_at: Option<String>,
    pub acquired_at: Option<String>,
    pub completed_at: Option<String>,
    pub worker_id: Option<String>,
    pub stage: Option<String>,
    pub progress_percent: i64,
    pub progress_message: Option<String>,
    pub error_code: Option<String>,
    pub cancel_requested_at: Option<String>,
}

impl TryFrom<JobRecord> for JobRow {
    type Error = Error;

    fn try_from(row: JobRecord) -> Outcome<Self> {
        Ok(Self {
            number: row.number,
            id: JOBS.parse("id", &row.id)?,
            source: JOBS.parse("source", &row.source)?,
            status: JOBS.parse("status", &row.status)?,
            priority: JOBS.int("priority", row.priority)?,
            attempt_count: JOBS.int("attempt_count", row.attempt_count)?,
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
            stage: row.stage,
            progress_message: row.progress_message,
            error_code: row.error_code,
        })
    }
}

pub(crate) async fn list(
    store: &SqliteStore,
    scope: &Scope,
    filter: &JobFilter,
    page: PageRequest,
) -> Outcome<JobsPage> {
    // One snapshot: the cursor must be that of the rows.
    let mut snapshot = store.read.begin().await?;
    let cursor = outbox::newest(&mut snapshot).await?;
    let mut rows = newest(&mut snapshot, scope.tenant(), filter, page.before, page.limit + 1).await?;
    let more = rows.len() > page.limit as usize;
    rows.truncate(page.limit as usize);
    let next = rows.last().filter(|_| more).map(|row| row.number);
    let matching = count(&mut snapshot, scope.tenant(), filter).await?;
    Ok(JobsPage { rows, next, matching, now: store.clock.now(), cursor })
}

/// The newest jobs that match, at most `max` of them.
pub(crate) async fn newest(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    filter: &JobFilter,
    before: Option<i64>,
    max: u32,
) -> Outcome<Vec<JobRow>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM jobs WHERE number IN ("));
    push_numbers(&mut query, tenant, filter, before, limit(max));
    query.push(") ORDER BY number DESC LIMIT ").push_bind(limit(max));
    let rows: Vec<JobRecord> = query.build_query_as().fetch_all(connection).await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

async fn count(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    filter: &JobFilter,
) -> Outcome<CappedCount> {
    let mut query = QueryBuilder::new("SELECT COUNT(*) FROM (SELECT number FROM (");
    push_numbers(&mut query, tenant, filter, None, COUNT_CAP + 1);
    query.push(") LIMIT ").push_bind(COUNT_CAP + 1).push(")");
    let found: i64 = query.build_query_scalar().fetch_one(connection).await?;
    Ok(CappedCount { count: found.min(COUNT_CAP), capped: found > COUNT_CAP })
}

/// The matching numbers, newest first within each state.
fn push_numbers(
    query: &mut QueryBuilder<Sqlite>,
    tenant: Option<TenantId>,
    filter: &JobFilter,
    before: Option<i64>,
    max: i64,
) {
    let Some(tenant) = tenant else {
        push_branch(query, None, &filter.statuses, filter, before, max);
        return;
    };
    let mut statuses =
        if filter.statuses.is_empty() { JobStatus::ALL.to_vec() } else { filter.statuses.clone() };
    statuses.sort();
    statuses.dedup();
    for (place, status) in statuses.iter().enumerate() {
        if place > 0 {
            query.push(" UNION ALL ");
        }
        push_branch(query, Some(tenant), &[*status], filter, before, max);
    }
}

fn push_branch(
    query: &mut QueryBuilder<Sqlite>,
    tenant: Option<TenantId>,
    statuses: &[JobStatus],
    filter: &JobFilter,
    before: Option<i64>,
    max: i64,
) {
    query.push("SELECT number FROM (SELECT number FROM jobs WHERE TRUE");
    if let Some(tenant) = tenant {
        query.push(" AND tenant_id = ").push_bind(tenant.to_string());
    }
    if !statuses.is_empty() {
        query.push(" AND status IN (");
        let mut words = query.separated(", ");
        for status in statuses {
            words.push_bind(status.as_str());
        }
        query.push(")");
    }
    if let Some(before) = before {
        query.push(" AND number < ").push_bind(before);
    }
    push_filter(query, filter);
    query.push(" ORDER BY number DESC LIMIT ").push_bind(max).push(")");
}

fn push_filter(query: &mut QueryBuilder<Sqlite>, filter: &JobFilter) {
    let exact = [
        ("source", filter.source.map(|source| source.as_str().to_owned())),
        ("domain", filter.domain.clone()),
        ("queue", filter.queue.clone()),
        ("job_type", filter.job_type.clone()),
        ("owner_user_id", filter.owner_user_id.clone()),
    ];
    for (column, value) in exact {
        if let Some(value) = value {
            query.push(format_args!(" AND {column} = ")).push_bind(value);
        }
    }
    if let Some(after) = filter.created_after {
        query.push(" AND created_at >= ").push_bind(after.to_string());
    }
    if let Some(before) = filter.created_before {
        query.push(" AND created_at < ").push_bind(before.to_string());
    }
    if let Some(words) = filter.q.as_deref().map(str::trim).filter(|q| !q.is_empty()) {
        push_text(query, words);
    }
}

/// A number, an id, or part of the type, the error or the correlation id; `%` and `_` are plain text.
fn push_text(query: &mut QueryBuilder<Sqlite>, words: &str) {
    query.push(" AND (");
    match words.parse() {
        Ok(JobRef::Number(number)) => {
            query.push("number = ").push_bind(number).push(" OR ");
        }
        Ok(JobRef::Id(id)) => {
            query.push("id = ").push_bind(id.to_string()).push(" OR ");
        }
        Err(()) => {}
    }
    let pattern = format!("%{}%", words.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"));
    for (place, column) in
        ["job_type", "error_code", "error_message", "correlation_id"].into_iter().enumerate()
    {
        query.push(if place > 0 { " OR " } else { "" });
        query.push(column).push(" LIKE ").push_bind(pattern.clone()).push(" ESCAPE '\\'");
    }
    query.push(")");
}
