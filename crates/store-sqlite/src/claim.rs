//! Claim: up to n ready jobs for one worker, fair between tenants, in one transaction.
//!
//! The writer's lock is taken before the first look, so no other claimer can pick the same job. Which jobs it
//! will be is decided in [`crate::pick`].

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    counters::Moves,
    error::Outcome,
    outbox::{self, Attrs, Kin, NewEvent},
    pick::pick,
};
use leasehold_queue::params::{ClaimedJob, Lease, Selector, Wake};
use leasehold_types::{JobStatus, LeaseId, LiveKind, Timestamp, WorkerId};
use serde::Serialize;
use sqlx::SqliteConnection;
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
use uuid::Uuid;

const JOBS: Table = Table("jobs");

pub(crate) async fn claim(
    store: &SqliteStore,
    worker: &WorkerId,
    selector: &Selector,
    n: u32,
    lease: Duration,
) -> Outcome<Vec<ClaimedJob>> {
    if n == 0 {
        return Ok(Vec::new());
    }
    let mut tx = store.begin().await?;
    if selector.gate.is_shut() {
        return Ok(Vec::new());
    }
    let now = store.clock.now();
    let numbers = pick(store, &mut tx, selector, n as usize, now).await?;
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let until = now.plus(lease.min(store.longest_lease));
    let claimed = take(&mut tx, worker, &numbers, now, until).await?;
    tx.commit().await?;
    store.bell.ring(Wake::Events);
    Ok(claimed)
}

#[derive(Serialize)]
struct Taken {
    number: i64,
    lease_id: LeaseId,
}

struct ClaimedRecord {
    number: i64,
    id: String,
    tenant_id: String,
    domain: String,
    queue: String,
    job_type: String,
    definition_id: Option<String>,
    payload: String,
    checkpoint: Option<String>,
    attempt_count: i64,
    max_attempts: i64,
    progress_percent: i64,
    lease_id: String,
    trace_id: String,
    request_id: Option<String>,
}

async fn take(
    connection: &mut SqliteConnection,
    worker: &WorkerId,
    numbers: &[i64],
    now: Timestamp,
    until: Timestamp,
) -> Outcome<Vec<ClaimedJob>> {
    let mut rows = lease_out(connection, worker, numbers, now, until).await?;
    // The order in which RETURNING hands out rows is not promised.
    let place: HashMap<i64, usize> = numbers.iter().enumerate().map(|(place, n)| (*n, place)).collect();
    rows.sort_by_key(|row| place.get(&row.number).copied());
    announce(connection, worker, &rows, now).await?;
    let slugs = slugs_of(connection, &rows).await?;
    rows.into_iter().map(|row| claimed(row, worker, &slugs, until)).collect()
}

async fn lease_out(
    connection: &mut SqliteConnection,
    worker: &WorkerId,
    numbers: &[i64],
    now: Timestamp,
    until: Timestamp,
) -> Outcome<Vec<ClaimedRecord>> {
    let taken: Vec<_> =
        numbers.iter().map(|number| Taken { number: *number, lease_id: LeaseId(Uuid::new_v4()) }).collect();
    let (taken, now, until) = (to_json(&taken)?, now.to_string(), until.to_string());
    let rows = sqlx::query_as!(
        ClaimedRecord,
        r#"UPDATE jobs
           SET status = 'processing', worker_id = ?2, lease_id = taken.value ->> 'lease_id', leased_until = ?4,
               acquired_at = ?3, started_at = COALESCE(started_at, ?3), attempt_count = attempt_count + 1,
               completion_token = NULL, running_pid = NULL, stage = NULL, error_code = NULL, error_class = NULL,
               error_message = NULL, error_stack = NULL, updated_at = ?3
           FROM json_each(?1) AS taken
           WHERE jobs.number = taken.value ->> 'number' AND jobs.status = 'queued'
           RETURNING number AS "number!: i64", id AS "id!: String", tenant_id AS "tenant_id!: String",
                     domain AS "domain!: String", queue AS "queue!: String", job_type AS "job_type!: String",
                     definition_id AS "definition_id?: String", payload AS "payload!: String",
                     checkpoint AS "checkpoint?: String", attempt_count AS "attempt_count!: i64",
                     max_attempts AS "max_attempts!: i64", progress_percent AS "progress_percent!: i64",
                     lease_id AS "lease_id!: String", trace_id AS "trace_id!: String",
                     request_id AS "request_id?: String""#,
        taken,
        worker.0,
        now,
        until
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

async fn announce(
    connection: &mut SqliteConnection,
    worker: &WorkerId,
    rows: &[ClaimedRecord],
    now: Timestamp,
) -> Outcome<()> {
    let attrs = Attrs { worker: Some(worker.0.clone()), ..Attrs::default() };
    let kins: Vec<Kin> = rows.iter().map(kin_of).collect();
    let mut moves = Moves::default();
    let mut events = Vec::with_capacity(rows.len());
    for (row, kin) in rows.iter().zip(&kins) {
        moves.moved(kin, JobStatus::Queued, JobStatus::Processing);
        let (number, attempt, progress) = (row.number, row.attempt_count, row.progress_percent);
        let event = NewEvent::new(LiveKind::Started, JobStatus::Processing, kin, number, attempt, progress);
        events.push(event.with(&attrs)?);
    }
    outbox::append(connection, &events, now).await?;
    moves.record(connection, now).await
}

fn kin_of(row: &ClaimedRecord) -> Kin {
    Kin {
        tenant_id: row.tenant_id.clone(),
        domain: row.domain.clone(),
        queue: row.queue.clone(),
        job_type: row.job_type.clone(),
    }
}

async fn slugs_of(
    connection: &mut SqliteConnection,
    rows: &[ClaimedRecord],
) -> Outcome<HashMap<String, String>> {
    let tenants: HashSet<_> = rows.iter().map(|row| row.tenant_id.as_str()).collect();
    let tenants = to_json(&tenants)?;
    let found = sqlx::query!(
        r#"SELECT t.id AS "id!: String", t.slug AS "slug!: String"
           FROM json_each(?1) asked JOIN tenants t ON t.id = asked.value"#,
        tenants
    )
    .fetch_all(connection)
    .await?;
    Ok(found.into_iter().map(|row| (row.id, row.slug)).collect())
}

fn claimed(
    row: ClaimedRecord,
    worker: &WorkerId,
    slugs: &HashMap<String, String>,
    until: Timestamp,
) -> Outcome<ClaimedJob> {
    let lease_id = JOBS.parse("lease_id", &row.lease_id)?;
    Ok(ClaimedJob {
        lease: Lease { number: row.number, worker_id: worker.clone(), lease_id },
        id: JOBS.parse("id", &row.id)?,
        tenant_id: JOBS.parse("tenant_id", &row.tenant_id)?,
        tenant_slug: slugs.get(&row.tenant_id).cloned().unwrap_or_default(),
        definition_id: JOBS.parse_opt("definition_id", row.definition_id.as_deref())?,
        payload: JOBS.json("payload", &row.payload)?,
        checkpoint: JOBS.json_opt("checkpoint", row.checkpoint.as_deref())?,
        attempt: JOBS.int("attempt_count", row.attempt_count)?,
        max_attempts: JOBS.int("max_attempts", row.max_attempts)?,
        progress: JOBS.int("progress_percent", row.progress_percent)?,
        leased_until: until,
        domain: row.domain,
        queue: row.queue,
        job_type: row.job_type,
        trace_id: row.trace_id,
        request_id: row.request_id,
    })
}
