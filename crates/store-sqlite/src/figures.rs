//! Figures for `/metrics`: counters, two small indexes, and pools.

use crate::{
    SqliteStore,
    convert::{Table, limit, to_json},
    error::Outcome,
};
use async_trait::async_trait;
use leasehold_queue::{
    Figures, Scope, StoreResult,
    figures::{JobTimes, Kindred, PoolFigures, RecentRun},
};
use leasehold_types::{JobStatus, TenantId, Timestamp};
use sqlx::SqlitePool;

const COUNTERS: Table = Table("job_counters");
const JOBS: Table = Table("jobs");
const TENANTS: Table = Table("tenants");

#[async_trait]
impl Figures for SqliteStore {
    async fn job_counts(&self, scope: &Scope) -> StoreResult<Vec<(Kindred, JobStatus, i64)>> {
        Ok(counts(self, scope).await?)
    }

    async fn scheduled_counts(&self, scope: &Scope, most: u32) -> StoreResult<Vec<(Kindred, i64)>> {
        Ok(scheduled(self, scope, most).await?)
    }

    async fn running_leases(&self, scope: &Scope, most: u32) -> StoreResult<Vec<(Kindred, Timestamp)>> {
        Ok(leases(self, scope, most).await?)
    }

    async fn job_times(&self, numbers: &[i64]) -> StoreResult<Vec<JobTimes>> {
        Ok(times(self, numbers).await?)
    }

    async fn recent_runs(&self, scope: &Scope, since: Timestamp, most: u32) -> StoreResult<Vec<RecentRun>> {
        Ok(runs(self, scope, since, most).await?)
    }

    fn pools(&self) -> Vec<PoolFigures> {
        vec![pool("write", &self.write), pool("read", &self.read)]
    }
}

fn tenant_of(scope: &Scope) -> Option<String> {
    scope.tenant().map(|id| id.to_string())
}

fn kindred(tenant: &str, domain: String, queue: String, job_type: String) -> Outcome<Kindred> {
    Ok(Kindred { tenant_id: JOBS.parse("tenant_id", tenant)?, domain, queue, job_type })
}

async fn counts(store: &SqliteStore, scope: &Scope) -> Outcome<Vec<(Kindred, JobStatus, i64)>> {
    let tenant = tenant_of(scope);
    let rows = sqlx::query!(
        "SELECT tenant_id, domain, queue, job_type, status, jobs FROM job_counters
         WHERE jobs <> 0 AND (?1 IS NULL OR tenant_id = ?1)",
        tenant
    )
    .fetch_all(&store.read)
    .await?;
    let counted = rows.into_iter().map(|r| {
        let kind = kindred(&r.tenant_id, r.domain, r.queue, r.job_type)?;
        Ok((kind, COUNTERS.parse("status", &r.status)?, r.jobs))
    });
    counted.collect()
}

async fn scheduled(store: &SqliteStore, scope: &Scope, most: u32) -> Outcome<Vec<(Kindred, i64)>> {
    let (tenant, now, most) = (tenant_of(scope), store.clock.now().to_string(), limit(most));
    let rows = sqlx::query!(
        r#"SELECT tenant_id AS "tenant_id!: String", domain AS "domain!: String", queue AS "queue!: String",
                  job_type AS "job_type!: String", COUNT(*) AS "jobs!: i64"
           FROM (SELECT tenant_id, domain, queue, job_type FROM jobs INDEXED BY jobs_scheduled
                 WHERE status = 'queued' AND available_at IS NOT NULL AND available_at > ?2
                   AND (?1 IS NULL OR tenant_id = ?1)
                 ORDER BY available_at LIMIT ?3)
           GROUP BY 1, 2, 3, 4"#,
        tenant,
        now,
        most
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter().map(|r| Ok((kindred(&r.tenant_id, r.domain, r.queue, r.job_type)?, r.jobs))).collect()
}

async fn leases(store: &SqliteStore, scope: &Scope, most: u32) -> Outcome<Vec<(Kindred, Timestamp)>> {
    let (tenant, most) = (tenant_of(scope), limit(most));
    let rows = sqlx::query!(
        r#"SELECT tenant_id, domain, queue, job_type, leased_until AS "leased_until!: String"
           FROM jobs INDEXED BY jobs_processing
           WHERE status = 'processing' AND (?1 IS NULL OR tenant_id = ?1) ORDER BY number LIMIT ?2"#,
        tenant,
        most
    )
    .fetch_all(&store.read)
    .await?;
    let leases = rows.into_iter().map(|r| {
        let until = JOBS.time("leased_until", &r.leased_until)?;
        Ok((kindred(&r.tenant_id, r.domain, r.queue, r.job_type)?, until))
    });
    leases.collect()
}

async fn times(store: &SqliteStore, numbers: &[i64]) -> Outcome<Vec<JobTimes>> {
    let numbers = to_json(numbers)?;
    let rows = sqlx::query!(
        r#"SELECT number AS "number!: i64", created_at, started_at, acquired_at, trace_id FROM jobs
           WHERE number IN (SELECT value FROM json_each(?1))"#,
        numbers
    )
    .fetch_all(&store.read)
    .await?;
    let times = rows.into_iter().map(|r| {
        Ok(JobTimes {
            number: r.number,
            created_at: JOBS.time("created_at", &r.created_at)?,
            started_at: JOBS.time_opt("started_at", r.started_at.as_deref())?,
            acquired_at: JOBS.time_opt("acquired_at", r.acquired_at.as_deref())?,
            trace_id: r.trace_id,
        })
    });
    times.collect()
}

async fn runs(store: &SqliteStore, scope: &Scope, since: Timestamp, most: u32) -> Outcome<Vec<RecentRun>> {
    let tenants = match tenant_of(scope) {
        Some(one) => vec![one],
        None => sqlx::query_scalar!("SELECT id FROM tenants").fetch_all(&store.read).await?,
    };
    let mut all = Vec::new();
    for tenant in tenants {
        runs_of(store, &tenant, since, most, &mut all).await?;
    }
    Ok(all)
}

async fn runs_of(
    store: &SqliteStore,
    tenant: &str,
    since: Timestamp,
    most: u32,
    all: &mut Vec<RecentRun>,
) -> Outcome<()> {
    let (oldest, most) = (since.to_string(), limit(most));
    let rows = sqlx::query!(
        r#"SELECT domain, queue, job_type, owner_user_id, created_at, started_at AS "started_at!: String",
                  acquired_at AS "acquired_at!: String", completed_at AS "completed_at!: String"
           FROM (SELECT * FROM jobs WHERE tenant_id = ?1 AND status = 'completed' ORDER BY number DESC LIMIT ?3)
           WHERE completed_at >= ?2 AND started_at IS NOT NULL AND acquired_at IS NOT NULL"#,
        tenant,
        oldest,
        most
    )
    .fetch_all(&store.read)
    .await?;
    let tenant_id: TenantId = TENANTS.parse("id", tenant)?;
    for r in rows {
        let time = |column, text: &str| JOBS.time(column, text);
        let (created, started) = (time("created_at", &r.created_at)?, time("started_at", &r.started_at)?);
        let (acquired, ended) =
            (time("acquired_at", &r.acquired_at)?, time("completed_at", &r.completed_at)?);
        all.push(RecentRun {
            kind: Kindred { tenant_id, domain: r.domain, queue: r.queue, job_type: r.job_type },
            owner_user_id: r.owner_user_id,
            queue_latency_seconds: started.seconds_since(created),
            duration_seconds: ended.seconds_since(acquired),
        });
    }
    Ok(())
}

fn pool(name: &'static str, pool: &SqlitePool) -> PoolFigures {
    let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
    PoolFigures {
        name,
        idle,
        in_use: pool.size().saturating_sub(idle),
        most: pool.options().get_max_connections(),
    }
}
