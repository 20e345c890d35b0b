//! What stands in a job's way, read from one snapshot.

use crate::{
    PostgresStore, admission,
    convert::{moment, parsed, stamp_if, word},
    error::database,
    read::locate,
};
use leasehold_queue::{
    Scope, StoreResult,
    admission::Contender,
    diagnosis::{key_is_full, limits_reached},
    quota::Quotas,
    silence::SILENT_AFTER,
    units::{
        assign::Wish,
        reach::{Offer, offer_of, out_of_reach},
    },
};
use leasehold_types::{
    JobRef, JobStatus, TenantId, Timestamp,
    unit::UnitKind,
    view::{DiagnosisFacts, FailureMark},
};
use serde_json::Value;
use sqlx::PgConnection;
use std::sync::Arc;
use time::OffsetDateTime;
use uuid::Uuid;

/// Jobs that stand before it are counted one by one up to here.
const AHEAD_CAP: i64 = 1_000;

/// The job, and what a look at its surroundings gives.
struct Subject {
    number: i64,
    tenant_id: Uuid,
    domain: String,
    queue: String,
    job_type: String,
    status: String,
    priority: i32,
    error_code: Option<String>,
    error_message: Option<String>,
    failure_timeline: Value,
    available_at: Option<OffsetDateTime>,
    due_since: OffsetDateTime,
    queue_paused: bool,
    queue_draining: bool,
    definition_inactive: bool,
    owner_user_id: Option<String>,
    concurrency_key: Option<String>,
    /// A running job with the same key, whether or not that matters.
    same_key: Option<i64>,
}

impl Subject {
    fn contender(&self) -> Contender {
        Contender {
            tenant: TenantId(self.tenant_id),
            domain: self.domain.clone(),
            job_type: self.job_type.clone(),
            owner: self.owner_user_id.clone(),
            concurrency_key: self.concurrency_key.clone(),
        }
    }
}

pub(super) async fn facts(
    store: &PostgresStore,
    scope: &Scope,
    job: JobRef,
    quotas: &Arc<Quotas>,
) -> StoreResult<Option<DiagnosisFacts>> {
    let Some(number) = locate(&store.work, scope, job).await? else { return Ok(None) };
    let now = store.clock.now();
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    let mut snapshot = store.work.begin_with(begin).await.map_err(database)?;
    let Some(subject) = subject(&mut snapshot, number).await? else { return Ok(None) };
    let status: JobStatus = word("jobs", "status", &subject.status)?;
    let (mut ahead, mut reached) = (0, Vec::new());
    if status == JobStatus::Queued {
        ahead = ahead_of(&mut snapshot, &subject, now).await?;
        reached = admission::admission(&mut snapshot, quotas).await?.reached(&subject.contender());
    }
    let able = able_workers(&mut snapshot, number, now).await?;
    let providers_missing = if status == JobStatus::Queued {
        let (wishes, known) = (wishes(&mut snapshot, number).await?, providers(&mut snapshot).await?);
        out_of_reach(&wishes, &known, &able)
    } else {
        Vec::new()
    };
    snapshot.commit().await.map_err(database)?;
    Ok(Some(DiagnosisFacts {
        number,
        status,
        now,
        available_at: stamp_if(subject.available_at),
        last_failure: parsed::<Vec<FailureMark>>("jobs", "failure_timeline", subject.failure_timeline)?.pop(),
        error_code: subject.error_code,
        error_message: subject.error_message,
        providers_missing,
        domain: subject.domain,
        queue: subject.queue,
        job_type: subject.job_type,
        queue_paused: subject.queue_paused,
        queue_draining: subject.queue_draining,
        definition_inactive: subject.definition_inactive,
        capable_workers: able.len() as i64,
        limits_reached: limits_reached(&reached),
        concurrency_holder: subject.same_key.filter(|_| key_is_full(&reached)),
        ahead: ahead.min(AHEAD_CAP),
        ahead_capped: ahead > AHEAD_CAP,
        silent: None,
    }))
}

/// Live workers that serve its queue and can run its type, each with the providers it knows.
async fn able_workers(connection: &mut PgConnection, number: i64, now: Timestamp) -> StoreResult<Vec<Offer>> {
    let rows = sqlx::query_scalar!(
        "SELECT w.metadata FROM job_workers w CROSS JOIN jobs j
         WHERE j.number = $1 AND w.last_seen_at >= $2
           AND w.queues ?| ARRAY[j.domain || '/' || j.queue, j.domain || '/*', '*/*']
           AND w.commands ?| ARRAY[j.job_type, '*']",
        number,
        moment(now.minus(SILENT_AFTER))
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    Ok(rows.iter().map(offer_of).collect())
}

/// What its calls that have not ended ask for.
async fn wishes(connection: &mut PgConnection, number: i64) -> StoreResult<Vec<Wish>> {
    let rows = sqlx::query!(
        "SELECT DISTINCT kind, wanted FROM work_units WHERE job_number = $1 AND state IN ('queued', 'running')",
        number
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    let wish = |kind: &str, provider| Ok(Wish { kind: word("work_units", "kind", kind)?, provider });
    rows.into_iter().map(|row| wish(&row.kind, row.wanted)).collect()
}

async fn providers(connection: &mut PgConnection) -> StoreResult<Vec<(String, UnitKind)>> {
    let rows =
        sqlx::query!("SELECT name, kind FROM providers").fetch_all(connection).await.map_err(database)?;
    rows.into_iter().map(|row| Ok((row.name, word("providers", "kind", &row.kind)?))).collect()
}

async fn subject(connection: &mut PgConnection, number: i64) -> StoreResult<Option<Subject>> {
    sqlx::query_as!(
        Subject,
        r#"SELECT j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.status, j.priority, j.error_code,
                  j.error_message, j.failure_timeline, j.available_at, COALESCE(j.available_at, j.created_at) AS "due_since!",
                  COALESCE(c.paused, FALSE) AS "queue_paused!", COALESCE(c.draining, FALSE) AS "queue_draining!",
                  EXISTS (SELECT FROM job_definitions d
                          WHERE d.domain = j.domain AND d.job_type = j.job_type AND NOT d.is_active)
                    AS "definition_inactive!",
                  j.owner_user_id, j.concurrency_key,
                  (SELECT h.number FROM jobs h
                   WHERE h.tenant_id = j.tenant_id AND h.domain = j.domain AND h.job_type = j.job_type
                     AND h.concurrency_key = j.concurrency_key AND h.concurrency_key IS NOT NULL
                     AND h.status = 'processing' AND h.number <> j.number
                   ORDER BY h.number LIMIT 1) AS same_key
           FROM jobs j LEFT JOIN job_queue_controls c ON c.domain = j.domain AND c.queue = j.queue
           WHERE j.number = $1"#,
        number
    )
    .fetch_optional(connection)
    .await
    .map_err(database)
}

/// Ready jobs of the same tenant and queue that are claimed before it, up to just above the cap. Hops from lane
/// to lane as claims do; in a more urgent lane everything that is ready comes first.
async fn ahead_of(connection: &mut PgConnection, subject: &Subject, now: Timestamp) -> StoreResult<i64> {
    sqlx::query_scalar!(
        r#"WITH RECURSIVE lanes AS (
             (SELECT job_type, priority FROM jobs
              WHERE status = 'queued' AND tenant_id = $1 AND domain = $2 AND queue = $3
              ORDER BY job_type, priority LIMIT 1)
             UNION ALL
             SELECT n.job_type, n.priority
             FROM lanes l CROSS JOIN LATERAL (
               SELECT q.job_type, q.priority FROM jobs q
               WHERE q.status = 'queued' AND q.tenant_id = $1 AND q.domain = $2 AND q.queue = $3
                 AND (q.job_type, q.priority) > (l.job_type, l.priority)
               ORDER BY q.job_type, q.priority LIMIT 1) n)
           SELECT count(*) AS "jobs!"
           FROM (
             SELECT FROM lanes l CROSS JOIN LATERAL (
               SELECT FROM jobs q
               WHERE q.status = 'queued' AND q.tenant_id = $1 AND q.domain = $2 AND q.queue = $3
                 AND q.job_type = l.job_type AND q.priority = l.priority
                 AND COALESCE(q.available_at, q.created_at) <= $7
                 AND (COALESCE(q.available_at, q.created_at), q.number) <
                     (CASE WHEN l.priority < $4 THEN $7 ELSE $5 END,
                      CASE WHEN l.priority < $4 THEN 9223372036854775807 ELSE $6 END)
               ORDER BY COALESCE(q.available_at, q.created_at), q.number LIMIT $8) ready
             WHERE l.priority <= $4
               AND NOT EXISTS (SELECT FROM job_definitions d
                               WHERE d.domain = $2 AND d.job_type = l.job_type AND NOT d.is_active)
             LIMIT $8) counted"#,
        subject.tenant_id,
        subject.domain,
        subject.queue,
        subject.priority,
        subject.due_since,
        subject.number,
        moment(now),
        AHEAD_CAP + 1
    )
    .fetch_one(connection)
    .await
    .map_err(database)
}
