//! What people do to jobs and queues: cancel, requeue, pause, drain, resume.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    error::Outcome,
    read,
    steered::{self, Order, Steered},
};
use leasehold_queue::{
    Scope,
    params::{CancelAnswer, QueueControl, Wake},
};
use leasehold_types::{JobRef, JobStatus, Problem, ProblemCode};
use sqlx::SqliteConnection;

fn wrong_state(job: &Steered, rule: &str) -> Problem {
    let (number, state) = (job.number, job.status.label().to_lowercase());
    Problem::new(ProblemCode::WrongState, format!("Job #{number} is {state}. {rule}; nothing was changed."))
}

async fn find(connection: &mut SqliteConnection, scope: &Scope, job: JobRef) -> Outcome<Steered> {
    let numbers: Vec<i64> = read::locate(connection, scope, job).await?.into_iter().collect();
    let found = steered::load(connection, &numbers).await?.pop();
    Ok(found.ok_or_else(|| Problem::not_found("This job"))?)
}

pub(crate) async fn cancel(
    store: &SqliteStore,
    scope: &Scope,
    job: JobRef,
    reason: Option<&str>,
) -> Outcome<CancelAnswer> {
    let mut tx = store.begin().await?;
    let order = Order { scope, reason, now: store.clock.now() };
    let job = find(&mut tx, scope, job).await?;
    let answer = match job.status {
        JobStatus::Queued | JobStatus::Quarantined => {
            steered::cancel_waiting(&mut tx, &[&job], &order).await?;
            CancelAnswer::Cancelled
        }
        JobStatus::Processing => {
            // The first request wins; a later one is answered the same and changes nothing.
            if job.cancel_requested {
                return Ok(CancelAnswer::Requested);
            }
            steered::request_cancel(&mut tx, &[&job], &order).await?;
            CancelAnswer::Requested
        }
        _ => return Err(wrong_state(&job, "Only a job that has not ended can be cancelled").into()),
    };
    tx.commit().await?;
    store.bell.ring(Wake::Events);
    if answer == CancelAnswer::Requested {
        store.bell.ring(Wake::Cancel);
    }
    Ok(answer)
}

pub(crate) async fn requeue(
    store: &SqliteStore,
    scope: &Scope,
    job: JobRef,
    reason: Option<&str>,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let order = Order { scope, reason, now: store.clock.now() };
    let job = find(&mut tx, scope, job).await?;
    if job.status != JobStatus::Quarantined {
        return Err(wrong_state(&job, "Only a quarantined job can be requeued").into());
    }
    if let Some(active) = steered::active_twins(&mut tx, &[&job]).await?.get(&job.number) {
        let detail = format!("Job #{active} is active with the same dedupe key. Nothing was changed.");
        return Err(Problem::new(ProblemCode::AlreadyExists, detail).into());
    }
    steered::requeue(&mut tx, &[&job], &order).await?;
    tx.commit().await?;
    store.bell.ring(Wake::Jobs);
    store.bell.ring(Wake::Events);
    Ok(())
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
