//! The overview and the first page of jobs, with ten thousand and with a million jobs behind them.

use crate::{BenchResult, Sizes, Subject, latency::percentile, subject::Database};
use leasehold_queue::{Actor, Permission, Reach, Scope};
use leasehold_types::{JobFilter, JobStatus, PageRequest};
use std::time::Instant;

/// Milliseconds, medians.
#[derive(Clone, Debug)]
pub struct Pages {
    pub overview_small: f64,
    pub overview_large: f64,
    pub list_small: f64,
    pub list_large: f64,
}

impl Pages {
    /// The worse of the two.
    pub fn growth(&self) -> f64 {
        (self.overview_large / self.overview_small).max(self.list_large / self.list_small)
    }
}

pub async fn measure(subject: &Subject, sizes: &Sizes) -> BenchResult<Pages> {
    let mut have = 0;
    let mut read = async |target: i64| -> BenchResult<(f64, f64)> {
        fill(subject, have, target - have).await?;
        have = target;
        subject.store.recount().await?;
        subject.settle().await?;
        pages(subject, sizes.page_reads).await
    };
    let (overview_small, list_small) = read(sizes.pages_small).await?;
    let (overview_large, list_large) = read(sizes.pages_large).await?;
    Ok(Pages { overview_small, overview_large, list_small, list_large })
}

async fn pages(subject: &Subject, reads: usize) -> BenchResult<(f64, f64)> {
    let scope = Scope::new(Reach::Tenant(subject.calm), Actor::System("bench"), Permission::View);
    let failed = JobFilter { statuses: vec![JobStatus::Failed], ..JobFilter::default() };
    let (mut overviews, mut lists) = (Vec::new(), Vec::new());
    for round in 0..reads + 5 {
        let started = Instant::now();
        subject.store.overview(&scope, subject.calm).await?;
        let overview = started.elapsed().as_secs_f64() * 1e3;
        let started = Instant::now();
        subject.store.list(&scope, &JobFilter::default(), PageRequest::default()).await?;
        subject.store.list(&scope, &failed, PageRequest::default()).await?;
        let list = started.elapsed().as_secs_f64() * 1e3;
        // The first few warm the caches.
        if round >= 5 {
            overviews.push(overview);
            lists.push(list);
        }
    }
    Ok((percentile(&mut overviews, 0.5), percentile(&mut lists, 0.5)))
}

/// History, written by the database itself, with ids in order as ours are: mostly completed, some failed, some waiting for a day that is far off.
async fn fill(subject: &Subject, first: i64, jobs: i64) -> BenchResult<()> {
    let tenant = subject.calm;
    let columns = "(id, tenant_id, domain, queue, job_type, source, status, priority, payload, metadata, trace_id,
        requested_by, max_attempts, attempt_count, created_at, queued_at, updated_at, available_at, completed_at)";
    let status = "CASE WHEN n % 50 = 0 THEN 'failed' WHEN n % 50 = 1 THEN 'queued' ELSE 'completed' END";
    match &subject.database {
        Database::Postgres { pool, .. } => {
            let sql = format!(
                "INSERT INTO jobs {columns}
                 SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n + {first}), 12, '0'))::uuid, '{tenant}', 'bench', 'default', 'type' || n % 8, 'api', {status}, 100, '{{}}', '{{}}', '',
                    'bench', 3, 1, now(), now(), now(), CASE WHEN n % 50 = 1 THEN now() + interval '9 days' END,
                    CASE WHEN n % 50 <> 1 THEN now() END
                 FROM generate_series(1, {jobs}) n"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(pool).await?;
        }
        Database::Sqlite { pool, .. } => {
            let now = "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')";
            let sql = format!(
                "WITH RECURSIVE seq (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM seq WHERE n < {jobs})
                 INSERT INTO jobs {columns}
                 SELECT printf('00000000-0000-7000-8000-%012x', n + {first}), '{tenant}', 'bench', 'default', 'type' || (n % 8), 'api', {status}, 100, '{{}}', '{{}}', '',
                    'bench', 3, 1, {now}, {now}, {now}, CASE WHEN n % 50 = 1 THEN '2099-01-01T00:00:00.000000Z' END,
                    CASE WHEN n % 50 <> 1 THEN {now} END FROM seq"
            );
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(pool).await?;
        }
    }
    Ok(())
}
