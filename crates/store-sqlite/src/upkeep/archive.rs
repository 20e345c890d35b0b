//! Removing jobs that have ended, and keeping a copy of them when asked to, in the same transaction.
//!
//! Attempts, logs, attachments and idempotency keys go with their job; events stay until their own retention ends.

use crate::{
    counters::Moves,
    error::Outcome,
    steered::{Order, Steered, leave_trail, numbers_of},
};
use leasehold_types::Timestamp;
use sqlx::SqliteConnection;

pub(super) async fn prune(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    keep_a_copy: bool,
    order: &Order<'_>,
) -> Outcome<()> {
    let numbers = numbers_of(jobs)?;
    if keep_a_copy {
        archive(connection, &numbers, order.now).await?;
    }
    sqlx::query!(
        "DELETE FROM jobs
         WHERE number IN (SELECT value FROM json_each(?1)) AND status NOT IN ('queued', 'processing')",
        numbers
    )
    .execute(&mut *connection)
    .await?;
    let mut moves = Moves::default();
    for job in jobs {
        moves.removed(&job.kin, job.status);
    }
    moves.record(connection, order.now).await?;
    leave_trail(connection, jobs, "job.prune", order).await
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
