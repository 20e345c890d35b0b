//! Counts without counting. Writers append deltas in their own transaction (touching one counter row would make
//! them queue up behind each other); a sweep folds the deltas, and a count is the folded sum plus what is left.

use crate::{PostgresStore, convert::slot, error::database};
use async_trait::async_trait;
use leasehold_queue::{Counters, StoreResult};
use sqlx::{PgConnection, PgExecutor};

/// Deltas folded by one statement; more would hold their locks for long.
const CHUNK: i64 = 20_000;
const CHUNKS: usize = 100;
/// A day of five-second slots.
const SLOTS_KEPT: i64 = 86_400 / 5;

/// Folds up to a chunk; how many deltas it were. Deltas of tenants that are gone are dropped.
async fn fold_chunk(executor: impl PgExecutor<'_>) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"WITH gone AS (
             DELETE FROM job_counter_deltas
             WHERE id IN (SELECT id FROM job_counter_deltas ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING tenant_id, domain, queue, job_type, status, delta, slot),
           kept AS (SELECT g.* FROM gone g WHERE EXISTS (SELECT FROM tenants t WHERE t.id = g.tenant_id)),
           counted AS (
             INSERT INTO job_counters AS c (tenant_id, domain, queue, job_type, status, jobs)
             SELECT tenant_id, domain, queue, job_type, status, sum(delta) FROM kept
             GROUP BY tenant_id, domain, queue, job_type, status
             ORDER BY tenant_id, domain, queue, job_type, status
             ON CONFLICT (tenant_id, domain, queue, job_type, status)
             DO UPDATE SET jobs = c.jobs + EXCLUDED.jobs),
           rated AS (
             INSERT INTO job_rates AS r (tenant_id, slot, domain, queue, status, jobs)
             SELECT tenant_id, slot, domain, queue, status, sum(delta) FROM kept
             WHERE delta > 0 AND status NOT IN ('queued', 'processing')
             GROUP BY tenant_id, slot, domain, queue, status
             ORDER BY tenant_id, slot, domain, queue, status
             ON CONFLICT (tenant_id, slot, domain, queue, status)
             DO UPDATE SET jobs = r.jobs + EXCLUDED.jobs)
           SELECT count(*) AS "folded!" FROM gone"#,
        CHUNK
    )
    .fetch_one(executor)
    .await
}

async fn mend(connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    sqlx::query!(
        "INSERT INTO job_counters (tenant_id, domain, queue, job_type, status, jobs)
         SELECT tenant_id, domain, queue, job_type, status, COALESCE(truth.jobs, 0)
         FROM (SELECT tenant_id, domain, queue, job_type, status, count(*) AS jobs FROM jobs
               GROUP BY tenant_id, domain, queue, job_type, status) truth
         FULL JOIN job_counters c USING (tenant_id, domain, queue, job_type, status)
         WHERE COALESCE(truth.jobs, 0) <> COALESCE(c.jobs, 0)
         ON CONFLICT (tenant_id, domain, queue, job_type, status) DO UPDATE SET jobs = EXCLUDED.jobs"
    )
    .execute(connection)
    .await
    .map(|done| done.rows_affected())
}

#[async_trait]
impl Counters for PostgresStore {
    async fn fold_counters(&self) -> StoreResult<()> {
        for _ in 0..CHUNKS {
            if fold_chunk(&self.work).await.map_err(database)? < CHUNK {
                break;
            }
        }
        sqlx::query!("DELETE FROM job_rates WHERE slot < $1", slot(self.clock.now()) - SLOTS_KEPT)
            .execute(&self.work)
            .await
            .map(drop)
            .map_err(database)
    }

    /// Exact, because writers of jobs wait meanwhile: whoever appends a delta has written a job before.
    async fn recount(&self) -> StoreResult<u64> {
        let mut tx = self.work.begin().await.map_err(database)?;
        sqlx::query!("LOCK TABLE jobs IN SHARE MODE").execute(&mut *tx).await.map_err(database)?;
        // Keeps a second folder out, which would move deltas while they are compared: a folding statement takes
        // its table locks before it touches a row.
        sqlx::query!("LOCK TABLE job_counters IN SHARE ROW EXCLUSIVE MODE")
            .execute(&mut *tx)
            .await
            .map_err(database)?;
        while fold_chunk(&mut *tx).await.map_err(database)? > 0 {}
        let mended = mend(&mut tx).await.map_err(database)?;
        tx.commit().await.map_err(database)?;
        Ok(mended)
    }
}
