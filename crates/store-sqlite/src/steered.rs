//! Jobs that are steered, one by a single verb or many by a bulk operation: the same statements for both.
//!
//! The caller's transaction holds the writer's lock since before the jobs were read, so they cannot move before
//! they are written; the updates ask for the state again all the same.

use crate::{
    audit::{Deed, audit},
    convert::to_json,
    counters::Moves,
    error::Outcome,
    outbox::{self, Attrs, Kin, NewEvent},
    read,
};
use leasehold_queue::Scope;
use leasehold_types::{JobStatus, LiveKind, TenantId, Timestamp};
use sqlx::SqliteConnection;
use std::collections::HashMap;

/// A job about to be steered.
pub(crate) struct Steered {
    pub number: i64,
    pub tenant: TenantId,
    pub kin: Kin,
    pub status: JobStatus,
    pub attempt: i64,
    pub progress: i64,
    pub cancel_requested: bool,
    pub dedupe_key: Option<String>,
}

/// Who wants it, why, and when.
pub(crate) struct Order<'a> {
    pub scope: &'a Scope,
    pub reason: Option<&'a str>,
    pub now: Timestamp,
}

impl Order<'_> {
    fn attrs(&self) -> Attrs {
        Attrs { message: self.reason.map(str::to_owned), ..Attrs::default() }
    }
}

/// What has become of the jobs, as the outbox and the trail tell it.
pub(crate) struct Tale {
    pub kind: LiveKind,
    pub status: JobStatus,
    pub deed: &'static str,
}

/// The jobs with these numbers, lowest first.
pub(crate) async fn load(connection: &mut SqliteConnection, numbers: &[i64]) -> Outcome<Vec<Steered>> {
    let numbers = to_json(numbers)?;
    let rows = sqlx::query!(
        r#"SELECT number AS "number!: i64", tenant_id, domain, queue, job_type, status, attempt_count,
                  progress_percent, dedupe_key, cancel_requested_at IS NOT NULL AS "cancel_requested!: bool"
           FROM jobs WHERE number IN (SELECT value FROM json_each(?1)) ORDER BY number"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Steered {
                number: row.number,
                tenant: read::JOBS.parse("tenant_id", &row.tenant_id)?,
                status: read::JOBS.parse("status", &row.status)?,
                kin: Kin {
                    tenant_id: row.tenant_id,
                    domain: row.domain,
                    queue: row.queue,
                    job_type: row.job_type,
                },
                attempt: row.attempt_count,
                progress: row.progress_percent,
                cancel_requested: row.cancel_requested,
                dedupe_key: row.dedupe_key,
            })
        })
        .collect()
}

pub(crate) fn numbers_of(jobs: &[&Steered]) -> Outcome<String> {
    to_json(&jobs.iter().map(|job| job.number).collect::<Vec<_>>())
}

/// Waiting jobs end at once.
pub(crate) async fn cancel_waiting(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    order: &Order<'_>,
) -> Outcome<()> {
    let (numbers, actor, at) = (numbers_of(jobs)?, order.scope.actor.to_string(), order.now.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET status = 'cancelled', cancelled_at = ?2, completed_at = ?2, cancellation_reason = ?3,
             cancelled_by = ?4, updated_at = ?2
         WHERE number IN (SELECT value FROM json_each(?1)) AND status IN ('queued', 'quarantined')",
        numbers,
        at,
        order.reason,
        actor
    )
    .execute(&mut *connection)
    .await?;
    let tale = Tale { kind: LiveKind::Cancelled, status: JobStatus::Cancelled, deed: "job.cancel" };
    tell(connection, jobs, &tale, &order.attrs(), order).await
}

/// Running jobs are asked to stop. The first request wins, so those asked before must not be among them.
pub(crate) async fn request_cancel(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    order: &Order<'_>,
) -> Outcome<()> {
    let (numbers, actor, at) = (numbers_of(jobs)?, order.scope.actor.to_string(), order.now.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET cancel_requested_at = ?2, cancellation_reason = ?3, cancelled_by = ?4, updated_at = ?2
         WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'processing'
           AND cancel_requested_at IS NULL",
        numbers,
        at,
        order.reason,
        actor
    )
    .execute(&mut *connection)
    .await?;
    let tale = Tale { kind: LiveKind::CancelRequested, status: JobStatus::Processing, deed: "job.cancel" };
    tell(connection, jobs, &tale, &order.attrs(), order).await
}

/// The budget is renewed, the attempt numbers go on; the timeline stays, it is history.
pub(crate) async fn requeue(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    order: &Order<'_>,
) -> Outcome<()> {
    let (numbers, at) = (numbers_of(jobs)?, order.now.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET status = 'queued', queued_at = ?2, available_at = NULL, completed_at = NULL, quarantined_at = NULL,
             attempt_base = attempt_count, completion_token = NULL, failure_streak_code = NULL,
             failure_streak_count = 0, error_code = NULL, error_class = NULL, error_message = NULL,
             error_stack = NULL, updated_at = ?2
         WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'quarantined'",
        numbers,
        at
    )
    .execute(&mut *connection)
    .await?;
    let tale = Tale { kind: LiveKind::Requeued, status: JobStatus::Queued, deed: "job.requeue" };
    tell(connection, jobs, &tale, &order.attrs(), order).await
}

/// Queued jobs become available at this moment.
pub(crate) async fn reschedule(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    at: Timestamp,
    order: &Order<'_>,
) -> Outcome<()> {
    let (numbers, available_at, now) = (numbers_of(jobs)?, at.to_string(), order.now.to_string());
    sqlx::query!(
        "UPDATE jobs SET available_at = ?2, updated_at = ?3
         WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'queued'",
        numbers,
        available_at,
        now
    )
    .execute(&mut *connection)
    .await?;
    let tale = Tale { kind: LiveKind::Rescheduled, status: JobStatus::Queued, deed: "job.reschedule" };
    tell(connection, jobs, &tale, &order.attrs(), order).await
}

/// Events, counters and the trail of jobs that have just been written.
pub(crate) async fn tell(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    tale: &Tale,
    attrs: &Attrs,
    order: &Order<'_>,
) -> Outcome<()> {
    let mut moves = Moves::default();
    let mut events = Vec::with_capacity(jobs.len());
    for job in jobs {
        let event = NewEvent::new(tale.kind, tale.status, &job.kin, job.number, job.attempt, job.progress);
        events.push(event.with(attrs)?);
        moves.moved(&job.kin, job.status, tale.status);
    }
    outbox::append(connection, &events, order.now).await?;
    moves.record(connection, order.now).await?;
    leave_trail(connection, jobs, tale.deed, order).await
}

pub(crate) async fn leave_trail(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
    deed: &'static str,
    order: &Order<'_>,
) -> Outcome<()> {
    let deed = |job: &&Steered| Deed::new(Some(job.tenant), deed, "job", job.number).because(order.reason);
    audit(connection, order.scope, &jobs.iter().map(deed).collect::<Vec<_>>(), order.now).await
}

/// Which of these jobs cannot become active because another job holds their dedupe key: number and holder.
pub(crate) async fn active_twins(
    connection: &mut SqliteConnection,
    jobs: &[&Steered],
) -> Outcome<HashMap<i64, i64>> {
    let numbers = numbers_of(jobs)?;
    let rows = sqlx::query!(
        r#"SELECT j.number AS "number!: i64", active.number AS "holder!: i64"
           FROM json_each(?1) asked JOIN jobs j ON j.number = asked.value
           JOIN jobs active
             ON active.tenant_id = j.tenant_id AND active.dedupe_key = j.dedupe_key
            AND active.dedupe_key IS NOT NULL AND active.status IN ('queued', 'processing')
            AND active.number <> j.number"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.number, row.holder)).collect())
}
