//! Attempts at passwords. See `leasehold_queue::throttle`.

use crate::{
    PostgresStore,
    convert::{moment, stamp},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult, Throttle,
    throttle::{self, Counted, Counter, Known},
};
use sqlx::PgConnection;
use std::time::Duration;

#[async_trait]
impl Throttle for PostgresStore {
    async fn begin_attempt(&self, counters: &[Counter]) -> StoreResult<Result<(), Duration>> {
        let mut tx = self.work.begin().await.map_err(database)?;
        let known = known(&mut tx, counters).await?;
        let rows = match throttle::begin(counters, &known, self.clock.now()) {
            Ok(rows) => rows,
            Err(wait) => return Ok(Err(wait)),
        };
        for (counter, counted) in &rows {
            put(&mut tx, counter, counted).await?;
        }
        tx.commit().await.map_err(database)?;
        Ok(Ok(()))
    }

    async fn forgive_attempt(&self, counters: &[Counter]) -> StoreResult<()> {
        let mut tx = self.work.begin().await.map_err(database)?;
        let known = known(&mut tx, counters).await?;
        for (counter, counted) in throttle::forgive(counters, &known, self.clock.now()) {
            match counted {
                Some(counted) => put(&mut tx, &counter, &counted).await?,
                None => remove(&mut tx, &counter).await?,
            }
        }
        tx.commit().await.map_err(database)
    }

    async fn clear_attempts(&self, counters: &[Counter]) -> StoreResult<()> {
        let mut tx = self.work.begin().await.map_err(database)?;
        for counter in counters {
            remove(&mut tx, counter).await?;
        }
        tx.commit().await.map_err(database)
    }

    async fn prune_attempts(&self, most: u32) -> StoreResult<u64> {
        sqlx::query!(
            "DELETE FROM sign_in_attempts WHERE expires_at <= $1
               OR key IN (SELECT key FROM sign_in_attempts ORDER BY expires_at DESC, key OFFSET $2)",
            self.now(),
            i64::from(most)
        )
        .execute(&self.work)
        .await
        .map(|gone| gone.rows_affected())
        .map_err(database)
    }
}

/// The rows of these counters, which nobody else counts on until the transaction ends. One that is not there yet is
/// locked by its key, in one order for everybody.
async fn known(connection: &mut PgConnection, counters: &[Counter]) -> StoreResult<Known> {
    let keys: Vec<String> = counters.iter().map(|counter| counter.key.clone()).collect();
    sqlx::query!(
        "SELECT pg_advisory_xact_lock(lock)
         FROM (SELECT DISTINCT hashtextextended(key, 0) AS lock FROM UNNEST($1::text[]) AS key ORDER BY 1) locks",
        &keys
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(database)?;
    let rows = sqlx::query!(
        "SELECT key, failures, counted_at, blocked_until FROM sign_in_attempts WHERE key = ANY($1)",
        &keys
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    let counted = rows.into_iter().map(|r| {
        let counted = Counted {
            failures: r.failures,
            counted_at: stamp(r.counted_at),
            blocked_until: stamp(r.blocked_until),
        };
        (r.key, counted)
    });
    Ok(counted.collect())
}

async fn put(connection: &mut PgConnection, counter: &Counter, counted: &Counted) -> StoreResult<()> {
    sqlx::query!(
        "INSERT INTO sign_in_attempts (key, failures, counted_at, blocked_until, expires_at)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (key) DO UPDATE
         SET failures = excluded.failures, counted_at = excluded.counted_at,
             blocked_until = excluded.blocked_until, expires_at = excluded.expires_at",
        counter.key,
        counted.failures,
        moment(counted.counted_at),
        moment(counted.blocked_until),
        moment(counted.expires_at(&counter.brake))
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}

async fn remove(connection: &mut PgConnection, counter: &Counter) -> StoreResult<()> {
    sqlx::query!("DELETE FROM sign_in_attempts WHERE key = $1", counter.key)
        .execute(connection)
        .await
        .map(drop)
        .map_err(database)
}
