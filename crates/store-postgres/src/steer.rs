//! What people do to jobs and queues: cancel, requeue, pause.
//!
//! Nothing here reads a state and then acts on it: each move is a conditional statement, and only when none of
//! them matched is the row read again to say why.

use crate::{
    PostgresStore,
    audit::{self, Act, audited},
    convert::{slot, word},
    error::database,
    read::locate,
};
use leasehold_queue::{
    Scope, StoreResult,
    params::{CancelAnswer, QueueControl, Wake},
};
use leasehold_types::{JobRef, JobStatus, Problem, ProblemCode};

/// A job that changes state between two looks is looked at again; more often than this it does not happen.
const LOOKS: usize = 10;

impl PostgresStore {
    pub(crate) async fn stop(
        &self,
        scope: &Scope,
        job: JobRef,
        reason: Option<&str>,
    ) -> StoreResult<CancelAnswer> {
        let missing = || Problem::not_found("This job");
        let number = locate(&self.work, scope, job).await?.ok_or_else(missing)?;
        for _ in 0..LOOKS {
            if self.cancel_waiting(scope, number, reason).await? {
                self.wakes.tell(&[Wake::Events]);
                return Ok(CancelAnswer::Cancelled);
            }
            if self.ask_to_stop(scope, number, reason).await? {
                self.wakes.tell(&[Wake::Events, Wake::Cancel]);
                return Ok(CancelAnswer::Requested);
            }
            let status = self.status_of(number).await?.ok_or_else(missing)?;
            if status.is_terminal() {
                return Err(
                    wrong_state(number, status, "Only a job that has not ended can be cancelled").into()
                );
            }
        }
        let detail = format!("Job #{number} keeps changing. Nothing was changed; please try again.");
        Err(Problem::new(ProblemCode::Unavailable, detail).retry_after(1).into())
    }

    /// queued, quarantined → cancelled
    async fn cancel_waiting(&self, scope: &Scope, number: i64, reason: Option<&str>) -> StoreResult<bool> {
        let now = self.clock.now();
        let done = sqlx::query_scalar!(
            r#"WITH old AS MATERIALIZED (
                 SELECT number, status FROM jobs WHERE number = $1 AND status IN ('queued', 'quarantined')
                 FOR UPDATE),
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
                 FROM moved),
               counted AS (
                 INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
                 SELECT m.tenant_id, m.domain, m.queue, m.job_type, d.status, d.delta, $5
                 FROM moved m CROSS JOIN LATERAL (VALUES (m.was, -1), ('cancelled', 1)) d(status, delta)),
               audited AS (
                 INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at)
                 SELECT tenant_id, $6, 'job.cancel', 'job', number::text, $4, $2
                 FROM moved WHERE $6::text IS NOT NULL)
               SELECT number FROM moved"#,
            number,
            crate::convert::moment(now),
            scope.actor.to_string(),
            reason,
            slot(now),
            audited(scope)
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        Ok(done.is_some())
    }

    /// The first request wins; later ones are answered the same and change nothing.
    async fn ask_to_stop(&self, scope: &Scope, number: i64, reason: Option<&str>) -> StoreResult<bool> {
        let running = sqlx::query_scalar!(
            r#"WITH old AS MATERIALIZED (
                 SELECT number, cancel_requested_at FROM jobs WHERE number = $1 AND status = 'processing'
                 FOR UPDATE),
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
                 FROM asked),
               audited AS (
                 INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at)
                 SELECT tenant_id, $5, 'job.cancel', 'job', number::text, $4, $2
                 FROM asked WHERE $5::text IS NOT NULL)
               SELECT number FROM old"#,
            number,
            self.now(),
            scope.actor.to_string(),
            reason,
            audited(scope)
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        Ok(running.is_some())
    }

    /// quarantined → queued, with everything reset that would park it again at once.
    pub(crate) async fn put_back(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<()> {
        let missing = || Problem::not_found("This job");
        let number = locate(&self.work, scope, job).await?.ok_or_else(missing)?;
        let now = self.clock.now();
        let moved = sqlx::query_scalar!(
            r#"WITH moved AS (
                 UPDATE jobs
                 SET status = 'queued', attempt_base = attempt_count, failure_streak_code = NULL,
                     failure_streak_count = 0, quarantined_at = NULL, completed_at = NULL,
                     completion_token = NULL, cancel_requested_at = NULL, available_at = NULL,
                     error_code = NULL, error_class = NULL, error_message = NULL, error_stack = NULL,
                     queued_at = $2, updated_at = $2
                 WHERE number = $1 AND status = 'quarantined'
                 RETURNING number, tenant_id, domain, queue, job_type, attempt_count, progress_percent),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, attrs, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, 'job.requeued', 'queued', attempt_count,
                        progress_percent,
                        NULLIF(jsonb_strip_nulls(jsonb_build_object('message', $3::text)), '{}'), $2
                 FROM moved),
               counted AS (
                 INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
                 SELECT m.tenant_id, m.domain, m.queue, m.job_type, d.status, d.delta, $4
                 FROM moved m CROSS JOIN (VALUES ('quarantined', -1), ('queued', 1)) d(status, delta)),
               audited AS (
                 INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at)
                 SELECT tenant_id, $5, 'job.requeue', 'job', number::text, $3, $2
                 FROM moved WHERE $5::text IS NOT NULL)
               SELECT number FROM moved"#,
            number,
            crate::convert::moment(now),
            reason,
            slot(now),
            audited(scope)
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        if moved.is_none() {
            let status = self.status_of(number).await?.ok_or_else(missing)?;
            return Err(wrong_state(number, status, "Only a quarantined job can be requeued").into());
        }
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs, Wake::Events]);
        Ok(())
    }

    async fn status_of(&self, number: i64) -> StoreResult<Option<JobStatus>> {
        let status = sqlx::query_scalar!("SELECT status FROM jobs WHERE number = $1", number)
            .fetch_optional(&self.work)
            .await
            .map_err(database)?;
        status.map(|s| word("jobs", "status", &s)).transpose()
    }

    pub(crate) async fn control(
        &self,
        scope: &Scope,
        control: QueueControl,
        reason: Option<&str>,
    ) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        sqlx::query!(
            "INSERT INTO job_queue_controls (domain, queue, paused, draining, changed_by, reason, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (domain, queue) DO UPDATE
             SET paused = EXCLUDED.paused, draining = EXCLUDED.draining, changed_by = EXCLUDED.changed_by,
                 reason = EXCLUDED.reason, updated_at = EXCLUDED.updated_at",
            control.domain,
            control.queue,
            control.paused,
            control.draining,
            scope.actor.to_string(),
            reason,
            now
        )
        .execute(&mut *tx)
        .await
        .map_err(database)?;
        let action = match (control.paused, control.draining) {
            (true, _) => "queue.pause",
            (false, true) => "queue.drain",
            (false, false) => "queue.resume",
        };
        let object_id = format!("{}/{}", control.domain, control.queue);
        let tenant = scope.tenant().map(|t| t.0);
        let act = Act { tenant, action, object_type: "queue", object_id: &object_id, reason };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs]);
        Ok(())
    }

    pub(crate) async fn controls(&self) -> StoreResult<Vec<QueueControl>> {
        sqlx::query_as!(
            QueueControl,
            "SELECT domain, queue, paused, draining FROM job_queue_controls ORDER BY domain, queue"
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)
    }
}

fn wrong_state(number: i64, status: JobStatus, rule: &str) -> Problem {
    let state = status.label().to_lowercase();
    Problem::new(ProblemCode::WrongState, format!("Job #{number} is {state}. {rule}; nothing was changed."))
}
