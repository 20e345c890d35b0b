//! What Postgres does without us: a bare table, a primary key and one partial index.

use crate::{
    BenchResult, Sizes,
    latency::{REST, percentile},
    report::Limit,
};
use sqlx::PgPool;
use std::time::{Duration, Instant};

const TABLE: &str = "CREATE TABLE limit_jobs (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    status TEXT NOT NULL, priority INTEGER NOT NULL, payload JSONB NOT NULL,
    run_at TIMESTAMPTZ NOT NULL, worker TEXT, finished_at TIMESTAMPTZ);
    CREATE INDEX limit_ready ON limit_jobs (priority, run_at, id) WHERE status = 'queued'";
const INSERT: &str =
    "INSERT INTO limit_jobs (status, priority, payload, run_at) VALUES ('queued', 100, '{\"n\": 1}', now())";
const INSERT_BULK: &str = "INSERT INTO limit_jobs (status, priority, payload, run_at)
    SELECT 'queued', 100, '{\"n\": 1}', now() FROM generate_series(1, 1000)";
const CLAIM_ONE: &str = "UPDATE limit_jobs SET status = 'processing', worker = 'w' WHERE id = (SELECT id FROM limit_jobs
    WHERE status = 'queued' AND run_at <= now() ORDER BY priority, run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, payload";
const CLAIM_HUNDRED: &str = "UPDATE limit_jobs SET status = 'processing', worker = 'w' WHERE id IN (SELECT id FROM limit_jobs
    WHERE status = 'queued' AND run_at <= now() ORDER BY priority, run_at, id LIMIT 100 FOR UPDATE SKIP LOCKED) RETURNING id, payload";
const FINISH: &str = "UPDATE limit_jobs SET status = 'completed', finished_at = now() WHERE id = ANY($1) AND status = 'processing'";

pub async fn measure(pool: &PgPool, sizes: &Sizes) -> BenchResult<Limit> {
    sqlx::raw_sql(TABLE).execute(pool).await?;
    let (insert_one, commit_hot_ms) = inserts(pool, sizes.one_by_one, Duration::ZERO).await?;
    let (_, commit_ms) = inserts(pool, sizes.pickups, REST).await?;
    let started = Instant::now();
    for _ in 0..sizes.bulk / 1_000 {
        sqlx::query(INSERT_BULK).execute(pool).await?;
    }
    let insert_bulk = sizes.bulk as f64 / started.elapsed().as_secs_f64();
    sqlx::raw_sql("TRUNCATE limit_jobs").execute(pool).await?;
    let drain_one = drain(pool, sizes.one_by_one * 4, 8, CLAIM_ONE).await?;
    let mut drain_batched: f64 = 0.0;
    for _ in 0..sizes.rounds {
        sqlx::raw_sql("TRUNCATE limit_jobs").execute(pool).await?;
        drain_batched = drain_batched.max(drain(pool, sizes.drain, 2, CLAIM_HUNDRED).await?);
    }
    sqlx::raw_sql("DROP TABLE limit_jobs").execute(pool).await?;
    Ok(Limit { commit_ms, commit_hot_ms, insert_one, insert_bulk, drain_one, drain_batched })
}

/// Single-row commits with a rest after each: how many a second, and the median in milliseconds.
async fn inserts(pool: &PgPool, n: usize, rest: Duration) -> BenchResult<(f64, f64)> {
    let mut connection = pool.acquire().await?;
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

/// Fills the table, then lets that many clients claim and finish until it is empty.
async fn drain(pool: &PgPool, jobs: usize, clients: usize, claim: &'static str) -> BenchResult<f64> {
    for _ in 0..jobs.div_ceil(1_000) {
        sqlx::query(INSERT_BULK).execute(pool).await?;
    }
    sqlx::raw_sql("VACUUM (ANALYZE) limit_jobs").execute(pool).await?;
    sqlx::raw_sql("CHECKPOINT").execute(pool).await?;
    let started = Instant::now();
    let clients: Vec<_> = (0..clients).map(|_| tokio::spawn(client(pool.clone(), claim))).collect();
    let mut done = 0;
    for client in clients {
        done += client.await??;
    }
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

async fn client(pool: PgPool, claim: &'static str) -> Result<usize, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    let mut done = 0;
    loop {
        let rows: Vec<(i64, sqlx::types::JsonValue)> =
            sqlx::query_as(claim).fetch_all(&mut *connection).await?;
        if rows.is_empty() {
            return Ok(done);
        }
        let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
        sqlx::query(FINISH).bind(&ids).execute(&mut *connection).await?;
        done += ids.len();
    }
}
