//! Log lines of a running attempt: fenced, idempotent by sequence number, one event per call.

use crate::{
    PostgresStore,
    convert::{moment, stamp, text, word},
    error::database,
    read::locate,
};
use async_trait::async_trait;
use leasehold_queue::{
    JobLogs, Scope, StoreResult,
    params::{Lease, NewLogLine, Wake},
};
use leasehold_types::{JobRef, view::LogLine};

#[async_trait]
impl JobLogs for PostgresStore {
    /// The row lock comes first, so that no line slips in after the lease has gone to somebody else.
    async fn append_logs(&self, lease: &Lease, attempt: i32, lines: Vec<NewLogLine>) -> StoreResult<bool> {
        let seqs: Vec<i64> = lines.iter().map(|l| l.seq).collect();
        let streams: Vec<String> = lines.iter().map(|l| l.stream.as_str().to_owned()).collect();
        let texts: Vec<String> = lines.iter().map(|l| text(&l.text).into_owned()).collect();
        let times: Vec<_> = lines.iter().map(|l| moment(l.at)).collect();
        let held = sqlx::query_scalar!(
            r#"WITH held AS MATERIALIZED (
                 SELECT number, tenant_id, domain, queue, job_type, progress_percent
                 FROM jobs
                 WHERE number = $1 AND worker_id = $2 AND lease_id = $3 AND attempt_count = $4
                   AND status = 'processing'
                 FOR UPDATE),
               added AS (
                 INSERT INTO job_logs (job_number, attempt, seq, tenant_id, stream, line, created_at)
                 SELECT h.number, $4, l.seq, h.tenant_id, l.stream, l.line, l.at
                 FROM held h CROSS JOIN UNNEST($5::bigint[], $6::text[], $7::text[], $8::timestamptz[])
                        AS l(seq, stream, line, at)
                 ON CONFLICT DO NOTHING
                 RETURNING job_number),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, 'job.log', 'processing', $4,
                        progress_percent, $9
                 FROM held WHERE $10 AND EXISTS (SELECT FROM added))
               SELECT count(*) > 0 AS "held!" FROM held"#,
            lease.number,
            lease.worker_id.0,
            lease.lease_id.0,
            attempt,
            &seqs,
            &streams,
            &texts,
            &times,
            self.now(),
            self.outbox
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)?;
        if held && !lines.is_empty() {
            self.wakes.tell(&[Wake::Events]);
        }
        Ok(held)
    }

    async fn logs(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: i32,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<LogLine>> {
        let Some(number) = locate(&self.work, scope, job).await? else { return Ok(Vec::new()) };
        let rows = sqlx::query!(
            "SELECT seq, created_at, stream, line FROM job_logs
             WHERE job_number = $1 AND attempt = $2 AND seq > $3 AND ($4::uuid IS NULL OR tenant_id = $4)
             ORDER BY seq LIMIT $5",
            number,
            attempt,
            after,
            scope.tenant().map(|t| t.0),
            i64::from(limit)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        rows.into_iter()
            .map(|r| {
                Ok(LogLine {
                    seq: r.seq,
                    at: stamp(r.created_at),
                    stream: word("job_logs", "stream", &r.stream)?,
                    text: r.line,
                })
            })
            .collect()
    }
}
