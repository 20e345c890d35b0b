//! One job with everything its page shows, read in one snapshot.

use crate::{
    PostgresStore,
    convert::{JobRecord, parsed, stamp, stamp_if, word},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{JobQueries, Scope, StoreResult};
use leasehold_types::{
    AttemptOutcome, JobRef, TenantId,
    view::{AttemptView, JobDetail, JobLink, LogLine, StageMark, TrailEntry},
};
use serde_json::Value;
use sqlx::{PgConnection, PgPool};
use std::collections::HashMap;
use time::OffsetDateTime;
use uuid::Uuid;

/// Of more there are only the newest.
const TRAIL_SHOWN: i64 = 200;
/// More children than this are not listed.
const CHILDREN_SHOWN: i64 = 100;

/// The number of a job the scope reaches; `FORBIDDEN` outside its domains. Statements then look up by number alone,
/// which keeps their plan simple.
pub async fn locate(pool: &PgPool, scope: &Scope, job: JobRef) -> StoreResult<Option<i64>> {
    let tenant = scope.tenant().map(|t| t.0);
    let found =
        match job {
            JobRef::Number(number) => sqlx::query!(
                "SELECT number, domain FROM jobs WHERE number = $1 AND ($2::uuid IS NULL OR tenant_id = $2)",
                number,
                tenant
            )
            .map(|row| (row.number, row.domain))
            .fetch_optional(pool)
            .await,
            JobRef::Id(id) => {
                sqlx::query!(
                    "SELECT number, domain FROM jobs WHERE id = $1 AND ($2::uuid IS NULL OR tenant_id = $2)",
                    id.0,
                    tenant
                )
                .map(|row| (row.number, row.domain))
                .fetch_optional(pool)
                .await
            }
        };
    let Some((number, domain)) = found.map_err(database)? else { return Ok(None) };
    scope.check_domain(&domain)?;
    Ok(Some(number))
}

/// What only the job's own page shows, beside [`JobRecord`].
struct DetailRecord {
    tenant_id: Uuid,
    definition_key: Option<String>,
    owner_user_id: Option<String>,
    project_id: Option<i64>,
    stages: Option<Value>,
    payload: Value,
    result: Option<Value>,
    requested_by: String,
    source_ref: Option<String>,
    trace_id: String,
    request_id: Option<String>,
    correlation_id: Option<String>,
    dedupe_key: Option<String>,
    concurrency_key: Option<String>,
    parent_job_id: Option<i64>,
    metadata: Value,
    queued_at: OffsetDateTime,
    updated_at: OffsetDateTime,
    cancelled_at: Option<OffsetDateTime>,
    leased_until: Option<OffsetDateTime>,
    running_pid: Option<i32>,
    error_class: Option<String>,
    error_message: Option<String>,
    error_stack: Option<String>,
    cancellation_reason: Option<String>,
    cancelled_by: Option<String>,
    quarantined_at: Option<OffsetDateTime>,
    failure_timeline: Value,
    stage_log: Option<Value>,
}

async fn row(connection: &mut PgConnection, number: i64) -> StoreResult<Option<JobRecord>> {
    sqlx::query_as!(
        JobRecord,
        r#"SELECT j.number, j.id, j.domain, j.queue, j.job_type, j.source, j.status, j.priority, j.attempt_count,
                  j.attempt_base, j.max_attempts, j.created_at, j.available_at, j.started_at, j.acquired_at,
                  j.completed_at, j.worker_id, last.worker_id AS "last_worker_id?",
                  last.started_at AS "last_started_at?", last.finished_at AS "last_finished_at?",
                  j.stage, j.progress_percent, j.progress_message, j.error_code, j.cancel_requested_at
           FROM jobs j
           LEFT JOIN job_attempts last ON last.job_number = j.number AND last.attempt = j.attempt_count
           WHERE j.number = $1"#,
        number
    )
    .fetch_optional(connection)
    .await
    .map_err(database)
}

async fn detail_record(connection: &mut PgConnection, number: i64) -> StoreResult<DetailRecord> {
    sqlx::query_as!(
        DetailRecord,
        r#"SELECT j.tenant_id, d.key AS "definition_key?", d.stages AS "stages?", j.owner_user_id, j.project_id,
                  j.payload, j.result,
                  j.requested_by, j.source_ref, j.trace_id, j.request_id, j.correlation_id, j.dedupe_key,
                  j.concurrency_key, j.parent_job_id, j.metadata, j.queued_at, j.updated_at, j.cancelled_at,
                  j.leased_until, j.running_pid, j.error_class,
                  j.error_message, j.error_stack, j.cancellation_reason, j.cancelled_by, j.quarantined_at,
                  j.failure_timeline, j.stage_log
           FROM jobs j LEFT JOIN job_definitions d ON d.id = j.definition_id
           WHERE j.number = $1"#,
        number
    )
    .fetch_one(connection)
    .await
    .map_err(database)
}

/// The job it repeats, if that one still exists, and the jobs that repeat it.
async fn links(
    connection: &mut PgConnection,
    number: i64,
    parent: Option<i64>,
    tenant: Uuid,
) -> StoreResult<(Option<JobLink>, Vec<JobLink>)> {
    let rows = sqlx::query!(
        r#"SELECT number AS "number!", status AS "status!" FROM jobs WHERE number = $1 AND tenant_id = $3
           UNION ALL
           (SELECT number, status FROM jobs WHERE parent_job_id = $2 AND tenant_id = $3 ORDER BY number LIMIT $4)"#,
        parent,
        number,
        tenant,
        CHILDREN_SHOWN
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    let (mut up, mut down) = (None, Vec::new());
    for row in rows {
        let link = JobLink { number: row.number, status: word("jobs", "status", &row.status)? };
        if Some(link.number) == parent { up = Some(link) } else { down.push(link) }
    }
    Ok((up, down))
}

/// Those that ended, and the running one, which is only on the job's own row.
async fn attempts(
    connection: &mut PgConnection,
    job: &JobRecord,
    running_pid: Option<i32>,
    log_lines: u32,
) -> StoreResult<Vec<AttemptView>> {
    let mut logs = newest_lines(connection, job.number, job.attempt_count, log_lines).await?;
    let rows = sqlx::query!(
        "SELECT attempt, outcome, worker_id, pid, started_at, finished_at, exit_code, error_code, error_text,
                error_stack, stdout_tail, stderr_tail
         FROM job_attempts WHERE job_number = $1 ORDER BY attempt",
        job.number
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    let mut attempts = Vec::with_capacity(rows.len() + 1);
    for r in rows {
        attempts.push(AttemptView {
            attempt: r.attempt,
            outcome: word("job_attempts", "outcome", &r.outcome)?,
            worker_id: r.worker_id,
            pid: r.pid,
            started_at: stamp(r.started_at),
            finished_at: stamp_if(r.finished_at),
            exit_code: r.exit_code,
            error_code: r.error_code,
            error_text: r.error_text,
            error_stack: r.error_stack,
            stdout_tail: r.stdout_tail,
            stderr_tail: r.stderr_tail,
            stages: Vec::new(),
            logs: logs.remove(&r.attempt).unwrap_or_default(),
        });
    }
    if let Some(worker_id) = &job.worker_id {
        attempts.push(AttemptView {
            attempt: job.attempt_count,
            outcome: AttemptOutcome::Running,
            worker_id: worker_id.clone(),
            pid: running_pid,
            started_at: stamp(job.acquired_at.unwrap_or(job.created_at)),
            finished_at: None,
            exit_code: None,
            error_code: None,
            error_text: None,
            error_stack: None,
            stdout_tail: None,
            stderr_tail: None,
            stages: Vec::new(),
            logs: logs.remove(&job.attempt_count).unwrap_or_default(),
        });
    }
    Ok(attempts)
}

async fn newest_lines(
    connection: &mut PgConnection,
    number: i64,
    attempts: i32,
    limit: u32,
) -> StoreResult<HashMap<i32, Vec<LogLine>>> {
    let rows = sqlx::query!(
        r#"SELECT l.attempt, l.seq, l.created_at, l.stream, l.line
           FROM generate_series(1, $2::int) a(attempt)
           CROSS JOIN LATERAL (SELECT * FROM job_logs WHERE job_number = $1 AND attempt = a.attempt
                               ORDER BY seq DESC LIMIT $3) l
           ORDER BY l.attempt, l.seq"#,
        number,
        attempts,
        i64::from(limit)
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    let mut lines: HashMap<i32, Vec<LogLine>> = HashMap::new();
    for r in rows {
        lines.entry(r.attempt).or_default().push(LogLine {
            seq: r.seq,
            at: stamp(r.created_at),
            stream: word("job_logs", "stream", &r.stream)?,
            text: r.line,
        });
    }
    Ok(lines)
}

/// The newest entries, oldest first: of the audit log, and of events that name who caused them, because a bulk
/// operation leaves one entry for all of its jobs.
async fn trail(connection: &mut PgConnection, number: i64) -> StoreResult<Vec<TrailEntry>> {
    sqlx::query!(
        r#"SELECT created_at AS "created_at!", actor AS "actor!", action AS "action!", reason
           FROM (
             (SELECT created_at, actor, action, reason FROM audit_log
              WHERE object_type = 'job' AND object_id = $1 ORDER BY id DESC LIMIT $3)
             UNION ALL
             (SELECT created_at, attrs ->> 'actor',
                     CASE kind WHEN 'job.requeued' THEN 'job.requeue' WHEN 'job.rescheduled' THEN 'job.reschedule'
                               ELSE 'job.cancel' END,
                     attrs ->> 'message'
              FROM job_events
              WHERE job_number = $2 AND attrs ->> 'actor' IS NOT NULL
                AND kind IN ('job.cancelled', 'job.cancel_requested', 'job.requeued', 'job.rescheduled')
              ORDER BY id DESC LIMIT $3)) entries
           ORDER BY created_at DESC LIMIT $3"#,
        number.to_string(),
        number,
        TRAIL_SHOWN
    )
    .fetch_all(connection)
    .await
    .map(|rows| {
        rows.into_iter()
            .rev()
            .map(|r| TrailEntry {
                at: stamp(r.created_at),
                actor: r.actor,
                action: r.action,
                reason: r.reason,
            })
            .collect()
    })
    .map_err(database)
}

#[async_trait]
impl JobQueries for PostgresStore {
    async fn job(&self, scope: &Scope, job: JobRef, log_lines: u32) -> StoreResult<Option<JobDetail>> {
        // Before the snapshot: whatever lies below is surely in it.
        let cursor = self.safe_cursor().await?;
        let Some(number) = locate(&self.work, scope, job).await? else { return Ok(None) };
        let mut tx = self
            .work
            .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            .await
            .map_err(database)?;
        let Some(record) = row(&mut tx, number).await? else { return Ok(None) };
        let d = detail_record(&mut tx, number).await?;
        let (parent, children) = links(&mut tx, number, d.parent_job_id, d.tenant_id).await?;
        let mut attempts = attempts(&mut tx, &record, d.running_pid, log_lines).await?;
        let stages: Vec<StageMark> =
            d.stage_log.map_or_else(|| Ok(Vec::new()), |log| parsed("jobs", "stage_log", log))?;
        for attempt in &mut attempts {
            attempt.stages = stages.iter().filter(|mark| mark.attempt == attempt.attempt).cloned().collect();
        }
        let trail = trail(&mut tx, number).await?;
        tx.commit().await.map_err(database)?;
        Ok(Some(JobDetail {
            row: record.try_into()?,
            tenant_id: TenantId(d.tenant_id),
            definition_key: d.definition_key,
            owner_user_id: d.owner_user_id,
            project_id: d.project_id,
            stages: d.stages.map_or_else(|| Ok(Vec::new()), |s| parsed("job_definitions", "stages", s))?,
            payload: d.payload,
            result: d.result,
            requested_by: d.requested_by,
            source_ref: d.source_ref,
            trace_id: d.trace_id,
            request_id: d.request_id,
            correlation_id: d.correlation_id,
            dedupe_key: d.dedupe_key,
            concurrency_key: d.concurrency_key,
            parent,
            children,
            metadata: d.metadata,
            queued_at: stamp(d.queued_at),
            updated_at: stamp(d.updated_at),
            cancelled_at: stamp_if(d.cancelled_at),
            leased_until: stamp_if(d.leased_until),
            silent: None,
            error_class: d.error_class,
            error_message: d.error_message,
            error_stack: d.error_stack,
            cancellation_reason: d.cancellation_reason,
            cancelled_by: d.cancelled_by,
            quarantined_at: stamp_if(d.quarantined_at),
            failure_timeline: parsed("jobs", "failure_timeline", d.failure_timeline)?,
            attempts,
            trail,
            now: self.clock.now(),
            cursor,
        }))
    }
}
