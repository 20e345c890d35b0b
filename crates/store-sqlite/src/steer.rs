//! What people do to jobs and queues: cancel, requeue, pause, drain, resume.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    counters::Moves,
    error::Outcome,
    outbox::{self, Attrs, Kin, NewEvent},
    read,
};
use leasehold_queue::{
    Scope,
    params::{CancelAnswer, QueueControl, Wake},
};
use leasehold_types::{JobRef, JobStatus, LiveKind, Problem, ProblemCode, TenantId, Timestamp};
use sqlx::SqliteConnection;

/// A job about to be steered.
struct Steered {
    number: i64,
    tenant: TenantId,
    kin: Kin,
    status: JobStatus,
    attempt: i64,
    progress: i64,
    cancel_requested: bool,
    dedupe_key: Option<String>,
}

impl Steered {
    fn event(&self, kind: LiveKind, status: JobStatus) -> NewEvent<'_> {
        NewEvent::new(kind, status, &self.kin, self.number, self.attempt, self.progress)
    }

    fn deed(&self, action: &'static str, reason: Option<&str>) -> Deed {
        Deed::new(Some(self.tenant), action, "job", self.number).because(reason)
    }

    fn wrong_state(&self, rule: &str) -> Problem {
        let (number, state) = (self.number, self.status.label().to_lowercase());
        Problem::new(
            ProblemCode::WrongState,
            format!("Job #{number} is {state}. {rule}; nothing was changed."),
        )
    }
}

async fn steered(connection: &mut SqliteConnection, scope: &Scope, job: JobRef) -> Outcome<Steered> {
    let Some(number) = read::locate(connection, scope, job).await? else {
        return Err(Problem::not_found("This job").into());
    };
    let row = sqlx::query!(
        r#"SELECT tenant_id, domain, queue, job_type, status, attempt_count, progress_percent, dedupe_key,
                  cancel_requested_at IS NOT NULL AS "cancel_requested!: bool"
           FROM jobs WHERE number = ?1"#,
        number
    )
    .fetch_one(connection)
    .await?;
    Ok(Steered {
        number,
        tenant: read::JOBS.parse("tenant_id", &row.tenant_id)?,
        status: read::JOBS.parse("status", &row.status)?,
        kin: Kin { tenant_id: row.tenant_id, domain: row.domain, queue: row.queue, job_type: row.job_type },
        attempt: row.attempt_count,
        progress: row.progress_percent,
        cancel_requested: row.cancel_requested,
        dedupe_key: row.dedupe_key,
    })
}

/// The writer's lock is taken before the state is read, so it cannot move before the update; the updates ask
/// for it again all the same.
pub(crate) async fn cancel(
    store: &SqliteStore,
    scope: &Scope,
    job: JobRef,
    reason: Option<&str>,
) -> Outcome<CancelAnswer> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let job = steered(&mut tx, scope, job).await?;
    let answer = match job.status {
        JobStatus::Queued | JobStatus::Quarantined => {
            cancel_waiting(&mut tx, scope, &job, reason, now).await?;
            CancelAnswer::Cancelled
        }
        JobStatus::Processing => {
            // The first request wins; a later one is answered the same and changes nothing.
            if job.cancel_requested {
                return Ok(CancelAnswer::Requested);
            }
            request_cancel(&mut tx, scope, &job, reason, now).await?;
            CancelAnswer::Requested
        }
        _ => return Err(job.wrong_state("Only a job that has not ended can be cancelled").into()),
    };
    audit(&mut tx, scope, &[job.deed("job.cancel", reason)], now).await?;
    tx.commit().await?;
    store.bell.ring(Wake::Events);
    if answer == CancelAnswer::Requested {
        store.bell.ring(Wake::Cancel);
    }
    Ok(answer)
}

async fn cancel_waiting(
    connection: &mut SqliteConnection,
    scope: &Scope,
    job: &Steered,
    reason: Option<&str>,
    now: Timestamp,
) -> Outcome<()> {
    let (actor, at) = (scope.actor.to_string(), now.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET status = 'cancelled', cancelled_at = ?2, completed_at = ?2, cancellation_reason = ?3,
             cancelled_by = ?4, updated_at = ?2
         WHERE number = ?1 AND status IN ('queued', 'quarantined')",
        job.number,
        at,
        reason,
        actor
    )
    .execute(&mut *connection)
    .await?;
    let event = job.event(LiveKind::Cancelled, JobStatus::Cancelled).with(&because(reason))?;
    outbox::append(connection, &[event], now).await?;
    let mut moves = Moves::default();
    moves.moved(&job.kin, job.status, JobStatus::Cancelled);
    moves.record(connection, now).await
}

async fn request_cancel(
    connection: &mut SqliteConnection,
    scope: &Scope,
    job: &Steered,
    reason: Option<&str>,
    now: Timestamp,
) -> Outcome<()> {
    let (actor, at) = (scope.actor.to_string(), now.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET cancel_requested_at = ?2, cancellation_reason = ?3, cancelled_by = ?4, updated_at = ?2
         WHERE number = ?1 AND status = 'processing' AND cancel_requested_at IS NULL",
        job.number,
        at,
        reason,
        actor
    )
    .execute(&mut *connection)
    .await?;
    let event = job.event(LiveKind::CancelRequested, JobStatus::Processing).with(&because(reason))?;
    outbox::append(connection, &[event], now).await
}

fn because(reason: Option<&str>) -> Attrs {
    Attrs { message: reason.map(str::to_owned), ..Attrs::default() }
}

pub(crate) async fn requeue(
    store: &SqliteStore,
    scope: &Scope,
    job: JobRef,
    reason: Option<&str>,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let job = steered(&mut tx, scope, job).await?;
    if job.status != JobStatus::Quarantined {
        return Err(job.wrong_state("Only a quarantined job can be requeued").into());
    }
    if let Some(active) = active_twin(&mut tx, &job).await? {
        let detail = format!("Job #{active} is active with the same dedupe key. Nothing was changed.");
        return Err(Problem::new(ProblemCode::AlreadyExists, detail).into());
    }
    let at = now.to_string();
    // The budget is renewed, the attempt numbers go on; the timeline stays, it is history.
    sqlx::query!(
        "UPDATE jobs
         SET status = 'queued', queued_at = ?2, available_at = NULL, completed_at = NULL, quarantined_at = NULL,
             attempt_base = attempt_count, completion_token = NULL, failure_streak_code = NULL,
             failure_streak_count = 0, error_code = NULL, error_class = NULL, error_message = NULL,
             error_stack = NULL, updated_at = ?2
         WHERE number = ?1 AND status = 'quarantined'",
        job.number,
        at
    )
    .execute(&mut *tx)
    .await?;
    let event = job.event(LiveKind::Requeued, JobStatus::Queued).with(&because(reason))?;
    outbox::append(&mut tx, &[event], now).await?;
    let mut moves = Moves::default();
    moves.moved(&job.kin, JobStatus::Quarantined, JobStatus::Queued);
    moves.record(&mut tx, now).await?;
    audit(&mut tx, scope, &[job.deed("job.requeue", reason)], now).await?;
    tx.commit().await?;
    store.bell.ring(Wake::Jobs);
    store.bell.ring(Wake::Events);
    Ok(())
}

/// The active job that holds this one's dedupe key.
async fn active_twin(connection: &mut SqliteConnection, job: &Steered) -> Outcome<Option<i64>> {
    let Some(key) = &job.dedupe_key else { return Ok(None) };
    let number = sqlx::query_scalar!(
        r#"SELECT number AS "number!: i64" FROM jobs
           WHERE tenant_id = ?1 AND dedupe_key = ?2 AND dedupe_key IS NOT NULL
             AND status IN ('queued', 'processing')"#,
        job.kin.tenant_id,
        key
    )
    .fetch_optional(connection)
    .await?;
    Ok(number)
}

pub(crate) async fn set_queue_control(
    store: &SqliteStore,
    scope: &Scope,
    control: QueueControl,
    reason: Option<&str>,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (actor, at) = (scope.actor.to_string(), now.to_string());
    sqlx::query!(
        "INSERT INTO job_queue_controls (domain, queue, paused, draining, changed_by, reason, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (domain, queue) DO UPDATE
         SET paused = excluded.paused, draining = excluded.draining, changed_by = excluded.changed_by,
             reason = excluded.reason, updated_at = excluded.updated_at",
        control.domain,
        control.queue,
        control.paused,
        control.draining,
        actor,
        reason,
        at
    )
    .execute(&mut *tx)
    .await?;
    let action = match (control.paused, control.draining) {
        (true, _) => "queue.pause",
        (false, true) => "queue.drain",
        (false, false) => "queue.resume",
    };
    let name = format!("{}/{}", control.domain, control.queue);
    let deed = Deed::new(scope.tenant(), action, "queue", name).because(reason);
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    // A resumed queue may have jobs ready.
    store.bell.ring(Wake::Jobs);
    Ok(())
}

pub(crate) async fn queue_controls(store: &SqliteStore) -> Outcome<Vec<QueueControl>> {
    let rows = sqlx::query!(
        r#"SELECT domain, queue, paused AS "paused: bool", draining AS "draining: bool"
           FROM job_queue_controls ORDER BY domain, queue"#
    )
    .fetch_all(&store.read)
    .await?;
    let controls = rows.into_iter().map(|row| QueueControl {
        domain: row.domain,
        queue: row.queue,
        paused: row.paused,
        draining: row.draining,
    });
    Ok(controls.collect())
}
