//! The rows of attempts at passwords. See `leasehold_queue::throttle`.

use crate::{
    PostgresStore,
    convert::{moment, stamp},
    error::{Outcome, outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::throttle::{AttemptQueries, AttemptRows},
    throttle::{Counted, Counter, Known},
};

#[async_trait]
impl AttemptRows for PostgresTx {
    /// One that is not there yet is locked by its key, in one order for everybody.
    async fn lock_attempts(&mut self, counters: &[Counter]) -> Outcome<Known> {
        let keys: Vec<String> = counters.iter().map(|counter| counter.key.clone()).collect();
        sqlx::query!(
            "SELECT pg_advisory_xact_lock(lock)
             FROM (SELECT DISTINCT hashtextextended(key, 0) AS lock FROM UNNEST($1::text[]) AS key ORDER BY 1) locks",
            &keys
        )
        .fetch_all(&mut *self.tx)
        .await?;
        let rows = sqlx::query!(
            "SELECT key, failures, counted_at, blocked_until FROM sign_in_attempts WHERE key = ANY($1)",
            &keys
        )
        .fetch_all(&mut *self.tx)
        .await?;
        let known = rows.into_iter().map(|r| {
            let counted = Counted {
                failures: r.failures,
                counted_at: stamp(r.counted_at),
                blocked_until: stamp(r.blocked_until),
            };
            (r.key, counted)
        });
        Ok(known.collect())
    }

    async fn put_attempts(&mut self, counter: &Counter, counted: &Counted) -> Outcome<()> {
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
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_attempts(&mut self, counter: &Counter) -> Outcome<()> {
        sqlx::query!("DELETE FROM sign_in_attempts WHERE key = $1", counter.key)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }
}

#[async_trait]
impl AttemptQueries for PostgresStore {
    async fn prune_attempts(&self, most: u32) -> StoreResult<u64> {
        outcome(async {
            let gone = sqlx::query!(
                "DELETE FROM sign_in_attempts WHERE expires_at <= $1
                   OR key IN (SELECT key FROM sign_in_attempts ORDER BY expires_at DESC, key OFFSET $2)",
                self.now(),
                i64::from(most)
            )
            .execute(&self.work)
            .await?;
            Ok(gone.rows_affected())
        })
        .await
    }
}
