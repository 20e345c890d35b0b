//! The fast path: completions, the common case. The rows themselves know what attempts and events say, so they are
//! copied from table to table by number, and only what a worker added (a result, a token, what its process did) is
//! handed over.

use crate::{
    convert::{text, to_json},
    counters::Moves,
    error::Outcome,
    outbox::Kin,
};
use leasehold_queue::params::Finish;
use leasehold_types::{JobStatus, Timestamp};
use serde::Serialize;
use sqlx::SqliteConnection;
use std::collections::BTreeMap;

/// What a worker said beyond "it is done".
#[derive(Serialize)]
struct Said {
    number: i64,
    result: Option<String>,
    token: Option<String>,
    pid: Option<i32>,
    exit_code: Option<i32>,
    stdout_tail: Option<String>,
    stderr_tail: Option<String>,
}

/// Completes what is still held, at most once per job; the numbers of those jobs. Under the writer's lock.
pub(super) async fn complete(
    connection: &mut SqliteConnection,
    items: &[&Finish],
    now: Timestamp,
) -> Outcome<Vec<i64>> {
    // By number: json_each hands the names of an object out as they are, without parsing anything again.
    let held: BTreeMap<i64, String> = items
        .iter()
        .map(|item| (item.lease.number, format!("{} {}", item.lease.lease_id, item.lease.worker_id.0)))
        .collect();
    let applied = end_attempts(connection, &held, now).await?;
    if applied.is_empty() {
        return Ok(applied);
    }
    let numbers = to_json(&applied)?;
    let kins = count_kins(connection, &numbers).await?;
    // What a worker pool does; then the row already knows its token.
    let lease_is_token = items.iter().all(|i| i.token == Some(i.lease.lease_id.to_string()));
    end_jobs(connection, &numbers, lease_is_token, now).await?;
    let said: Vec<Said> = items
        .iter()
        .filter(|i| applied.contains(&i.lease.number))
        .filter_map(|i| said(i, lease_is_token).transpose())
        .collect::<Outcome<_>>()?;
    if !said.is_empty() {
        keep(connection, &to_json(&said)?).await?;
    }
    let mut moves = Moves::default();
    for (kin, jobs) in &kins {
        moves.moved_many(kin, JobStatus::Processing, JobStatus::Completed, *jobs);
    }
    moves.record(connection, now).await?;
    Ok(applied)
}

fn said(item: &Finish, token_is_known: bool) -> Outcome<Option<Said>> {
    let Finish { result, token, facts, .. } = item;
    if result.is_none() && (token.is_none() || token_is_known) && *facts == Default::default() {
        return Ok(None);
    }
    Ok(Some(Said {
        number: item.lease.number,
        result: result.as_ref().map(to_json).transpose()?,
        token: token.as_deref().map(text),
        pid: facts.pid,
        exit_code: facts.exit_code,
        stdout_tail: facts.stdout_tail.as_deref().map(text),
        stderr_tail: facts.stderr_tail.as_deref().map(text),
    }))
}

/// Fenced: an attempt is written only for a row that shows this lease and this worker. The jobs it was written for.
async fn end_attempts(
    connection: &mut SqliteConnection,
    held: &BTreeMap<i64, String>,
    now: Timestamp,
) -> Outcome<Vec<i64>> {
    let (shown, now) = (to_json(held)?, now.to_string());
    let written = sqlx::query!(
        "INSERT INTO job_attempts (job_number, attempt, tenant_id, worker_id, pid, outcome, started_at, finished_at)
         SELECT j.number, j.attempt_count, j.tenant_id, j.worker_id, j.running_pid, 'succeeded',
                COALESCE(j.acquired_at, ?2), ?2
         FROM json_each(?1) held JOIN jobs j ON j.number = CAST(held.key AS INTEGER)
         WHERE j.status = 'processing' AND j.lease_id || ' ' || j.worker_id = held.value",
        shown,
        now
    )
    .execute(&mut *connection)
    .await?;
    if written.rows_affected() == held.len() as u64 {
        return Ok(held.keys().copied().collect());
    }
    // Some were refused; which is only asked then, because every row that is handed over costs.
    let numbers = sqlx::query_scalar!(
        r#"SELECT j.number AS "number!: i64"
           FROM json_each(?1) held JOIN jobs j ON j.number = CAST(held.key AS INTEGER)
           WHERE j.status = 'processing' AND j.lease_id || ' ' || j.worker_id = held.value"#,
        shown
    )
    .fetch_all(connection)
    .await?;
    Ok(numbers)
}

async fn count_kins(connection: &mut SqliteConnection, numbers: &str) -> Outcome<Vec<(Kin, i64)>> {
    let rows = sqlx::query!(
        r#"SELECT j.tenant_id AS "tenant_id!: String", j.domain AS "domain!: String", j.queue AS "queue!: String",
                  j.job_type AS "job_type!: String", COUNT(*) AS "jobs!: i64"
           FROM json_each(?1) done JOIN jobs j ON j.number = done.value
           GROUP BY 1, 2, 3, 4"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    let kin = |tenant_id, domain, queue, job_type| Kin { tenant_id, domain, queue, job_type };
    Ok(rows.into_iter().map(|r| (kin(r.tenant_id, r.domain, r.queue, r.job_type), r.jobs)).collect())
}

async fn end_jobs(
    connection: &mut SqliteConnection,
    numbers: &str,
    lease_is_token: bool,
    now: Timestamp,
) -> Outcome<()> {
    let now = now.to_string();
    sqlx::query!(
        "UPDATE jobs
         SET status = 'completed', worker_id = NULL, lease_id = NULL, leased_until = NULL, running_pid = NULL,
             cancel_requested_at = NULL, cancelled_by = NULL, cancellation_reason = NULL,
             completion_token = CASE WHEN ?3 THEN lease_id END,
             completed_at = ?2, updated_at = ?2,
             progress_percent = 100, error_code = NULL, error_class = NULL, error_message = NULL, error_stack = NULL,
             failure_streak_code = NULL, failure_streak_count = 0
         WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'processing'",
        numbers,
        now,
        lease_is_token
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt, progress,
                                 created_at)
         SELECT j.tenant_id, j.number, j.domain, j.queue, j.job_type, 'job.completed', j.status, j.attempt_count,
                j.progress_percent, ?2
         FROM json_each(?1) done JOIN jobs j ON j.number = done.value
         ORDER BY done.key",
        numbers,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn keep(connection: &mut SqliteConnection, said: &str) -> Outcome<()> {
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT jsonb(value) AS value FROM json_each(?1))
         UPDATE jobs SET result = COALESCE(e.value ->> 'result', result), completion_token = e.value ->> 'token'
         FROM given AS e WHERE jobs.number = e.value ->> 'number'",
        said
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT jsonb(value) AS value FROM json_each(?1))
         UPDATE job_attempts
         SET pid = COALESCE(e.value ->> 'pid', pid), exit_code = e.value ->> 'exit_code',
             stdout_tail = e.value ->> 'stdout_tail', stderr_tail = e.value ->> 'stderr_tail'
         FROM given AS e
         WHERE job_number = e.value ->> 'number'
           AND attempt = (SELECT attempt_count FROM jobs WHERE number = e.value ->> 'number')",
        said
    )
    .execute(connection)
    .await?;
    Ok(())
}
