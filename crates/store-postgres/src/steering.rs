//! The rows of jobs and queues, as people steer them.
//!
//! The rows are locked by the statement that reads them; the updates ask for the state again all the same.

use crate::{
    PostgresStore,
    convert::{moment, slot, word},
    create::lost_a_race,
    error::{Error, Outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreError, StoreResult,
    params::QueueControl,
    ports::{
        steering::{JobRows, Move, QueueChange, SteeredJob, SteeringQueries},
        tx::Tx,
    },
};
use leasehold_types::{JobRef, TenantId, Timestamp};
use serde_json::{Map, Value};
use std::collections::HashMap;
use uuid::Uuid;

pub(crate) struct SteeredRecord {
    pub number: i64,
    pub tenant_id: Uuid,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub status: String,
    pub attempt_count: i32,
    pub progress_percent: i16,
    pub dedupe_key: Option<String>,
    pub cancel_requested: bool,
}

impl TryFrom<SteeredRecord> for SteeredJob {
    type Error = StoreError;

    fn try_from(row: SteeredRecord) -> StoreResult<Self> {
        Ok(Self {
            number: row.number,
            tenant: TenantId(row.tenant_id),
            status: word("jobs", "status", &row.status)?,
            attempt: row.attempt_count,
            progress: row.progress_percent,
            domain: row.domain,
            queue: row.queue,
            job_type: row.job_type,
            cancel_requested: row.cancel_requested,
            dedupe_key: row.dedupe_key,
        })
    }
}

#[async_trait]
impl JobRows for PostgresTx {
    async fn lock_job(&mut self, tenant: Option<TenantId>, job: JobRef) -> Outcome<Option<SteeredJob>> {
        let (number, id) = match job {
            JobRef::Number(number) => (Some(number), None),
            JobRef::Id(id) => (None, Some(id.0)),
        };
        let found = sqlx::query_as!(
            SteeredRecord,
            r#"SELECT number, tenant_id, domain, queue, job_type, status, attempt_count, progress_percent, dedupe_key,
                      cancel_requested_at IS NOT NULL AS "cancel_requested!"
               FROM jobs WHERE number = COALESCE($1, (SELECT number FROM jobs WHERE id = $2))
                 AND ($3::uuid IS NULL OR tenant_id = $3)
               FOR UPDATE"#,
            number,
            id,
            tenant.map(|id| id.0)
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        Ok(found.map(TryInto::try_into).transpose()?)
    }

    /// Looked up job by job: a plain join may be planned as a walk over all active keys.
    async fn dedupe_holders(&mut self, numbers: &[i64]) -> Outcome<HashMap<i64, i64>> {
        let rows = sqlx::query!(
            "SELECT j.number, active.number AS holder
             FROM jobs j CROSS JOIN LATERAL (
               SELECT a.number FROM jobs a
               WHERE a.tenant_id = j.tenant_id AND a.dedupe_key = j.dedupe_key AND a.dedupe_key IS NOT NULL
                 AND a.status IN ('queued', 'processing') AND a.number <> j.number LIMIT 1) active
             WHERE j.number = ANY($1)",
            numbers
        )
        .fetch_all(&mut *self.tx)
        .await?;
        Ok(rows.into_iter().map(|row| (row.number, row.holder)).collect())
    }

    async fn cancel_jobs(&mut self, numbers: &[i64], by: &str, reason: Option<&str>) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "UPDATE jobs
             SET status = 'cancelled', cancelled_at = $2, completed_at = $2, cancellation_reason = $3,
                 cancelled_by = $4, updated_at = $2
             WHERE number = ANY($1) AND status IN ('queued', 'quarantined')",
            numbers,
            now,
            reason,
            by
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn request_cancel(&mut self, numbers: &[i64], by: &str, reason: Option<&str>) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "UPDATE jobs
             SET cancel_requested_at = $2, cancellation_reason = $3, cancelled_by = $4, updated_at = $2
             WHERE number = ANY($1) AND status = 'processing' AND cancel_requested_at IS NULL",
            numbers,
            now,
            reason,
            by
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn requeue_jobs(&mut self, numbers: &[i64]) -> Outcome<bool> {
        let now = moment(self.now());
        let done = sqlx::query!(
            "UPDATE jobs
             SET status = 'queued', queued_at = $2, available_at = NULL, completed_at = NULL, quarantined_at = NULL,
                 attempt_base = attempt_count, completion_token = NULL, cancel_requested_at = NULL,
                 failure_streak_code = NULL, failure_streak_count = 0, error_code = NULL, error_class = NULL,
                 error_message = NULL, error_stack = NULL, updated_at = $2
             WHERE number = ANY($1) AND status = 'quarantined'",
            numbers,
            now
        )
        .execute(&mut *self.tx)
        .await;
        match done {
            Ok(_) => Ok(true),
            Err(error) if lost_a_race(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn reschedule_jobs(&mut self, numbers: &[i64], at: Timestamp) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "UPDATE jobs SET available_at = $2, updated_at = $3 WHERE number = ANY($1) AND status = 'queued'",
            numbers,
            moment(at),
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    /// The jobs were written before, so the events' numbers are drawn by a transaction that has its id (see `outbox`).
    async fn record_moves(&mut self, jobs: &[&SteeredJob], moved: Move<'_>) -> Outcome<()> {
        let now = self.now();
        let (numbers, were): (Vec<i64>, Vec<String>) =
            jobs.iter().map(|job| (job.number, job.status.as_str().to_owned())).unzip();
        sqlx::query!(
            r#"WITH moved AS MATERIALIZED (
                 SELECT j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.attempt_count, j.progress_percent, a.was
                 FROM UNNEST($1::bigint[], $2::text[]) AS a(number, was) JOIN jobs j ON j.number = a.number),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, attrs, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, $3, $4, attempt_count, progress_percent, $5, $6
                 FROM moved WHERE $7 ORDER BY number)
               INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
               SELECT m.tenant_id, m.domain, m.queue, m.job_type, d.status, sum(d.delta), $8
               FROM moved m CROSS JOIN LATERAL (VALUES (m.was, -1), ($4, 1)) d(status, delta)
               GROUP BY m.tenant_id, m.domain, m.queue, m.job_type, d.status HAVING sum(d.delta) <> 0"#,
            &numbers,
            &were,
            moved.kind.as_str(),
            moved.status.as_str(),
            attrs(moved),
            moment(now),
            self.outbox,
            slot(now)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn change_queue(
        &mut self,
        domain: &str,
        queue: &str,
        change: QueueChange,
        by: &str,
        reason: Option<&str>,
    ) -> Outcome<QueueControl> {
        let now = moment(self.now());
        let control = sqlx::query_as!(
            QueueControl,
            "INSERT INTO job_queue_controls AS c (domain, queue, paused, draining, changed_by, reason, updated_at)
             VALUES ($1, $2, COALESCE($3, FALSE), COALESCE($4, FALSE), $5, $6, $7)
             ON CONFLICT (domain, queue) DO UPDATE
             SET paused = COALESCE($3, c.paused), draining = COALESCE($4, c.draining),
                 changed_by = EXCLUDED.changed_by, reason = EXCLUDED.reason, updated_at = EXCLUDED.updated_at
             RETURNING domain, queue, paused, draining",
            domain,
            queue,
            change.paused,
            change.draining,
            by,
            reason,
            now
        )
        .fetch_one(&mut *self.tx)
        .await?;
        Ok(control)
    }
}

fn attrs(moved: Move<'_>) -> Option<Value> {
    let fields = [("message", moved.message), ("error_code", moved.error_code), ("actor", moved.actor)];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.into())));
    let attrs: Map<String, Value> = given.collect();
    (!attrs.is_empty()).then_some(Value::Object(attrs))
}

#[async_trait]
impl SteeringQueries for PostgresStore {
    async fn queue_controls(&self) -> StoreResult<Vec<QueueControl>> {
        let controls = sqlx::query_as!(
            QueueControl,
            "SELECT domain, queue, paused, draining FROM job_queue_controls ORDER BY domain, queue"
        );
        Ok(controls.fetch_all(&self.work).await.map_err(Error::from)?)
    }
}
