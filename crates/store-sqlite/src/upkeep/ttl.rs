//! Ending jobs that lived too long.
//!
//! A running job's age is that of its current attempt: earlier attempts and the waiting between them are not
//! its fault. The end is decisive: the lease goes under the writer's lock, so the worker's next write is refused.

use crate::{
    SqliteStore,
    convert::{limit, to_json},
    error::Outcome,
    outbox::Attrs,
    settle::{End, Settlement},
    standing::{Standing, standings},
    steered::{self, Order, Steered, Tale, numbers_of},
};
use leasehold_queue::{
    Scope,
    params::{AttemptFacts, Wake},
    transition::{self, Ending, Failure, Rules, Verdict},
    upkeep::{TtlAction, TtlCount, TtlRule},
};
use leasehold_types::{ErrorClass, JobStatus, LiveKind, Timestamp};
use sqlx::SqliteConnection;
use std::time::Duration;

const CODE: &str = "ttl_expired";
const WAITED: &str = "It waited longer than its time to live.";
const RAN: &str = "It ran longer than its time to live.";

pub(super) async fn sweep(store: &SqliteStore, scope: &Scope, rule: &TtlRule, max: u32) -> Outcome<TtlCount> {
    let now = store.clock.now();
    // Mostly there is nothing to do: look without the writer's lock first.
    if too_old(&mut *store.read.acquire().await?, scope, rule, 1, now).await?.is_empty() {
        return Ok(TtlCount::default());
    }
    let mut tx = store.begin().await?;
    let old = too_old(&mut tx, scope, rule, max, now).await?;
    if !old.queued.is_empty() {
        let jobs = steered::load(&mut tx, &old.queued).await?;
        let order = Order { scope, reason: Some(WAITED), now };
        end_waiting(&mut tx, &jobs.iter().collect::<Vec<_>>(), rule.action, &order).await?;
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
    jobs: &[&Steered],
    action: TtlAction,
    order: &Order<'_>,
) -> Outcome<()> {
    let status = match action {
        TtlAction::Cancel => JobStatus::Cancelled,
        TtlAction::Fail => JobStatus::Failed,
    };
    let (numbers, word, at) = (numbers_of(jobs)?, status.as_str(), order.now.to_string());
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
    let tale = Tale { kind: LiveKind::of_status(status), status, deed: "job.expire" };
    steered::tell(connection, jobs, &tale, &attrs, order).await
}

async fn end_running(
    connection: &mut SqliteConnection,
    numbers: &[i64],
    action: TtlAction,
    order: &Order<'_>,
) -> Outcome<()> {
    let ending = match action {
        TtlAction::Cancel => Ending::Cancelled,
        TtlAction::Fail => Ending::Failed(Failure {
            error_code: Some(CODE.to_owned()),
            error_class: Some(ErrorClass::Timeout),
            message: RAN.to_owned(),
            retryable: Some(false),
            ..Failure::default()
        }),
    };
    let facts = AttemptFacts::default();
    let end = End { ending: &ending, result: None, facts: &facts, token: None, policy: None };
    let mut settlement = Settlement::default();
    let mut jobs = standings(connection, numbers).await?;
    jobs.sort_by_key(|job| job.number);
    for job in &mut jobs {
        let verdict = verdict_on(job, &ending, order.now);
        settlement.close(job, &end, verdict, (Some(RAN.to_owned()), None))?;
    }
    settlement.write(connection, order.now).await?;
    sign_cancelled(connection, &to_json(numbers)?, order).await?;
    let steered = steered::load(connection, numbers).await?;
    steered::leave_trail(connection, &steered.iter().collect::<Vec<_>>(), "job.expire", order).await
}

/// There is no next attempt, whatever the installation's rules say about failures.
fn verdict_on(job: &Standing, ending: &Ending, now: Timestamp) -> Verdict {
    let verdict = transition::judge(&job.facts, ending, None, &Rules::default(), now, 0.0);
    Verdict { error_code: Some(CODE.to_owned()), ..verdict }
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
