//! Log lines of attempts.

use crate::{
    SqliteStore,
    convert::{Table, limit, text, to_json},
    error::{Outcome, outcome},
    outbox::{self, Kin, NewEvent},
    read,
};
use async_trait::async_trait;
use leasehold_queue::{
    JobLogs, Scope, StoreResult,
    params::{Lease, NewLogLine, Wake},
};
use leasehold_types::{JobRef, JobStatus, LiveKind, Timestamp, view::LogLine};
use serde::Serialize;
use sqlx::SqliteConnection;

const LOGS: Table = Table("job_logs");

#[derive(Serialize)]
struct LineInsert {
    seq: i64,
    stream: &'static str,
    line: String,
    created_at: Timestamp,
}

/// The running attempt lines are for.
struct Attempt {
    number: i64,
    attempt: i64,
    progress: i64,
    kin: Kin,
}

#[async_trait]
impl JobLogs for SqliteStore {
    async fn append_logs(&self, lease: &Lease, attempt: i32, lines: Vec<NewLogLine>) -> StoreResult<bool> {
        outcome(async {
            let mut tx = self.begin().await?;
            let now = self.clock.now();
            let Some(running) = running_attempt(&mut tx, lease, attempt).await? else { return Ok(false) };
            if insert(&mut tx, &running, &lines).await? == 0 {
                return Ok(true);
            }
            let Attempt { number, attempt, progress, kin } = &running;
            let event =
                NewEvent::new(LiveKind::Log, JobStatus::Processing, kin, *number, *attempt, *progress);
            outbox::append(&mut tx, &[event], now).await?;
            tx.commit().await?;
            self.bell.ring(Wake::Events);
            Ok(true)
        })
        .await
    }

    /// The lines after a position, oldest first.
    async fn logs(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: i32,
        after: i64,
        max: u32,
    ) -> StoreResult<Vec<LogLine>> {
        outcome(async {
            let mut connection = self.read.acquire().await?;
            let Some(number) = read::locate(&mut connection, scope, job).await? else {
                return Ok(Vec::new());
            };
            let max = limit(max);
            let rows = sqlx::query_as!(
                LineRecord,
                "SELECT seq, created_at, stream, line FROM job_logs
                 WHERE job_number = ?1 AND attempt = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4",
                number,
                attempt,
                after,
                max
            )
            .fetch_all(&mut *connection)
            .await?;
            rows.into_iter().map(line_of).collect()
        })
        .await
    }
}

async fn running_attempt(
    connection: &mut SqliteConnection,
    lease: &Lease,
    attempt: i32,
) -> Outcome<Option<Attempt>> {
    let lease_id = lease.lease_id.to_string();
    let found = sqlx::query!(
        "SELECT number, attempt_count, progress_percent, tenant_id, domain, queue, job_type FROM jobs
         WHERE number = ?1 AND status = 'processing' AND worker_id = ?2 AND lease_id = ?3 AND attempt_count = ?4",
        lease.number,
        lease.worker_id.0,
        lease_id,
        attempt
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.map(|row| Attempt {
        number: row.number,
        attempt: row.attempt_count,
        progress: row.progress_percent,
        kin: Kin { tenant_id: row.tenant_id, domain: row.domain, queue: row.queue, job_type: row.job_type },
    }))
}

/// How many lines were new.
async fn insert(connection: &mut SqliteConnection, to: &Attempt, lines: &[NewLogLine]) -> Outcome<u64> {
    if lines.is_empty() {
        return Ok(0);
    }
    let rows: Vec<_> = lines
        .iter()
        .map(|line| LineInsert {
            seq: line.seq,
            stream: line.stream.as_str(),
            line: text(&line.text),
            created_at: line.at,
        })
        .collect();
    let rows = to_json(&rows)?;
    let added = sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         INSERT INTO job_logs (job_number, attempt, seq, tenant_id, stream, line, created_at)
         SELECT ?2, ?3, value ->> 'seq', ?4, value ->> 'stream', value ->> 'line', value ->> 'created_at'
         FROM given WHERE TRUE
         ON CONFLICT (job_number, attempt, seq) DO NOTHING",
        rows,
        to.number,
        to.attempt,
        to.kin.tenant_id
    )
    .execute(connection)
    .await?;
    Ok(added.rows_affected())
}

struct LineRecord {
    seq: i64,
    created_at: String,
    stream: String,
    line: String,
}

fn line_of(row: LineRecord) -> Outcome<LogLine> {
    Ok(LogLine {
        seq: row.seq,
        at: LOGS.time("created_at", &row.created_at)?,
        stream: LOGS.parse("stream", &row.stream)?,
        text: row.line,
    })
}

/// The newest lines of one attempt, oldest first.
pub(crate) async fn newest(
    connection: &mut SqliteConnection,
    number: i64,
    attempt: i32,
    max: u32,
) -> Outcome<Vec<LogLine>> {
    let max = limit(max);
    let rows = sqlx::query_as!(
        LineRecord,
        "SELECT seq, created_at, stream, line FROM job_logs
         WHERE job_number = ?1 AND attempt = ?2 ORDER BY seq DESC LIMIT ?3",
        number,
        attempt,
        max
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().rev().map(line_of).collect()
}
