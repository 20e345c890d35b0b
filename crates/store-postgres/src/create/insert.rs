//! The statements that insert. Jobs, events, counters and audit rows go in together: the events' numbers are
//! drawn after the first job row was written, so their transaction already has an id (see `outbox`).

use super::Inserted;
use crate::{
    audit::audited,
    convert::{moment, slot},
};
use leasehold_queue::{Scope, params::NewJob};
use leasehold_types::Timestamp;
use serde_json::Value;
use sqlx::{PgConnection, PgExecutor};
use std::collections::HashSet;
use time::OffsetDateTime;
use uuid::Uuid;

/// The jobs as one array per column.
#[derive(Default)]
struct Columns {
    id: Vec<Uuid>,
    tenant: Vec<Uuid>,
    domain: Vec<String>,
    queue: Vec<String>,
    job_type: Vec<String>,
    definition: Vec<Option<Uuid>>,
    owner: Vec<Option<String>>,
    project: Vec<Option<i64>>,
    source: Vec<String>,
    source_ref: Vec<Option<String>>,
    priority: Vec<i32>,
    payload: Vec<Value>,
    metadata: Vec<Value>,
    dedupe: Vec<Option<String>>,
    idempotency: Vec<Option<String>>,
    concurrency: Vec<Option<String>>,
    correlation: Vec<Option<String>>,
    request: Vec<Option<String>>,
    trace: Vec<String>,
    requested_by: Vec<String>,
    parent: Vec<Option<i64>>,
    max_attempts: Vec<i32>,
    available_at: Vec<Option<OffsetDateTime>>,
}

impl Columns {
    fn of(jobs: &[&NewJob]) -> Self {
        let mut columns = Self::default();
        for job in jobs {
            columns.push(job);
        }
        columns
    }

    fn push(&mut self, job: &NewJob) {
        self.id.push(job.id.0);
        self.tenant.push(job.tenant_id.0);
        self.domain.push(job.domain.clone());
        self.queue.push(job.queue.clone());
        self.job_type.push(job.job_type.clone());
        self.definition.push(job.definition_id.map(|d| d.0));
        self.owner.push(job.owner_user_id.clone());
        self.project.push(job.project_id);
        self.source.push(job.source.as_str().to_owned());
        self.source_ref.push(job.source_ref.clone());
        self.priority.push(job.priority);
        self.payload.push(job.payload.clone());
        self.metadata.push(job.metadata.clone());
        self.dedupe.push(job.dedupe_key.clone());
        self.idempotency.push(job.idempotency.as_ref().map(|i| i.key.clone()));
        self.concurrency.push(job.concurrency_key.clone());
        self.correlation.push(job.correlation_id.clone());
        self.request.push(job.request_id.clone());
        self.trace.push(job.trace_id.clone());
        self.requested_by.push(job.requested_by.clone());
        self.parent.push(job.parent);
        self.max_attempts.push(job.max_attempts);
        self.available_at.push(job.available_at.map(moment));
    }
}

/// Inserts what it is given, in that order, with one audit row for each tenant; jobs of tenants that do not exist are left out, and those that do are
/// held until the commit: once a statement, where a foreign key would look once a row.
#[expect(clippy::too_many_lines, reason = "one statement and its binds")]
pub async fn jobs(
    executor: impl PgExecutor<'_>,
    scope: &Scope,
    jobs: &[&NewJob],
    now: Timestamp,
    outbox: bool,
) -> Result<Inserted, sqlx::Error> {
    if jobs.is_empty() {
        return Ok(Inserted::new());
    }
    let c = Columns::of(jobs);
    let tenants: Vec<Uuid> = c.tenant.iter().copied().collect::<HashSet<_>>().into_iter().collect();
    let rows = sqlx::query!(
        r#"WITH known AS MATERIALIZED (
             SELECT id FROM tenants WHERE id = ANY($28) FOR KEY SHARE),
           made AS (
             INSERT INTO jobs (id, tenant_id, domain, queue, job_type, definition_id, owner_user_id, project_id,
                    source, source_ref, status, priority, payload, metadata, dedupe_key, idempotency_key,
                    concurrency_key, correlation_id, request_id, trace_id, requested_by, parent_job_id,
                    max_attempts, available_at, created_at, queued_at, updated_at)
             SELECT a.id, a.tenant_id, a.domain, a.queue, a.job_type, a.definition_id, a.owner_user_id,
                    a.project_id, a.source, a.source_ref, 'queued', a.priority, a.payload, a.metadata,
                    a.dedupe_key, a.idempotency_key, a.concurrency_key, a.correlation_id, a.request_id,
                    a.trace_id, a.requested_by, a.parent_job_id, a.max_attempts, a.available_at, $24, $24, $24
             FROM UNNEST($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[],
                         $8::bigint[], $9::text[], $10::text[], $11::int[], $12::jsonb[], $13::jsonb[],
                         $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[],
                         $20::text[], $21::bigint[], $22::int[], $23::timestamptz[])
                    WITH ORDINALITY
                    AS a(id, tenant_id, domain, queue, job_type, definition_id, owner_user_id, project_id, source,
                         source_ref, priority, payload, metadata, dedupe_key, idempotency_key, concurrency_key,
                         correlation_id, request_id, trace_id, requested_by, parent_job_id, max_attempts,
                         available_at, place)
             WHERE a.tenant_id IN (SELECT id FROM known)
             ORDER BY a.place
             RETURNING number, id, tenant_id, domain, queue, job_type),
           told AS (
             INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                    progress, created_at)
             SELECT tenant_id, number, domain, queue, job_type, 'job.created', 'queued', 0, 0, $24 FROM made
             WHERE $27),
           counted AS (
             INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
             SELECT tenant_id, domain, queue, job_type, 'queued', count(*), $25 FROM made
             GROUP BY tenant_id, domain, queue, job_type),
           audited AS (
             INSERT INTO audit_log (tenant_id, actor, action, object_type, object_id, reason, created_at, origin)
             SELECT tenant_id, $26, 'job.create', CASE WHEN count(*) = 1 THEN 'job' ELSE 'jobs' END,
                    CASE WHEN count(*) = 1 THEN min(number)::text ELSE min(number) || '–' || max(number) END,
                    CASE WHEN count(*) > 1 THEN count(*) || ' jobs in one call' END, $24, $29
             FROM made WHERE $26::text IS NOT NULL GROUP BY tenant_id)
           SELECT number, id FROM made"#,
        &c.id,
        &c.tenant,
        &c.domain,
        &c.queue,
        &c.job_type,
        &c.definition as &[Option<Uuid>],
        &c.owner as &[Option<String>],
        &c.project as &[Option<i64>],
        &c.source,
        &c.source_ref as &[Option<String>],
        &c.priority,
        &c.payload,
        &c.metadata,
        &c.dedupe as &[Option<String>],
        &c.idempotency as &[Option<String>],
        &c.concurrency as &[Option<String>],
        &c.correlation as &[Option<String>],
        &c.request as &[Option<String>],
        &c.trace,
        &c.requested_by,
        &c.parent as &[Option<i64>],
        &c.max_attempts,
        &c.available_at as &[Option<OffsetDateTime>],
        moment(now),
        slot(now),
        audited(scope),
        outbox,
        &tenants,
        scope.origin
    )
    .fetch_all(executor)
    .await?;
    Ok(rows.into_iter().map(|r| (r.id, r.number)).collect())
}

/// Binds the keys to their jobs. An expired key is taken over; one that is alive is somebody else's win.
pub async fn idempotency_keys(
    connection: &mut PgConnection,
    jobs: &[&NewJob],
    inserted: &Inserted,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let asked: Vec<_> = jobs
        .iter()
        .filter_map(|job| Some((job, job.idempotency.as_ref()?, *inserted.get(&job.id.0)?)))
        .collect();
    if asked.is_empty() {
        return Ok(());
    }
    let numbers: Vec<i64> = asked.iter().map(|(_, _, number)| *number).collect();
    let keys: Vec<String> = asked.iter().map(|(_, i, _)| i.key.clone()).collect();
    let hashes: Vec<String> = asked.iter().map(|(_, i, _)| i.payload_hash.clone()).collect();
    let expiries: Vec<Option<OffsetDateTime>> =
        asked.iter().map(|(_, i, _)| i.expires_at.map(moment)).collect();
    sqlx::query!(
        "DELETE FROM job_idempotency i
         USING UNNEST($1::bigint[], $2::text[]) AS a(number, key) JOIN jobs j ON j.number = a.number
         WHERE i.tenant_id = j.tenant_id AND i.domain = j.domain AND i.queue = j.queue AND i.job_type = j.job_type
           AND i.key = a.key AND i.expires_at <= $3",
        &numbers,
        &keys,
        moment(now)
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "INSERT INTO job_idempotency (tenant_id, domain, queue, job_type, key, payload_hash, job_number,
                created_at, expires_at)
         SELECT j.tenant_id, j.domain, j.queue, j.job_type, a.key, a.hash, j.number, $5, a.expires_at
         FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::timestamptz[])
                AS a(number, key, hash, expires_at)
         JOIN jobs j ON j.number = a.number",
        &numbers,
        &keys,
        &hashes,
        &expiries as &[Option<OffsetDateTime>],
        moment(now)
    )
    .execute(connection)
    .await
    .map(drop)
}
