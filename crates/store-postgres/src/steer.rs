//! What people do to jobs and queues: cancel, requeue, pause.
//!
//! Nothing here reads a state and then acts on it: each move is a conditional statement, and only when none of
//! them matched is the row read again to say why.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::word,
    error::database,
    read::locate,
    steered::{self, Order},
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
            let order = self.order(scope, reason);
            if !steered::cancel_waiting(&self.work, &[number], &order).await.map_err(database)?.is_empty() {
                self.wakes.tell(&[Wake::Events]);
                return Ok(CancelAnswer::Cancelled);
            }
            if !steered::request_cancel(&self.work, &[number], &order).await.map_err(database)?.is_empty() {
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

    /// quarantined → queued
    pub(crate) async fn put_back(&self, scope: &Scope, job: JobRef, reason: Option<&str>) -> StoreResult<()> {
        let missing = || Problem::not_found("This job");
        let number = locate(&self.work, scope, job).await?.ok_or_else(missing)?;
        let order = self.order(scope, reason);
        if steered::requeue(&self.work, &[number], &order).await.map_err(database)?.is_empty() {
            let status = self.status_of(number).await?.ok_or_else(missing)?;
            return Err(wrong_state(number, status, "Only a quarantined job can be requeued").into());
        }
        self.directory.forget();
        self.wakes.tell(&[Wake::Jobs, Wake::Events]);
        Ok(())
    }

    pub(crate) fn order<'a>(&self, scope: &'a Scope, reason: Option<&'a str>) -> Order<'a> {
        Order { scope, reason, now: self.clock.now(), outbox: self.outbox }
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
