//! The rows of attempts at passwords. See `leasehold_queue::throttle`.

use crate::{
    SqliteStore,
    convert::{Table, limit},
    error::{Outcome, outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::throttle::{AttemptQueries, AttemptRows},
    throttle::{Counted, Counter, Known},
};

const ATTEMPTS: Table = Table("sign_in_attempts");

#[async_trait]
impl AttemptRows for SqliteTx {
    async fn lock_attempts(&mut self, counters: &[Counter]) -> Outcome<Known> {
        let mut known = Known::new();
        for Counter { key, .. } in counters {
            let found = sqlx::query!(
                "SELECT failures, counted_at, blocked_until FROM sign_in_attempts WHERE key = ?1",
                key
            )
            .fetch_optional(&mut *self.tx)
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

    async fn put_attempts(&mut self, counter: &Counter, counted: &Counted) -> Outcome<()> {
        let (counted_at, blocked_until) = (counted.counted_at.to_string(), counted.blocked_until.to_string());
        let expires_at = counted.expires_at(&counter.brake).to_string();
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
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_attempts(&mut self, counter: &Counter) -> Outcome<()> {
        sqlx::query!("DELETE FROM sign_in_attempts WHERE key = ?1", counter.key)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }
}

#[async_trait]
impl AttemptQueries for SqliteStore {
    async fn prune_attempts(&self, most: u32) -> StoreResult<u64> {
        outcome(async {
            let (now, most) = (self.clock.now().to_string(), limit(most));
            let gone = sqlx::query!(
                "DELETE FROM sign_in_attempts WHERE expires_at <= ?1
                   OR key IN (SELECT key FROM sign_in_attempts ORDER BY expires_at DESC, key LIMIT -1 OFFSET ?2)",
                now,
                most
            )
            .execute(&self.write)
            .await?;
            Ok(gone.rows_affected())
        })
        .await
    }
}
