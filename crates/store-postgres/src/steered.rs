//! Jobs that are steered, one by a single verb or many by a bulk operation: the same statements for both.
//!
//! Each is one conditional statement that moves the jobs, tells the outbox, moves the counters and leaves the
//! trail. Bulk operations hold the row locks already, taken lowest number first.

use crate::{
    audit::audited,
    convert::{moment, slot},
};
use leasehold_queue::Scope;
use leasehold_types::Timestamp;
use sqlx::PgExecutor;
use time::OffsetDateTime;

/// Who wants it, why, and when.
pub struct Order<'a> {
    pub scope: &'a Scope,
    pub reason: Option<&'a str>,
    pub now: Timestamp,
    /// Whether events are written.
    pub outbox: bool,
}

impl Order<'_> {
    pub fn at(&self) -> OffsetDateTime {
        moment(self.now)
    }
}

/// queued, quarantined → cancelled
pub async fn cancel_waiting(
    executor: impl PgExecutor<'_>,
    numbers: &[i64],
    order: &Order<'_>,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH old AS MATERIALIZED (
             SELECT number, status FROM jobs WHERE number = ANY($1) AND status IN ('queued', 'quarantined')
             ORDER BY number FOR UPDATE),
           moved AS (
             UPDATE jobs j
             SET status = 'cancelled', cancelled_at = $2, completed_at = $2, updated_at = $2,
                 cancelled_by = $3, cancellation_reason = $4
             FROM old WHERE j.number = old.number
             RETURNING j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.attempt_count,
                       j.progress_percent, old.status AS was),
           told AS (
             INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                    progress, attrs, created_at)
             SELECT tenant_id, number, domain, queue, job_type, 'job.cancelled', 'cancelled', attempt_count,
                    progress_percent,
                    NULLIF(jsonb_strip_nulls(jsonb_build_object('message', $4::text)), '{}'), $2
             FROM moved WHERE $7 ORDER BY number),
           counted AS (
             INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
             SELECT m.tenant_id, m.domain, m.queue, m.job_type, d.status, sum(d.delta), $5
             FROM moved m CROSS JOIN LATERAL (VALUES (m.was, -1), ('cancelled', 1)) d(status, delta)
             GROUP BY m.tenant_id, m.domain, m.queue, m.job_type, d.status),
           audited AS (
             INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT tenant_id, $6, 'job.cancel', 'job', number::text, $4, $2, $8
             FROM moved WHERE $6::text IS NOT NULL ORDER BY number)
           SELECT number FROM moved"#,
        numbers,
        order.at(),
        order.scope.actor.to_string(),
        order.reason,
        slot(order.now),
        audited(order.scope),
        order.outbox,
        order.scope.origin
    )
    .fetch_all(executor)
    .await
}

/// Running jobs are asked to stop. The first request wins; later ones change nothing. For each running job:
/// whether it was asked just now and not before.
pub async fn request_cancel(
    executor: impl PgExecutor<'_>,
    numbers: &[i64],
    order: &Order<'_>,
) -> Result<Vec<bool>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH old AS MATERIALIZED (
             SELECT number, cancel_requested_at FROM jobs WHERE number = ANY($1) AND status = 'processing'
             ORDER BY number FOR UPDATE),
           asked AS (
             UPDATE jobs j
             SET cancel_requested_at = $2, cancelled_by = $3, cancellation_reason = $4, updated_at = $2
             FROM old WHERE j.number = old.number AND old.cancel_requested_at IS NULL
             RETURNING j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.attempt_count,
                       j.progress_percent),
           told AS (
             INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                    progress, attrs, created_at)
             SELECT tenant_id, number, domain, queue, job_type, 'job.cancel_requested', 'processing',
                    attempt_count, progress_percent,
                    NULLIF(jsonb_strip_nulls(jsonb_build_object('message', $4::text)), '{}'), $2
             FROM asked WHERE $6 ORDER BY number),
           audited AS (
             INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT tenant_id, $5, 'job.cancel', 'job', number::text, $4, $2, $7
             FROM asked WHERE $5::text IS NOT NULL ORDER BY number)
           SELECT cancel_requested_at IS NULL AS "just_now!" FROM old"#,
        numbers,
        order.at(),
        order.scope.actor.to_string(),
        order.reason,
        audited(order.scope),
        order.outbox,
        order.scope.origin
    )
    .fetch_all(executor)
    .await
}

/// quarantined → queued, with everything reset that would park it again at once. The budget is renewed, the
/// attempt numbers go on; the timeline stays, it is history.
pub async fn requeue(
    executor: impl PgExecutor<'_>,
    numbers: &[i64],
    order: &Order<'_>,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH moved AS (
             UPDATE jobs
             SET status = 'queued', attempt_base = attempt_count, failure_streak_code = NULL,
                 failure_streak_count = 0, quarantined_at = NULL, completed_at = NULL,
                 completion_token = NULL, cancel_requested_at = NULL, available_at = NULL,
                 error_code = NULL, error_class = NULL, error_message = NULL, error_stack = NULL,
                 queued_at = $2, updated_at = $2
             WHERE number = ANY($1) AND status = 'quarantined'
             RETURNING number, tenant_id, domain, queue, job_type, attempt_count, progress_percent),
           told AS (
             INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                    progress, attrs, created_at)
             SELECT tenant_id, number, domain, queue, job_type, 'job.requeued', 'queued', attempt_count,
                    progress_percent,
                    NULLIF(jsonb_strip_nulls(jsonb_build_object('message', $3::text)), '{}'), $2
             FROM moved WHERE $6 ORDER BY number),
           counted AS (
             INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
             SELECT m.tenant_id, m.domain, m.queue, m.job_type, d.status, sum(d.delta), $4
             FROM moved m CROSS JOIN (VALUES ('quarantined', -1), ('queued', 1)) d(status, delta)
             GROUP BY m.tenant_id, m.domain, m.queue, m.job_type, d.status),
           audited AS (
             INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT tenant_id, $5, 'job.requeue', 'job', number::text, $3, $2, $7
             FROM moved WHERE $5::text IS NOT NULL ORDER BY number)
           SELECT number FROM moved"#,
        numbers,
        order.at(),
        order.reason,
        slot(order.now),
        audited(order.scope),
        order.outbox,
        order.scope.origin
    )
    .fetch_all(executor)
    .await
}

/// Queued jobs become available at this moment.
pub async fn reschedule(
    executor: impl PgExecutor<'_>,
    numbers: &[i64],
    at: Timestamp,
    order: &Order<'_>,
) -> Result<Vec<i64>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH moved AS (
             UPDATE jobs SET available_at = $6, updated_at = $2
             WHERE number = ANY($1) AND status = 'queued'
             RETURNING number, tenant_id, domain, queue, job_type, attempt_count, progress_percent),
           told AS (
             INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                    progress, attrs, created_at)
             SELECT tenant_id, number, domain, queue, job_type, 'job.rescheduled', 'queued', attempt_count,
                    progress_percent,
                    NULLIF(jsonb_strip_nulls(jsonb_build_object('message', $3::text)), '{}'), $2
             FROM moved WHERE $5 ORDER BY number),
           audited AS (
             INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT tenant_id, $4, 'job.reschedule', 'job', number::text, $3, $2, $7
             FROM moved WHERE $4::text IS NOT NULL ORDER BY number)
           SELECT number FROM moved"#,
        numbers,
        order.at(),
        order.reason,
        audited(order.scope),
        order.outbox,
        moment(at),
        order.scope.origin
    )
    .fetch_all(executor)
    .await
}
