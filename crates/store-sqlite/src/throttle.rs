//! Attempts at passwords. See `leasehold_queue::throttle`.

use crate::{SqliteStore, convert::Table, error::Outcome};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult, Throttle,
    throttle::{self, Counted, Counter, Known},
};
use sqlx::SqliteConnection;
use std::time::Duration;

const ATTEMPTS: Table = Table("sign_in_attempts");

#[async_trait]
impl Throttle for SqliteStore {
    async fn begin_attempt(&self, counters: &[Counter]) -> StoreResult<Result<(), Duration>> {
        Ok(begin_attempt(self, counters).await?)
    }
    async fn forgive_attempt(&self, counters: &[Counter]) -> StoreResult<()> {
        Ok(forgive_attempt(self, counters).await?)
    }
    async fn clear_attempts(&self, counters: &[Counter]) -> StoreResult<()> {
        Ok(clear_attempts(self, counters).await?)
    }
    async fn prune_attempts(&self, most: u32) -> StoreResult<u64> {
        Ok(prune_attempts(self, most).await?)
    }
}

async fn begin_attempt(store: &SqliteStore, counters: &[Counter]) -> Outcome<Result<(), Duration>> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let known = known(&mut tx, counters).await?;
    let rows = match throttle::begin(counters, &known, now) {
        Ok(rows) => rows,
        Err(wait) => return Ok(Err(wait)),
    };
    for (counter, counted) in &rows {
        put(&mut tx, counter, counted).await?;
    }
    tx.commit().await?;
    Ok(Ok(()))
}

async fn forgive_attempt(store: &SqliteStore, counters: &[Counter]) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let known = known(&mut tx, counters).await?;
    for (counter, counted) in throttle::forgive(counters, &known, store.clock.now()) {
        match counted {
            Some(counted) => put(&mut tx, &counter, &counted).await?,
            None => remove(&mut tx, &counter).await?,
        }
    }
    Ok(tx.commit().await?)
}

async fn clear_attempts(store: &SqliteStore, counters: &[Counter]) -> Outcome<()> {
    let mut tx = store.begin().await?;
    for counter in counters {
        remove(&mut tx, counter).await?;
    }
    Ok(tx.commit().await?)
}

async fn prune_attempts(store: &SqliteStore, most: u32) -> Outcome<u64> {
    let now = store.clock.now().to_string();
    let most = i64::from(most);
    let mut tx = store.begin().await?;
    let gone = sqlx::query!(
        "DELETE FROM sign_in_attempts WHERE expires_at <= ?1
           OR key IN (SELECT key FROM sign_in_attempts ORDER BY expires_at DESC, key LIMIT -1 OFFSET ?2)",
        now,
        most
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(gone.rows_affected())
}

async fn known(connection: &mut SqliteConnection, counters: &[Counter]) -> Outcome<Known> {
    let mut known = Known::new();
    for Counter { key, .. } in counters {
        let found = sqlx::query!(
            "SELECT failures, counted_at, blocked_until FROM sign_in_attempts WHERE key = ?1",
            key
        )
        .fetch_optional(&mut *connection)
        .await?;
        if let Some(row) = found {
            let counted = Counted {
                failures: row.failures,
                counted_at: ATTEMPTS.time("counted_at", &row.counted_at)?,
                blocked_until: ATTEMPTS.time("blocked_until", &row.blocked_until)?,
            };
            known.insert(key.clone(), counted);
        }
    }
    Ok(known)
}

async fn put(connection: &mut SqliteConnection, counter: &Counter, counted: &Counted) -> Outcome<()> {
    let expires_at = counted.expires_at(&counter.brake).to_string();
    let (counted_at, blocked_until) = (counted.counted_at.to_string(), counted.blocked_until.to_string());
    sqlx::query!(
        "INSERT INTO sign_in_attempts (key, failures, counted_at, blocked_until, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (key) DO UPDATE
         SET failures = excluded.failures, counted_at = excluded.counted_at,
             blocked_until = excluded.blocked_until, expires_at = excluded.expires_at",
        counter.key,
        counted.failures,
        counted_at,
        blocked_until,
        expires_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn remove(connection: &mut SqliteConnection, counter: &Counter) -> Outcome<()> {
    sqlx::query!("DELETE FROM sign_in_attempts WHERE key = ?1", counter.key).execute(connection).await?;
    Ok(())
}
