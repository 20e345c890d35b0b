//! What SQLite does without us: the same bare table, WAL, synchronous=FULL, one writer.

use crate::{
    BenchResult, Sizes,
    latency::{REST, percentile},
    report::Limit,
};
use sqlx::{SqliteConnection, SqlitePool};
use std::time::{Duration, Instant};

const TABLE: &str = "CREATE TABLE limit_jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    status TEXT NOT NULL, priority INTEGER NOT NULL, payload TEXT NOT NULL,
    run_at TEXT NOT NULL, worker TEXT, finished_at TEXT);
    CREATE INDEX limit_ready ON limit_jobs (priority, run_at, id) WHERE status = 'queued'";
const INSERT: &str = "INSERT INTO limit_jobs (status, priority, payload, run_at) VALUES ('queued', 100, '{\"n\": 1}', '2026-01-01')";
const INSERT_BULK: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    INSERT INTO limit_jobs (status, priority, payload, run_at) SELECT 'queued', 100, '{\"n\": 1}', '2026-01-01' FROM n";
const CLAIM: &str = "UPDATE limit_jobs SET status = 'processing', worker = 'w' WHERE id IN (SELECT id FROM limit_jobs
    WHERE status = 'queued' AND run_at <= '2027' ORDER BY priority, run_at, id LIMIT ?) RETURNING id, payload";
const FINISH: &str = "UPDATE limit_jobs SET status = 'completed', finished_at = '2026-01-02'
    WHERE id IN (SELECT value FROM json_each(?)) AND status = 'processing'";

pub async fn measure(pool: &SqlitePool, sizes: &Sizes) -> BenchResult<Limit> {
    let mut connection = pool.acquire().await?;
    sqlx::raw_sql(TABLE).execute(&mut *connection).await?;
    let (insert_one, commit_hot_ms) = inserts(&mut connection, sizes.one_by_one, Duration::ZERO).await?;
    let (_, commit_ms) = inserts(&mut connection, sizes.pickups, REST).await?;
    let started = Instant::now();
    for _ in 0..sizes.bulk / 1_000 {
        sqlx::query(INSERT_BULK).execute(&mut *connection).await?;
    }
    let insert_bulk = sizes.bulk as f64 / started.elapsed().as_secs_f64();
    let drain_one = drain(&mut connection, sizes.one_by_one, 1).await?;
    let mut drain_batched: f64 = 0.0;
    for _ in 0..sizes.rounds {
        drain_batched = drain_batched.max(drain(&mut connection, sizes.drain, 100).await?);
    }
    sqlx::raw_sql("DROP TABLE limit_jobs").execute(&mut *connection).await?;
    Ok(Limit { commit_ms, commit_hot_ms, insert_one, insert_bulk, drain_one, drain_batched })
}

/// Single-row commits with a rest after each: how many a second, and the median in milliseconds.
async fn inserts(connection: &mut SqliteConnection, n: usize, rest: Duration) -> BenchResult<(f64, f64)> {
    let mut times = Vec::with_capacity(n);
    let started = Instant::now();
    for _ in 0..n {
        let one = Instant::now();
        sqlx::query(INSERT).execute(&mut *connection).await?;
        times.push(one.elapsed().as_secs_f64() * 1e3);
        if !rest.is_zero() {
            tokio::time::sleep(rest).await;
        }
    }
    let rate = n as f64 / started.elapsed().as_secs_f64();
    Ok((rate, percentile(&mut times, 0.5)))
}

async fn drain(connection: &mut SqliteConnection, jobs: usize, batch: i64) -> BenchResult<f64> {
    sqlx::raw_sql("DELETE FROM limit_jobs").execute(&mut *connection).await?;
    for _ in 0..jobs.div_ceil(1_000) {
        sqlx::query(INSERT_BULK).execute(&mut *connection).await?;
    }
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *connection).await?;
    let started = Instant::now();
    let mut done = 0;
    loop {
        let rows: Vec<(i64, String)> = sqlx::query_as(CLAIM).bind(batch).fetch_all(&mut *connection).await?;
        if rows.is_empty() {
            return Ok(done as f64 / started.elapsed().as_secs_f64());
        }
        let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
        sqlx::query(FINISH).bind(serde_json::to_string(&ids)?).execute(&mut *connection).await?;
        done += ids.len();
    }
}
