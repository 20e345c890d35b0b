//! Ending jobs that lived too long.
//!
//! A running job's age is that of its current attempt: earlier attempts and the waiting between them are not
//! its fault. The end is decisive: the lease goes under the row lock, so the worker's next write is refused.
//! Rows that somebody else is writing at this moment are left for the next sweep.

use crate::{
    PostgresStore,
    audit::audited,
    convert::{moment, slot},
    error::database,
    settle::{Locked, Settlement, settle},
};
use leasehold_queue::{
    Scope, StoreResult,
    params::{AttemptFacts, Wake},
    transition::Ending,
    ttl::{self, CODE, RAN, WAITED},
    upkeep::{TtlAction, TtlCount, TtlRule},
};
use leasehold_types::{LiveKind, Timestamp};
use sqlx::PgConnection;
use std::time::Duration;
use time::OffsetDateTime;

/// Who wants it, why, and when.
struct Order<'a> {
    scope: &'a Scope,
    reason: Option<&'a str>,
    now: Timestamp,
    /// Whether events are written.
    outbox: bool,
}

impl Order<'_> {
    fn at(&self) -> OffsetDateTime {
        moment(self.now)
    }
}

/// At most `max` together, waiting ones first.
pub(super) async fn sweep(
    store: &PostgresStore,
    scope: &Scope,
    rule: &TtlRule,
    max: u32,
) -> StoreResult<TtlCount> {
    let mut tx = store.work.begin().await.map_err(database)?;
    let waited = Order { scope, reason: Some(WAITED), now: store.clock.now(), outbox: store.outbox };
    let ran = Order { reason: Some(RAN), ..waited };
    let mut count = TtlCount::default();
    if let Some(age) = rule.queued_for {
        let numbers = too_old_waiting(&mut tx, rule, age, i64::from(max), &waited).await?;
        end_waiting(&mut tx, &numbers, rule.action, &waited).await?;
        count.queued = numbers.len() as u64;
    }
    if let Some(age) = rule.running_for {
        let room = i64::from(max) - count.queued as i64;
        let jobs = too_old_running(&mut tx, rule, age, room, &ran).await?;
        count.running = jobs.len() as u64;
        end_running(&mut tx, jobs, rule.action, &ran).await?;
    }
    tx.commit().await.map_err(database)?;
    if count != TtlCount::default() {
        store.wakes.tell(&[Wake::Events]);
    }
    Ok(count)
}

async fn too_old_waiting(
    connection: &mut PgConnection,
    rule: &TtlRule,
    age: Duration,
    max: i64,
    order: &Order<'_>,
) -> StoreResult<Vec<i64>> {
    sqlx::query_scalar!(
        "SELECT number FROM jobs
         WHERE status = 'queued' AND created_at < $1 AND ($2::uuid IS NULL OR tenant_id = $2)
           AND ($3::text IS NULL OR domain = $3) AND ($4::text IS NULL OR queue = $4)
           AND ($5::text IS NULL OR job_type = $5)
         ORDER BY number LIMIT $6
         FOR UPDATE SKIP LOCKED",
        moment(order.now.minus(age)),
        order.scope.tenant().map(|t| t.0),
        rule.domain,
        rule.queue,
        rule.job_type,
        max
    )
    .fetch_all(connection)
    .await
    .map_err(database)
}

async fn too_old_running(
    connection: &mut PgConnection,
    rule: &TtlRule,
    age: Duration,
    max: i64,
    order: &Order<'_>,
) -> StoreResult<Vec<Locked>> {
    sqlx::query_as!(
        Locked,
        r#"SELECT number, worker_id AS "worker_id!", lease_id AS "lease_id!", attempt_count, attempt_base,
                  max_attempts, cancel_requested_at IS NOT NULL AS "cancel_requested!",
                  failure_streak_code AS streak_code, failure_streak_count AS streak_count,
                  failure_timeline AS timeline
           FROM jobs
           WHERE status = 'processing' AND acquired_at < $1 AND ($2::uuid IS NULL OR tenant_id = $2)
             AND ($3::text IS NULL OR domain = $3) AND ($4::text IS NULL OR queue = $4)
             AND ($5::text IS NULL OR job_type = $5)
           ORDER BY number LIMIT $6
           FOR UPDATE SKIP LOCKED"#,
        moment(order.now.minus(age)),
        order.scope.tenant().map(|t| t.0),
        rule.domain,
        rule.queue,
        rule.job_type,
        max
    )
    .fetch_all(connection)
    .await
    .map_err(database)
}

async fn end_waiting(
    connection: &mut PgConnection,
    numbers: &[i64],
    action: TtlAction,
    order: &Order<'_>,
) -> StoreResult<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let status = ttl::status(action);
    sqlx::query!(
        r#"WITH moved AS (
             UPDATE jobs
             SET status = $2, completed_at = $3, error_code = $4, error_class = NULL, error_message = $5,
                 error_stack = NULL, updated_at = $3
             WHERE number = ANY($1) AND status = 'queued'
             RETURNING number, tenant_id, domain, queue, job_type, attempt_count, progress_percent),
           told AS (
             INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                    progress, attrs, created_at)
             SELECT tenant_id, number, domain, queue, job_type, $6, $2, attempt_count, progress_percent,
                    jsonb_build_object('error_code', $4::text, 'message', $5::text), $3
             FROM moved WHERE $8 ORDER BY number)
           INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
           SELECT m.tenant_id, m.domain, m.queue, m.job_type, d.status, sum(d.delta), $7
           FROM moved m CROSS JOIN (VALUES ('queued', -1), ($2, 1)) d(status, delta)
           GROUP BY m.tenant_id, m.domain, m.queue, m.job_type, d.status"#,
        numbers,
        status.as_str(),
        order.at(),
        CODE,
        order.reason,
        LiveKind::of_status(status).as_str(),
        slot(order.now),
        order.outbox
    )
    .execute(&mut *connection)
    .await
    .map_err(database)?;
    sign(connection, numbers, order).await
}

async fn end_running(
    connection: &mut PgConnection,
    jobs: Vec<Locked>,
    action: TtlAction,
    order: &Order<'_>,
) -> StoreResult<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let ending = ttl::ending(action);
    let numbers: Vec<i64> = jobs.iter().map(|job| job.number).collect();
    let settlements = jobs.iter().map(|job| expired(job, &ending, order)).collect::<StoreResult<_>>()?;
    settle(connection, settlements, order.now, order.outbox).await?;
    sign(connection, &numbers, order).await
}

fn expired(job: &Locked, ending: &Ending, order: &Order<'_>) -> StoreResult<Settlement> {
    let timeline = job.timeline()?;
    Ok(Settlement {
        number: job.number,
        verdict: ttl::verdict(&job.facts(&timeline), ending, order.now),
        timeline,
        message: Some(RAN.to_owned()),
        stack: None,
        lost_worker: None,
        facts: AttemptFacts::default(),
        token: None,
        result: None,
    })
}

/// Says who cancelled and why, unless somebody had asked before; and leaves the trail.
async fn sign(connection: &mut PgConnection, numbers: &[i64], order: &Order<'_>) -> StoreResult<()> {
    sqlx::query!(
        r#"WITH signed AS (
             UPDATE jobs
             SET cancelled_at = $2, cancellation_reason = COALESCE(cancellation_reason, $3),
                 cancelled_by = COALESCE(cancelled_by, $4)
             WHERE number = ANY($1) AND status = 'cancelled')
           INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
           SELECT tenant_id, $5, 'job.expire', 'job', number::text, $3, $2, $6
           FROM jobs WHERE number = ANY($1) AND $5::text IS NOT NULL ORDER BY number"#,
        numbers,
        order.at(),
        order.reason,
        order.scope.actor.to_string(),
        audited(order.scope),
        order.scope.origin
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}
