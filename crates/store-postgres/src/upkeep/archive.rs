//! Removing jobs that have ended, and keeping a copy of them when asked to, in the same statement.
//!
//! Attempts, logs, attachments and idempotency keys go with their job; events stay until their own retention ends.

use crate::{audit::audited, convert::slot, steered::Order};
use sqlx::PgConnection;

/// The copy is the whole row and its attempts as JSON, under the names of their columns; what only a running job
/// has is left out. All parts of the statement see the job as it was before.
pub(super) async fn prune(
    connection: &mut PgConnection,
    numbers: &[i64],
    keep_a_copy: bool,
    order: &Order<'_>,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH copied AS (
             INSERT INTO jobs_archive (number, id, tenant_id, domain, queue, job_type, status, created_at,
                    completed_at, job, attempts, archived_at)
             SELECT j.number, j.id, j.tenant_id, j.domain, j.queue, j.job_type, j.status, j.created_at,
                    j.completed_at,
                    to_jsonb(j) - '{worker_id,lease_id,leased_until,running_pid,cancel_requested_at}'::text[],
                    (SELECT COALESCE(jsonb_agg(to_jsonb(a) - '{job_number,tenant_id}'::text[] ORDER BY a.attempt),
                                     '[]')
                     FROM job_attempts a WHERE a.job_number = j.number),
                    $3
             FROM jobs j
             WHERE $2 AND j.number = ANY($1) AND j.status NOT IN ('queued', 'processing')),
           gone AS (
             DELETE FROM jobs WHERE number = ANY($1) AND status NOT IN ('queued', 'processing')
             RETURNING number, tenant_id, domain, queue, job_type, status),
           attempts AS (DELETE FROM job_attempts WHERE job_number IN (SELECT number FROM gone)),
           counted AS (
             INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
             SELECT tenant_id, domain, queue, job_type, status, -count(*), $4 FROM gone
             GROUP BY tenant_id, domain, queue, job_type, status),
           audited AS (
             INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT tenant_id, $5, 'job.prune', 'job', number::text, $6, $3, $7
             FROM gone WHERE $5::text IS NOT NULL ORDER BY number)
           SELECT number FROM gone"#,
        numbers,
        keep_a_copy,
        order.at(),
        slot(order.now),
        audited(order.scope),
        order.reason,
        order.scope.origin
    )
    .fetch_all(connection)
    .await
}
