//! Figures for `/metrics`: counters, two small indexes, and pools.

use crate::{
    PostgresStore,
    convert::{moment, stamp, stamp_if, word},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    Figures, Scope, StoreResult,
    figures::{JobTimes, Kindred, PoolFigures, RecentRun},
};
use leasehold_types::{JobStatus, TenantId, Timestamp};
use sqlx::PgPool;

#[async_trait]
impl Figures for PostgresStore {
    async fn job_counts(&self, scope: &Scope) -> StoreResult<Vec<(Kindred, JobStatus, i64)>> {
        let rows = sqlx::query!(
            r#"SELECT tenant_id AS "tenant_id!", domain AS "domain!", queue AS "queue!", job_type AS "job_type!",
                      status AS "status!", sum(jobs)::bigint AS "jobs!"
               FROM (SELECT tenant_id, domain, queue, job_type, status, jobs FROM job_counters
                     WHERE $1::uuid IS NULL OR tenant_id = $1
                     UNION ALL
                     SELECT tenant_id, domain, queue, job_type, status, delta FROM job_counter_deltas
                     WHERE $1::uuid IS NULL OR tenant_id = $1) c
               GROUP BY 1, 2, 3, 4, 5 HAVING sum(jobs) <> 0"#,
            scope.tenant().map(|t| t.0)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let counted = rows.into_iter().map(|r| {
            let kind = kindred(r.tenant_id, r.domain, r.queue, r.job_type);
            Ok((kind, word("job_counters", "status", &r.status)?, r.jobs))
        });
        counted.collect()
    }

    async fn scheduled_counts(&self, scope: &Scope, most: u32) -> StoreResult<Vec<(Kindred, i64)>> {
        let rows = sqlx::query!(
            r#"SELECT tenant_id, domain, queue, job_type, count(*) AS "jobs!"
               FROM (SELECT tenant_id, domain, queue, job_type FROM jobs
                     WHERE status = 'queued' AND available_at IS NOT NULL AND available_at > $2
                       AND ($1::uuid IS NULL OR tenant_id = $1)
                     ORDER BY available_at LIMIT $3) soon
               GROUP BY tenant_id, domain, queue, job_type"#,
            scope.tenant().map(|t| t.0),
            self.now(),
            i64::from(most)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        Ok(rows.into_iter().map(|r| (kindred(r.tenant_id, r.domain, r.queue, r.job_type), r.jobs)).collect())
    }

    async fn running_leases(&self, scope: &Scope, most: u32) -> StoreResult<Vec<(Kindred, Timestamp)>> {
        let rows = sqlx::query!(
            r#"SELECT tenant_id, domain, queue, job_type, leased_until AS "leased_until!" FROM jobs
               WHERE status = 'processing' AND ($1::uuid IS NULL OR tenant_id = $1)
               ORDER BY number LIMIT $2"#,
            scope.tenant().map(|t| t.0),
            i64::from(most)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let leases = rows.into_iter();
        Ok(leases
            .map(|r| (kindred(r.tenant_id, r.domain, r.queue, r.job_type), stamp(r.leased_until)))
            .collect())
    }

    async fn job_times(&self, numbers: &[i64]) -> StoreResult<Vec<JobTimes>> {
        let rows = sqlx::query!(
            "SELECT number, created_at, started_at, acquired_at, trace_id FROM jobs WHERE number = ANY($1)",
            numbers
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let times = rows.into_iter().map(|r| JobTimes {
            number: r.number,
            created_at: stamp(r.created_at),
            started_at: stamp_if(r.started_at),
            acquired_at: stamp_if(r.acquired_at),
            trace_id: r.trace_id,
        });
        Ok(times.collect())
    }

    async fn recent_runs(&self, scope: &Scope, since: Timestamp, most: u32) -> StoreResult<Vec<RecentRun>> {
        let rows = sqlx::query!(
            r#"SELECT t.id AS tenant_id, j.domain, j.queue, j.job_type, j.owner_user_id,
                      extract(epoch FROM j.started_at - j.created_at)::float8 AS "waited!",
                      extract(epoch FROM j.completed_at - j.acquired_at)::float8 AS "ran!"
               FROM tenants t CROSS JOIN LATERAL (
                 SELECT * FROM jobs
                 WHERE tenant_id = t.id AND status = 'completed' ORDER BY -number LIMIT $3) j
               WHERE ($1::uuid IS NULL OR t.id = $1) AND j.completed_at >= $2
                 AND j.started_at IS NOT NULL AND j.acquired_at IS NOT NULL"#,
            scope.tenant().map(|t| t.0),
            moment(since),
            i64::from(most)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let runs = rows.into_iter().map(|r| RecentRun {
            kind: kindred(r.tenant_id, r.domain, r.queue, r.job_type),
            owner_user_id: r.owner_user_id,
            queue_latency_seconds: r.waited,
            duration_seconds: r.ran,
        });
        Ok(runs.collect())
    }

    fn pools(&self) -> Vec<PoolFigures> {
        vec![pool("work", &self.work), pool("lease", &self.lease)]
    }
}

fn kindred(tenant: uuid::Uuid, domain: String, queue: String, job_type: String) -> Kindred {
    Kindred { tenant_id: TenantId(tenant), domain, queue, job_type }
}

fn pool(name: &'static str, pool: &PgPool) -> PoolFigures {
    let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
    PoolFigures {
        name,
        idle,
        in_use: pool.size().saturating_sub(idle),
        most: pool.options().get_max_connections(),
    }
}
