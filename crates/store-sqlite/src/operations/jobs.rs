//! Jobs of bulk operations: what their repetition needs, making it, and removing jobs that have ended.
//!
//! Attempts, logs, attachments and idempotency keys go with their job; events stay until their own retention ends.

use crate::{
    convert::to_json, counters::Moves, create, error::Outcome, outbox::Kin, read::JOBS, steering::kin_of,
    tx::SqliteTx,
};
use leasehold_queue::{
    Scope,
    params::{CreateAnswer, NewJob},
    ports::{bulk::RetriedJob, steering::SteeredJob, tx::Tx},
};
use leasehold_types::Timestamp;
use sqlx::SqliteConnection;

pub(super) async fn to_retry(tx: &mut SqliteTx, numbers: &[i64]) -> Outcome<Vec<RetriedJob>> {
    let numbers = to_json(numbers)?;
    let rows = sqlx::query!(
        r#"SELECT j.number AS "number!: i64", j.tenant_id, d.key AS "definition_key?", j.queue, j.priority,
                  j.max_attempts, j.payload, j.concurrency_key, j.correlation_id, j.owner_user_id, j.project_id
           FROM jobs j LEFT JOIN job_definitions d ON d.id = j.definition_id
           WHERE j.number IN (SELECT value FROM json_each(?1)) ORDER BY j.number"#,
        numbers
    )
    .fetch_all(&mut *tx.tx)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(RetriedJob {
                number: row.number,
                tenant: JOBS.parse("tenant_id", &row.tenant_id)?,
                definition_key: row.definition_key,
                queue: row.queue,
                priority: JOBS.int("priority", row.priority)?,
                max_attempts: JOBS.int("max_attempts", row.max_attempts)?,
                payload: JOBS.json("payload", &row.payload)?,
                concurrency_key: row.concurrency_key,
                correlation_id: row.correlation_id,
                owner_user_id: row.owner_user_id,
                project_id: row.project_id,
            })
        })
        .collect()
}

pub(super) async fn create(
    tx: &mut SqliteTx,
    scope: &Scope,
    jobs: &[NewJob],
) -> Outcome<Option<Vec<CreateAnswer>>> {
    let now = tx.now();
    create::create_within(&mut tx.tx, scope, jobs, now).await.map(Some)
}

pub(super) async fn delete(tx: &mut SqliteTx, jobs: &[&SteeredJob], keep_a_copy: bool) -> Outcome<()> {
    let (numbers, now) = (to_json(&jobs.iter().map(|job| job.number).collect::<Vec<_>>())?, tx.now());
    if keep_a_copy {
        archive(&mut tx.tx, &numbers, now).await?;
    }
    sqlx::query!(
        "DELETE FROM jobs
         WHERE number IN (SELECT value FROM json_each(?1)) AND status NOT IN ('queued', 'processing')",
        numbers
    )
    .execute(&mut *tx.tx)
    .await?;
    let kins: Vec<Kin> = jobs.iter().map(|job| kin_of(job)).collect();
    let mut moves = Moves::default();
    for (job, kin) in jobs.iter().zip(&kins) {
        moves.removed(kin, job.status);
    }
    moves.record(&mut tx.tx, now).await
}

/// The whole row and its attempts as JSON, under the names of their columns.
async fn archive(connection: &mut SqliteConnection, numbers: &str, now: Timestamp) -> Outcome<()> {
    let now = now.to_string();
    sqlx::query!(
        "INSERT INTO jobs_archive (number, id, tenant_id, domain, queue, job_type, status, created_at, completed_at,
                                   job, attempts, archived_at)
         SELECT j.number, j.id, j.tenant_id, j.domain, j.queue, j.job_type, j.status, j.created_at, j.completed_at,
                json_object(
                  'number', j.number, 'id', j.id, 'tenant_id', j.tenant_id, 'domain', j.domain, 'queue', j.queue,
                  'job_type', j.job_type, 'definition_id', j.definition_id, 'owner_user_id', j.owner_user_id,
                  'project_id', j.project_id, 'source', j.source, 'source_ref', j.source_ref, 'status', j.status,
                  'priority', j.priority, 'payload', json(j.payload), 'result', json(j.result),
                  'result_ref', j.result_ref, 'metadata', json(j.metadata), 'checkpoint', json(j.checkpoint),
                  'dedupe_key', j.dedupe_key, 'idempotency_key', j.idempotency_key,
                  'concurrency_key', j.concurrency_key, 'correlation_id', j.correlation_id,
                  'request_id', j.request_id, 'trace_id', j.trace_id, 'requested_by', j.requested_by,
                  'parent_job_id', j.parent_job_id, 'max_attempts', j.max_attempts,
                  'attempt_count', j.attempt_count, 'attempt_base', j.attempt_base,
                  'available_at', j.available_at, 'created_at', j.created_at, 'queued_at', j.queued_at,
                  'started_at', j.started_at, 'acquired_at', j.acquired_at, 'completed_at', j.completed_at,
                  'updated_at', j.updated_at, 'completion_token', j.completion_token, 'stage', j.stage,
                  'progress_percent', j.progress_percent, 'progress_message', j.progress_message,
                  'stage_log', json(j.stage_log),
                  'error_code', j.error_code, 'error_class', j.error_class, 'error_message', j.error_message,
                  'error_stack', j.error_stack, 'failure_streak_code', j.failure_streak_code,
                  'failure_streak_count', j.failure_streak_count, 'failure_timeline', json(j.failure_timeline),
                  'quarantined_at', j.quarantined_at, 'cancelled_at', j.cancelled_at,
                  'cancellation_reason', j.cancellation_reason, 'cancelled_by', j.cancelled_by),
                (SELECT json_group_array(json_object(
                          'attempt', a.attempt, 'worker_id', a.worker_id, 'pid', a.pid, 'outcome', a.outcome,
                          'started_at', a.started_at, 'finished_at', a.finished_at, 'exit_code', a.exit_code,
                          'error_stack', a.error_stack,
                          'error_code', a.error_code, 'error_text', a.error_text,
                          'stdout_tail', a.stdout_tail, 'stderr_tail', a.stderr_tail))
                 FROM (SELECT * FROM job_attempts WHERE job_number = j.number ORDER BY attempt) a),
                ?2
         FROM jobs j
         WHERE j.number IN (SELECT value FROM json_each(?1)) AND j.status NOT IN ('queued', 'processing')",
        numbers,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}
