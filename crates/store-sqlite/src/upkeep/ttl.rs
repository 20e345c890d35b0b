//! Ending jobs that lived too long.
//!
//! A running job's age is that of its current attempt: earlier attempts and the waiting between them are not
//! its fault. The end is decisive: the lease goes under the writer's lock, so the worker's next write is refused.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::{limit, to_json},
    counters::Moves,
    error::Outcome,
    outbox::{self, Attrs, Kin, NewEvent},
    settle::{End, Settlement},
    standing::standings,
    steering::{SteeredRecord, kin_of},
};
use leasehold_queue::{
    Scope,
    params::{AttemptFacts, Wake},
    ports::steering::SteeredJob,
    ttl::{self, CODE, RAN, WAITED},
    upkeep::{TtlAction, TtlCount, TtlRule},
};
use leasehold_types::{LiveKind, Timestamp};
use sqlx::SqliteConnection;
use std::time::Duration;

/// Who wants it, why, and when.
struct Order<'a> {
    scope: &'a Scope,
    reason: Option<&'a str>,
    now: Timestamp,
}

pub(super) async fn sweep(store: &SqliteStore, scope: &Scope, rule: &TtlRule, max: u32) -> Outcome<TtlCount> {
    let now = store.clock.now();
    // Mostly there is nothing to do: look without the writer's lock first.
    if too_old(&mut *store.read.acquire().await?, scope, rule, 1, now).await?.is_empty() {
        return Ok(TtlCount::default());
    }
    let mut tx = store.begin().await?;
    let old = too_old(&mut tx, scope, rule, max, now).await?;
    if !old.queued.is_empty() {
        let jobs = load(&mut tx, &old.queued).await?;
        let order = Order { scope, reason: Some(WAITED), now };
        end_waiting(&mut tx, &jobs, rule.action, &order).await?;
    }
    if !old.running.is_empty() {
        let order = Order { scope, reason: Some(RAN), now };
        end_running(&mut tx, &old.running, rule.action, &order).await?;
    }
    tx.commit().await?;
    store.bell.ring(Wake::Events);
    Ok(TtlCount { queued: old.queued.len() as u64, running: old.running.len() as u64 })
}

#[derive(Default)]
struct TooOld {
    queued: Vec<i64>,
    running: Vec<i64>,
}

impl TooOld {
    fn is_empty(&self) -> bool {
        self.queued.is_empty() && self.running.is_empty()
    }
}

/// At most `max` together, waiting ones first.
async fn too_old(
    connection: &mut SqliteConnection,
    scope: &Scope,
    rule: &TtlRule,
    max: u32,
    now: Timestamp,
) -> Outcome<TooOld> {
    let tenant = scope.tenant().map(|id| id.to_string());
    let before = |age: Option<Duration>| age.map(|age| now.minus(age).to_string());
    let (created, acquired) = (before(rule.queued_for), before(rule.running_for));
    let max = limit(max);
    // The lanes hold the waiting jobs only; left to itself SQLite walks the whole table by number.
    let queued = sqlx::query_scalar!(
        r#"SELECT number AS "number!: i64" FROM jobs INDEXED BY jobs_lane
           WHERE status = 'queued' AND created_at < ?1 AND (?2 IS NULL OR tenant_id = ?2)
             AND (?3 IS NULL OR domain = ?3) AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR job_type = ?5)
           ORDER BY number LIMIT ?6"#,
        created,
        tenant,
        rule.domain,
        rule.queue,
        rule.job_type,
        max
    )
    .fetch_all(&mut *connection)
    .await?;
    let room = max - queued.len() as i64;
    let running = sqlx::query_scalar!(
        r#"SELECT number AS "number!: i64" FROM jobs
           WHERE status = 'processing' AND acquired_at < ?1 AND (?2 IS NULL OR tenant_id = ?2)
             AND (?3 IS NULL OR domain = ?3) AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR job_type = ?5)
           ORDER BY number LIMIT ?6"#,
        acquired,
        tenant,
        rule.domain,
        rule.queue,
        rule.job_type,
        room
    )
    .fetch_all(connection)
    .await?;
    Ok(TooOld { queued, running })
}

async fn end_waiting(
    connection: &mut SqliteConnection,
    jobs: &[SteeredJob],
    action: TtlAction,
    order: &Order<'_>,
) -> Outcome<()> {
    let status = ttl::status(action);
    let numbers = to_json(&jobs.iter().map(|job| job.number).collect::<Vec<_>>())?;
    let (word, at) = (status.as_str(), order.now.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET status = ?2, completed_at = ?3, error_code = ?4, error_class = NULL, error_message = ?5,
             error_stack = NULL, updated_at = ?3
         WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'queued'",
        numbers,
        word,
        at,
        CODE,
        order.reason
    )
    .execute(&mut *connection)
    .await?;
    sign_cancelled(connection, &numbers, order).await?;
    let attrs = Attrs {
        message: order.reason.map(str::to_owned),
        error_code: Some(CODE.to_owned()),
        ..Attrs::default()
    };
    let kins: Vec<Kin> = jobs.iter().map(kin_of).collect();
    let (mut moves, mut events) = (Moves::default(), Vec::with_capacity(jobs.len()));
    for (job, kin) in jobs.iter().zip(&kins) {
        let (kind, attempt, progress) =
            (LiveKind::of_status(status), i64::from(job.attempt), i64::from(job.progress));
        let event = NewEvent::new(kind, status, kin, job.number, attempt, progress);
        events.push(event.with(&attrs)?);
        moves.moved(kin, job.status, status);
    }
    outbox::append(connection, &events, order.now).await?;
    moves.record(connection, order.now).await?;
    leave_trail(connection, jobs, order).await
}

/// The jobs with these numbers, lowest first.
async fn load(connection: &mut SqliteConnection, numbers: &[i64]) -> Outcome<Vec<SteeredJob>> {
    let numbers = to_json(numbers)?;
    let rows = sqlx::query_as!(
        SteeredRecord,
        r#"SELECT number AS "number!: i64", tenant_id, domain, queue, job_type, status, attempt_count,
                  progress_percent, dedupe_key, cancel_requested_at IS NOT NULL AS "cancel_requested!: bool"
           FROM jobs WHERE number IN (SELECT value FROM json_each(?1)) ORDER BY number"#,
        numbers
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

async fn leave_trail(
    connection: &mut SqliteConnection,
    jobs: &[SteeredJob],
    order: &Order<'_>,
) -> Outcome<()> {
    let deed =
        |job: &SteeredJob| Deed::new(Some(job.tenant), "job.expire", "job", job.number).because(order.reason);
    audit(connection, order.scope, &jobs.iter().map(deed).collect::<Vec<_>>(), order.now).await
}

async fn end_running(
    connection: &mut SqliteConnection,
    numbers: &[i64],
    action: TtlAction,
    order: &Order<'_>,
) -> Outcome<()> {
    let ending = ttl::ending(action);
    let facts = AttemptFacts::default();
    let end = End { ending: &ending, result: None, facts: &facts, token: None, policy: None };
    let mut settlement = Settlement::default();
    let mut jobs = standings(connection, numbers).await?;
    jobs.sort_by_key(|job| job.number);
    for job in &mut jobs {
        let verdict = ttl::verdict(&job.facts, &ending, order.now);
        settlement.close(job, &end, verdict, (Some(RAN.to_owned()), None))?;
    }
    settlement.write(connection, order.now).await?;
    sign_cancelled(connection, &to_json(numbers)?, order).await?;
    let ended = load(connection, numbers).await?;
    leave_trail(connection, &ended, order).await
}

/// Says who cancelled and why, unless somebody had asked before.
async fn sign_cancelled(connection: &mut SqliteConnection, numbers: &str, order: &Order<'_>) -> Outcome<()> {
    let (actor, at) = (order.scope.actor.to_string(), order.now.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET cancelled_at = ?2, cancellation_reason = COALESCE(cancellation_reason, ?3),
             cancelled_by = COALESCE(cancelled_by, ?4)
         WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'cancelled'",
        numbers,
        at,
        order.reason,
        actor
    )
    .execute(connection)
    .await?;
    Ok(())
}
