//! The rows of jobs and queues, as people steer them.
//!
//! The transaction holds the writer's lock since before the jobs were read, so they cannot move before they are
//! written; the updates ask for the state again all the same.

use crate::{
    SqliteStore,
    convert::to_json,
    counters::Moves,
    error::{Error, Outcome, outcome},
    outbox::{self, Attrs, Kin, NewEvent},
    read::JOBS,
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    params::QueueControl,
    ports::{
        steering::{JobRows, Move, QueueChange, SteeredJob, SteeringQueries},
        tx::Tx,
    },
};
use leasehold_types::{JobRef, TenantId, Timestamp};
use std::collections::HashMap;

pub(crate) struct SteeredRecord {
    pub number: i64,
    pub tenant_id: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub status: String,
    pub attempt_count: i64,
    pub progress_percent: i64,
    pub dedupe_key: Option<String>,
    pub cancel_requested: bool,
}

impl TryFrom<SteeredRecord> for SteeredJob {
    type Error = Error;

    fn try_from(row: SteeredRecord) -> Outcome<Self> {
        Ok(Self {
            number: row.number,
            tenant: JOBS.parse("tenant_id", &row.tenant_id)?,
            status: JOBS.parse("status", &row.status)?,
            attempt: JOBS.int("attempt_count", row.attempt_count)?,
            progress: JOBS.int("progress_percent", row.progress_percent)?,
            domain: row.domain,
            queue: row.queue,
            job_type: row.job_type,
            cancel_requested: row.cancel_requested,
            dedupe_key: row.dedupe_key,
        })
    }
}

#[async_trait]
impl JobRows for SqliteTx {
    async fn lock_job(&mut self, tenant: Option<TenantId>, job: JobRef) -> Outcome<Option<SteeredJob>> {
        let (number, id) = match job {
            JobRef::Number(number) => (Some(number), None),
            JobRef::Id(id) => (None, Some(id.to_string())),
        };
        let tenant = tenant.map(|id| id.to_string());
        let found = sqlx::query_as!(
            SteeredRecord,
            r#"SELECT number AS "number!: i64", tenant_id, domain, queue, job_type, status, attempt_count,
                      progress_percent, dedupe_key, cancel_requested_at IS NOT NULL AS "cancel_requested!: bool"
               FROM jobs WHERE number = COALESCE(?1, (SELECT number FROM jobs WHERE id = ?2))
                 AND (?3 IS NULL OR tenant_id = ?3)"#,
            number,
            id,
            tenant
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        found.map(TryInto::try_into).transpose()
    }

    async fn dedupe_holders(&mut self, numbers: &[i64]) -> Outcome<HashMap<i64, i64>> {
        let numbers = to_json(numbers)?;
        let rows = sqlx::query!(
            r#"SELECT j.number AS "number!: i64", active.number AS "holder!: i64"
               FROM json_each(?1) asked JOIN jobs j ON j.number = asked.value
               JOIN jobs active
                 ON active.tenant_id = j.tenant_id AND active.dedupe_key = j.dedupe_key
                AND active.dedupe_key IS NOT NULL AND active.status IN ('queued', 'processing')
                AND active.number <> j.number"#,
            numbers
        )
        .fetch_all(&mut *self.tx)
        .await?;
        Ok(rows.into_iter().map(|row| (row.number, row.holder)).collect())
    }

    async fn cancel_jobs(&mut self, numbers: &[i64], by: &str, reason: Option<&str>) -> Outcome<()> {
        let (numbers, now) = (to_json(numbers)?, self.now().to_string());
        sqlx::query!(
            "UPDATE jobs
             SET status = 'cancelled', cancelled_at = ?2, completed_at = ?2, cancellation_reason = ?3,
                 cancelled_by = ?4, updated_at = ?2
             WHERE number IN (SELECT value FROM json_each(?1)) AND status IN ('queued', 'quarantined')",
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
        let (numbers, now) = (to_json(numbers)?, self.now().to_string());
        sqlx::query!(
            "UPDATE jobs
             SET cancel_requested_at = ?2, cancellation_reason = ?3, cancelled_by = ?4, updated_at = ?2
             WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'processing'
               AND cancel_requested_at IS NULL",
            numbers,
            now,
            reason,
            by
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    /// Nobody can take a key while the writer's lock is held.
    async fn requeue_jobs(&mut self, numbers: &[i64]) -> Outcome<bool> {
        let (numbers, now) = (to_json(numbers)?, self.now().to_string());
        sqlx::query!(
            "UPDATE jobs
             SET status = 'queued', queued_at = ?2, available_at = NULL, completed_at = NULL, quarantined_at = NULL,
                 attempt_base = attempt_count, completion_token = NULL, cancel_requested_at = NULL,
                 failure_streak_code = NULL, failure_streak_count = 0, error_code = NULL, error_class = NULL,
                 error_message = NULL, error_stack = NULL, updated_at = ?2
             WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'quarantined'",
            numbers,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(true)
    }

    async fn reschedule_jobs(&mut self, numbers: &[i64], at: Timestamp) -> Outcome<()> {
        let (numbers, at, now) = (to_json(numbers)?, at.to_string(), self.now().to_string());
        sqlx::query!(
            "UPDATE jobs SET available_at = ?2, updated_at = ?3
             WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'queued'",
            numbers,
            at,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn record_moves(&mut self, jobs: &[&SteeredJob], moved: Move<'_>) -> Outcome<()> {
        let now = self.now();
        let attrs = Attrs {
            message: moved.message.map(str::to_owned),
            error_code: moved.error_code.map(str::to_owned),
            actor: moved.actor.map(str::to_owned),
            ..Attrs::default()
        };
        let kins: Vec<Kin> = jobs.iter().map(|job| kin_of(job)).collect();
        let (mut moves, mut events) = (Moves::default(), Vec::with_capacity(jobs.len()));
        for (job, kin) in jobs.iter().zip(&kins) {
            let (attempt, progress) = (i64::from(job.attempt), i64::from(job.progress));
            let event = NewEvent::new(moved.kind, moved.status, kin, job.number, attempt, progress);
            events.push(event.with(&attrs)?);
            moves.moved(kin, job.status, moved.status);
        }
        outbox::append(&mut self.tx, &events, now).await?;
        moves.record(&mut self.tx, now).await
    }

    async fn change_queue(
        &mut self,
        domain: &str,
        queue: &str,
        change: QueueChange,
        by: &str,
        reason: Option<&str>,
    ) -> Outcome<QueueControl> {
        let now = self.now().to_string();
        let control = sqlx::query!(
            r#"INSERT INTO job_queue_controls (domain, queue, paused, draining, changed_by, reason, updated_at)
               VALUES (?1, ?2, COALESCE(?3, FALSE), COALESCE(?4, FALSE), ?5, ?6, ?7)
               ON CONFLICT (domain, queue) DO UPDATE
               SET paused = COALESCE(?3, paused), draining = COALESCE(?4, draining),
                   changed_by = excluded.changed_by, reason = excluded.reason, updated_at = excluded.updated_at
               RETURNING domain, queue, paused AS "paused: bool", draining AS "draining: bool""#,
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
        let (paused, draining) = (control.paused, control.draining);
        Ok(QueueControl { domain: control.domain, queue: control.queue, paused, draining })
    }
}

pub(crate) fn kin_of(job: &SteeredJob) -> Kin {
    Kin {
        tenant_id: job.tenant.to_string(),
        domain: job.domain.clone(),
        queue: job.queue.clone(),
        job_type: job.job_type.clone(),
    }
}

#[async_trait]
impl SteeringQueries for SqliteStore {
    async fn queue_controls(&self) -> StoreResult<Vec<QueueControl>> {
        outcome(async {
            let rows = sqlx::query!(
                r#"SELECT domain, queue, paused AS "paused: bool", draining AS "draining: bool"
                   FROM job_queue_controls ORDER BY domain, queue"#
            )
            .fetch_all(&self.read)
            .await?;
            let controls = rows.into_iter().map(|row| QueueControl {
                domain: row.domain,
                queue: row.queue,
                paused: row.paused,
                draining: row.draining,
            });
            Ok(controls.collect())
        })
        .await
    }
}
