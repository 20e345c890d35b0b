//! Claim: up to n ready jobs for one worker, fair between tenants, in one transaction.
//!
//! The writer's lock is taken before the first look, so no other claimer can pick the same job. Which jobs it
//! will be is decided in [`crate::pick`].

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    counters::Moves,
    error::{Outcome, outcome},
    outbox::{Attrs, Kin},
    pick::pick,
};
use async_trait::async_trait;
use leasehold_queue::{
    ClaimJobs, StoreResult,
    params::{ClaimedJob, Lease, Selector, Wake},
};
use leasehold_types::{JobStatus, Timestamp, WorkerId};
use serde::Deserialize;
use sqlx::SqliteConnection;
use std::time::Duration;
use uuid::Uuid;

const JOBS: Table = Table("jobs");

/// As the database writes it, in JSON.
#[derive(Deserialize)]
struct ClaimedRecord {
    number: i64,
    id: String,
    tenant_id: String,
    tenant_slug: String,
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

#[async_trait]
impl ClaimJobs for SqliteStore {
    async fn claim(
        &self,
        worker: &WorkerId,
        selector: &Selector,
        n: u32,
        lease: Duration,
    ) -> StoreResult<Vec<ClaimedJob>> {
        outcome(async {
            if n == 0 {
                return Ok(Vec::new());
            }
            let mut tx = self.begin().await?;
            if selector.gate.is_shut() {
                return Ok(Vec::new());
            }
            let now = self.clock.now();
            let numbers = pick(self, &mut tx, selector, n as usize, now).await?;
            if numbers.is_empty() {
                return Ok(Vec::new());
            }
            let until = now.plus(lease.min(self.longest_lease));
            let claimed = take(&mut tx, worker, &numbers, now, until).await?;
            tx.commit().await?;
            self.bell.ring(Wake::Events);
            Ok(claimed)
        })
        .await
    }
}

async fn take(
    connection: &mut SqliteConnection,
    worker: &WorkerId,
    numbers: &[i64],
    now: Timestamp,
    until: Timestamp,
) -> Outcome<Vec<ClaimedJob>> {
    let numbers = to_json(numbers)?;
    lease_out(connection, worker, &numbers, now, until).await?;
    let rows = read_back(connection, &numbers).await?;
    announce(connection, worker, &numbers, &rows, now).await?;
    rows.into_iter().map(|row| claimed(row, worker, until)).collect()
}

/// The writer's lock is held since they were picked: all of them are still queued.
async fn lease_out(
    connection: &mut SqliteConnection,
    worker: &WorkerId,
    numbers: &str,
    now: Timestamp,
    until: Timestamp,
) -> Outcome<()> {
    // One random id for the batch, its last part replaced by the job's number: fresh and different for each.
    let lease = Uuid::new_v4().to_string();
    let (now, until) = (now.to_string(), until.to_string());
    sqlx::query!(
        "UPDATE jobs
         SET status = 'processing', worker_id = ?2, lease_id = substr(?5, 1, 24) || printf('%012x', number),
             leased_until = ?4, acquired_at = ?3, started_at = COALESCE(started_at, ?3),
             attempt_count = attempt_count + 1, completion_token = NULL, running_pid = NULL, stage = NULL,
             error_code = NULL, error_class = NULL, error_message = NULL, error_stack = NULL, updated_at = ?3
         WHERE number IN (SELECT value FROM json_each(?1)) AND status = 'queued'",
        numbers,
        worker.0,
        now,
        until,
        lease
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// In claim order, as one value: every single value that crosses from the database's thread costs more than it took
/// to read.
async fn read_back(connection: &mut SqliteConnection, numbers: &str) -> Outcome<Vec<ClaimedRecord>> {
    let rows = sqlx::query_scalar!(
        r#"SELECT json_group_array(json_object(
                    'number', j.number, 'id', j.id, 'tenant_id', j.tenant_id, 'tenant_slug', t.slug,
                    'domain', j.domain, 'queue', j.queue, 'job_type', j.job_type, 'definition_id', j.definition_id,
                    'payload', j.payload, 'checkpoint', j.checkpoint, 'attempt_count', j.attempt_count,
                    'max_attempts', j.max_attempts, 'progress_percent', j.progress_percent, 'lease_id', j.lease_id,
                    'trace_id', j.trace_id, 'request_id', j.request_id) ORDER BY taken.key) AS "rows!: String"
           FROM json_each(?1) taken JOIN jobs j ON j.number = taken.value JOIN tenants t ON t.id = j.tenant_id"#,
        numbers
    )
    .fetch_one(connection)
    .await?;
    JOBS.json("number", &rows)
}

/// In claim order. What the events say stands in the rows.
async fn announce(
    connection: &mut SqliteConnection,
    worker: &WorkerId,
    numbers: &str,
    rows: &[ClaimedRecord],
    now: Timestamp,
) -> Outcome<()> {
    let attrs = to_json(&Attrs { worker: Some(worker.0.clone()), ..Attrs::default() })?;
    let at = now.to_string();
    sqlx::query!(
        "INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt, progress,
                                 attrs, created_at)
         SELECT j.tenant_id, j.number, j.domain, j.queue, j.job_type, 'job.started', j.status, j.attempt_count,
                j.progress_percent, ?2, ?3
         FROM json_each(?1) taken JOIN jobs j ON j.number = taken.value
         ORDER BY taken.key",
        numbers,
        attrs,
        at
    )
    .execute(&mut *connection)
    .await?;
    let kins: Vec<Kin> = rows.iter().map(kin_of).collect();
    let mut moves = Moves::default();
    for kin in &kins {
        moves.moved(kin, JobStatus::Queued, JobStatus::Processing);
    }
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

fn claimed(row: ClaimedRecord, worker: &WorkerId, until: Timestamp) -> Outcome<ClaimedJob> {
    let lease_id = JOBS.parse("lease_id", &row.lease_id)?;
    Ok(ClaimedJob {
        lease: Lease { number: row.number, worker_id: worker.clone(), lease_id },
        id: JOBS.parse("id", &row.id)?,
        tenant_id: JOBS.parse("tenant_id", &row.tenant_id)?,
        tenant_slug: row.tenant_slug,
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
