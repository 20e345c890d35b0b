//! One job with everything its page shows, read from one snapshot.

use crate::{
    SqliteStore,
    convert::Table,
    error::{Outcome, outcome},
    filter::words_of,
    list::JobRecord,
    logs, outbox,
};
use async_trait::async_trait;
use leasehold_queue::{JobQueries, Scope, StoreResult};
use leasehold_types::{
    AttemptOutcome, JobFilter, JobRef, TenantId,
    view::{AttemptView, JobDetail, JobLink, JobRow, StageMark, TrailEntry},
};
use sqlx::SqliteConnection;

pub(crate) const JOBS: Table = Table("jobs");
const ATTEMPTS: Table = Table("job_attempts");
const DEFINITIONS: Table = Table("job_definitions");
const AUDIT: Table = Table("audit_log");
/// Of more there are only the newest.
const TRAIL_SHOWN: i64 = 200;
/// More children than this are not listed.
const CHILDREN_SHOWN: i64 = 100;

#[async_trait]
impl JobQueries for SqliteStore {
    async fn job(&self, scope: &Scope, job: JobRef, log_lines: u32) -> StoreResult<Option<JobDetail>> {
        outcome(async {
            let mut snapshot = self.read.begin().await?;
            let Some(number) = locate(&mut snapshot, scope, job).await? else { return Ok(None) };
            let row: JobRow = row_of(&mut snapshot, number).await?.try_into()?;
            let more = more_of(&mut snapshot, number).await?;
            let attempts = attempts_of(&mut snapshot, &row, &more, log_lines).await?;
            let links = links_of(&mut snapshot, number, more.parent_job_id, &more.tenant_id).await?;
            let (parents, children) = links.into_iter().partition::<Vec<_>, _>(|link| link.number < number);
            let trail = trail_of(&mut snapshot, number).await?;
            let cursor = outbox::newest(&mut snapshot).await?;
            Ok(Some(JobDetail {
                tenant_id: JOBS.parse("tenant_id", &more.tenant_id)?,
                stages: DEFINITIONS.json_opt("stages", more.stages.as_deref())?.unwrap_or_default(),
                payload: JOBS.json("payload", &more.payload)?,
                result: JOBS.json_opt("result", more.result.as_deref())?,
                metadata: JOBS.json("metadata", &more.metadata)?,
                queued_at: JOBS.time("queued_at", &more.queued_at)?,
                updated_at: JOBS.time("updated_at", &more.updated_at)?,
                cancelled_at: JOBS.time_opt("cancelled_at", more.cancelled_at.as_deref())?,
                leased_until: JOBS.time_opt("leased_until", more.leased_until.as_deref())?,
                silent: None,
                quarantined_at: JOBS.time_opt("quarantined_at", more.quarantined_at.as_deref())?,
                failure_timeline: JOBS.json("failure_timeline", &more.failure_timeline)?,
                row,
                definition_key: more.definition_key,
                owner_user_id: more.owner_user_id,
                project_id: more.project_id,
                requested_by: more.requested_by,
                source_ref: more.source_ref,
                trace_id: more.trace_id,
                request_id: more.request_id,
                correlation_id: more.correlation_id,
                dedupe_key: more.dedupe_key,
                concurrency_key: more.concurrency_key,
                parent: parents.into_iter().next(),
                children,
                error_class: more.error_class,
                error_message: more.error_message,
                error_stack: more.error_stack,
                cancellation_reason: more.cancellation_reason,
                cancelled_by: more.cancelled_by,
                attempts,
                trail,
                now: self.clock.now(),
                cursor,
            }))
        })
        .await
    }
}

/// The number of a job the scope reaches; `FORBIDDEN` outside its domains. Another tenant's job is as if it did not
/// exist.
pub(crate) async fn locate(
    connection: &mut SqliteConnection,
    scope: &Scope,
    job: JobRef,
) -> Outcome<Option<i64>> {
    let only = scope.tenant().map(|id| id.to_string());
    let found = match job {
        JobRef::Number(number) => {
            sqlx::query!(
                r#"SELECT number AS "number!: i64", domain AS "domain!: String" FROM jobs
                   WHERE number = ?1 AND (?2 IS NULL OR tenant_id = ?2)"#,
                number,
                only
            )
            .map(|row| (row.number, row.domain))
            .fetch_optional(connection)
            .await?
        }
        JobRef::Id(id) => {
            let id = id.to_string();
            sqlx::query!(
                r#"SELECT number AS "number!: i64", domain AS "domain!: String" FROM jobs
                   WHERE id = ?1 AND (?2 IS NULL OR tenant_id = ?2)"#,
                id,
                only
            )
            .map(|row| (row.number, row.domain))
            .fetch_optional(connection)
            .await?
        }
    };
    let Some((number, domain)) = found else { return Ok(None) };
    scope.check_domain(&domain)?;
    Ok(Some(number))
}

/// The job of this tenant that the text names by its number or id.
pub(crate) async fn named(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    text: &str,
) -> Outcome<Option<i64>> {
    let (number, id) = match text.parse() {
        Ok(JobRef::Number(number)) => (Some(number), None),
        Ok(JobRef::Id(id)) => (None, Some(id.to_string())),
        Err(()) => return Ok(None),
    };
    let tenant = tenant.map(|id| id.to_string());
    let found = sqlx::query_scalar!(
        r#"SELECT number AS "number!: i64" FROM jobs
           WHERE number = COALESCE(?1, (SELECT number FROM jobs WHERE id = ?2)) AND (?3 IS NULL OR tenant_id = ?3)"#,
        number,
        id,
        tenant
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}

/// The job that the text of a filter names.
pub(crate) async fn named_by(
    connection: &mut SqliteConnection,
    tenant: Option<TenantId>,
    filter: &JobFilter,
) -> Outcome<Option<i64>> {
    match words_of(filter) {
        Some(words) => named(connection, tenant, words).await,
        None => Ok(None),
    }
}

/// The columns a list does not show.
struct MoreRecord {
    tenant_id: String,
    definition_key: Option<String>,
    owner_user_id: Option<String>,
    project_id: Option<i64>,
    stages: Option<String>,
    payload: String,
    result: Option<String>,
    requested_by: String,
    source_ref: Option<String>,
    trace_id: String,
    request_id: Option<String>,
    correlation_id: Option<String>,
    dedupe_key: Option<String>,
    concurrency_key: Option<String>,
    parent_job_id: Option<i64>,
    metadata: String,
    queued_at: String,
    updated_at: String,
    cancelled_at: Option<String>,
    leased_until: Option<String>,
    running_pid: Option<i64>,
    error_class: Option<String>,
    error_message: Option<String>,
    error_stack: Option<String>,
    cancellation_reason: Option<String>,
    cancelled_by: Option<String>,
    quarantined_at: Option<String>,
    failure_timeline: String,
    stage_log: Option<String>,
}

async fn row_of(connection: &mut SqliteConnection, number: i64) -> Outcome<JobRecord> {
    let row = sqlx::query_as!(
        JobRecord,
        r#"SELECT j.number, j.id, j.domain, j.queue, j.job_type, j.source, j.status, j.priority, j.attempt_count,
                  j.attempt_base, j.max_attempts, j.created_at, j.available_at, j.started_at, j.acquired_at,
                  j.completed_at, j.worker_id, last.worker_id AS "last_worker_id?: String",
                  last.started_at AS "last_started_at?: String", last.finished_at AS "last_finished_at?: String",
                  j.stage, j.progress_percent, j.progress_message, j.error_code, j.cancel_requested_at
           FROM jobs j
           LEFT JOIN job_attempts last ON last.job_number = j.number AND last.attempt = j.attempt_count
           WHERE j.number = ?1"#,
        number
    )
    .fetch_one(connection)
    .await?;
    Ok(row)
}

async fn more_of(connection: &mut SqliteConnection, number: i64) -> Outcome<MoreRecord> {
    let row = sqlx::query_as!(
        MoreRecord,
        r#"SELECT j.tenant_id, d.key AS "definition_key?: String", d.stages AS "stages?: String",
                  j.owner_user_id, j.project_id, j.payload, j.result,
                  j.requested_by, j.source_ref, j.trace_id, j.request_id, j.correlation_id, j.dedupe_key,
                  j.concurrency_key, j.parent_job_id, j.metadata, j.queued_at, j.updated_at, j.cancelled_at,
                  j.leased_until, j.running_pid, j.error_class,
                  j.error_message, j.error_stack, j.cancellation_reason, j.cancelled_by, j.quarantined_at,
                  j.failure_timeline, j.stage_log AS "stage_log?: String"
           FROM jobs j LEFT JOIN job_definitions d ON d.id = j.definition_id WHERE j.number = ?1"#,
        number
    )
    .fetch_one(connection)
    .await?;
    Ok(row)
}

/// Oldest first; the running one is read off the job's own row.
async fn attempts_of(
    connection: &mut SqliteConnection,
    job: &JobRow,
    more: &MoreRecord,
    log_lines: u32,
) -> Outcome<Vec<AttemptView>> {
    let mut attempts = ended_attempts(connection, job.number).await?;
    if let (Some(worker_id), Some(started_at)) = (&job.worker_id, job.acquired_at) {
        attempts.push(AttemptView {
            attempt: job.attempt_count,
            outcome: AttemptOutcome::Running,
            worker_id: worker_id.clone(),
            pid: JOBS.int_opt("running_pid", more.running_pid)?,
            started_at,
            finished_at: None,
            exit_code: None,
            error_code: None,
            error_text: None,
            error_stack: None,
            stdout_tail: None,
            stderr_tail: None,
            stages: Vec::new(),
            logs: Vec::new(),
        });
    }
    let stages: Vec<StageMark> = JOBS.json_opt("stage_log", more.stage_log.as_deref())?.unwrap_or_default();
    for attempt in &mut attempts {
        attempt.stages = stages.iter().filter(|mark| mark.attempt == attempt.attempt).cloned().collect();
        attempt.logs = logs::newest(connection, job.number, attempt.attempt, log_lines).await?;
    }
    Ok(attempts)
}

async fn ended_attempts(connection: &mut SqliteConnection, number: i64) -> Outcome<Vec<AttemptView>> {
    let rows = sqlx::query!(
        "SELECT attempt, outcome, worker_id, pid, started_at, finished_at, exit_code, error_code, error_text,
                error_stack, stdout_tail, stderr_tail
         FROM job_attempts WHERE job_number = ?1 ORDER BY attempt",
        number
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(AttemptView {
                attempt: ATTEMPTS.int("attempt", row.attempt)?,
                outcome: ATTEMPTS.parse("outcome", &row.outcome)?,
                pid: ATTEMPTS.int_opt("pid", row.pid)?,
                started_at: ATTEMPTS.time("started_at", &row.started_at)?,
                finished_at: ATTEMPTS.time_opt("finished_at", row.finished_at.as_deref())?,
                exit_code: ATTEMPTS.int_opt("exit_code", row.exit_code)?,
                worker_id: row.worker_id,
                error_code: row.error_code,
                error_text: row.error_text,
                error_stack: row.error_stack,
                stdout_tail: row.stdout_tail,
                stderr_tail: row.stderr_tail,
                stages: Vec::new(),
                logs: Vec::new(),
            })
        })
        .collect()
}

/// The job it repeats and those that repeat it, by number; a child is always younger than its parent. Two look-ups:
/// asked for with OR, every job of the tenant would be read. The plus keeps the tenant's index out for the same reason.
async fn links_of(
    connection: &mut SqliteConnection,
    number: i64,
    parent: Option<i64>,
    tenant: &str,
) -> Outcome<Vec<JobLink>> {
    let rows = sqlx::query!(
        r#"SELECT number AS "number!: i64", status AS "status!: String" FROM jobs WHERE number = ?1 AND tenant_id = ?3
           UNION ALL
           SELECT number, status FROM (
             SELECT number, status FROM jobs WHERE parent_job_id = ?2 AND +tenant_id = ?3 ORDER BY number LIMIT ?4)"#,
        parent,
        number,
        tenant,
        CHILDREN_SHOWN
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| Ok(JobLink { number: row.number, status: JOBS.parse("status", &row.status)? }))
        .collect()
}

/// The newest entries, oldest first: of the audit log, and of events that name who caused them, because a bulk
/// operation leaves one entry for all of its jobs.
async fn trail_of(connection: &mut SqliteConnection, number: i64) -> Outcome<Vec<TrailEntry>> {
    let text = number.to_string();
    let rows = sqlx::query!(
        r#"SELECT created_at AS "created_at!: String", actor AS "actor!: String", action AS "action!: String", reason
           FROM (
             SELECT * FROM (
               SELECT created_at, actor, action, reason FROM audit_log
               WHERE object_type = 'job' AND object_id = ?1 ORDER BY id DESC LIMIT ?3)
             UNION ALL
             SELECT * FROM (
               SELECT created_at, attrs ->> 'actor',
                      CASE kind WHEN 'job.requeued' THEN 'job.requeue' WHEN 'job.rescheduled' THEN 'job.reschedule'
                                ELSE 'job.cancel' END,
                      attrs ->> 'message'
               FROM job_events
               WHERE job_number = ?2 AND attrs ->> 'actor' IS NOT NULL
                 AND kind IN ('job.cancelled', 'job.cancel_requested', 'job.requeued', 'job.rescheduled')
               ORDER BY id DESC LIMIT ?3))
           ORDER BY created_at DESC LIMIT ?3"#,
        text,
        number,
        TRAIL_SHOWN
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .rev()
        .map(|row| {
            let at = AUDIT.time("created_at", &row.created_at)?;
            Ok(TrailEntry { at, actor: row.actor, action: row.action, reason: row.reason })
        })
        .collect()
}
