//! What stands in a job's way, read from one snapshot.

use crate::{
    PostgresStore, admission,
    convert::{moment, stamp_if, word},
    error::database,
    read::locate,
};
use leasehold_queue::{
    Scope, StoreResult,
    admission::Contender,
    diagnosis::{key_is_full, limits_reached},
    quota::Quotas,
    silence::SILENT_AFTER,
};
use leasehold_types::{JobRef, JobStatus, TenantId, Timestamp, view::DiagnosisFacts};
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
    attempt_count: i32,
    available_at: Option<OffsetDateTime>,
    due_since: OffsetDateTime,
    queue_paused: bool,
    queue_draining: bool,
    definition_inactive: bool,
    capable_workers: i64,
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
    let Some(subject) = subject(&mut snapshot, number, now).await? else { return Ok(None) };
    let status: JobStatus = word("jobs", "status", &subject.status)?;
    let (mut ahead, mut reached) = (0, Vec::new());
    if status == JobStatus::Queued {
        ahead = ahead_of(&mut snapshot, &subject, now).await?;
        reached = admission::admission(&mut snapshot, quotas).await?.reached(&subject.contender());
    }
    snapshot.commit().await.map_err(database)?;
    Ok(Some(DiagnosisFacts {
        number,
        status,
        now,
        available_at: stamp_if(subject.available_at),
        attempt_count: subject.attempt_count,
        domain: subject.domain,
        queue: subject.queue,
        job_type: subject.job_type,
        queue_paused: subject.queue_paused,
        queue_draining: subject.queue_draining,
        definition_inactive: subject.definition_inactive,
        capable_workers: subject.capable_workers,
        limits_reached: limits_reached(&reached),
        concurrency_holder: subject.same_key.filter(|_| key_is_full(&reached)),
        ahead: ahead.min(AHEAD_CAP),
        ahead_capped: ahead > AHEAD_CAP,
        silent: None,
    }))
}

/// Live workers count when they serve its queue and can run its type.
async fn subject(connection: &mut PgConnection, number: i64, now: Timestamp) -> StoreResult<Option<Subject>> {
    sqlx::query_as!(
        Subject,
        r#"SELECT j.number, j.tenant_id, j.domain, j.queue, j.job_type, j.status, j.priority, j.attempt_count,
                  j.available_at, COALESCE(j.available_at, j.created_at) AS "due_since!",
                  COALESCE(c.paused, FALSE) AS "queue_paused!", COALESCE(c.draining, FALSE) AS "queue_draining!",
                  EXISTS (SELECT FROM job_definitions d
                          WHERE d.domain = j.domain AND d.job_type = j.job_type AND NOT d.is_active)
                    AS "definition_inactive!",
                  (SELECT count(*) FROM job_workers w
                   WHERE w.last_seen_at >= $2
                     AND w.queues ?| ARRAY[j.domain || '/' || j.queue, j.domain || '/*', '*/*']
                     AND w.commands ?| ARRAY[j.job_type, '*']) AS "capable_workers!",
                  j.owner_user_id, j.concurrency_key,
                  (SELECT h.number FROM jobs h
                   WHERE h.tenant_id = j.tenant_id AND h.domain = j.domain AND h.job_type = j.job_type
                     AND h.concurrency_key = j.concurrency_key AND h.concurrency_key IS NOT NULL
                     AND h.status = 'processing' AND h.number <> j.number
                   ORDER BY h.number LIMIT 1) AS same_key
           FROM jobs j LEFT JOIN job_queue_controls c ON c.domain = j.domain AND c.queue = j.queue
           WHERE j.number = $1"#,
        number,
        moment(now.minus(SILENT_AFTER))
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
