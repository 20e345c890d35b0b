//! Rows that contradict themselves. The schema's checks make most of them impossible through the verbs; a
//! restored copy or a hand at the file may still bring them.

use crate::{SqliteStore, error::Outcome, reclaim};
use leasehold_queue::{transition::Rules, upkeep::IntegrityCount};

/// Jobs taken back per transaction.
const BATCH: u32 = 500;

pub(super) async fn sweep(store: &SqliteStore, rules: &Rules, fix: bool) -> Outcome<IntegrityCount> {
    let mut count = count(store).await?;
    if !fix {
        return Ok(count);
    }
    if count.leases_on_idle_rows > 0 {
        count.fixed += clear_idle_leases(store).await?;
    }
    // As many rounds as the count needs: leases that run out meanwhile are for the next sweep.
    for _ in 0..count.expired_leases.div_ceil(u64::from(BATCH)) {
        count.fixed += reclaim::reclaim_expired(store, rules, BATCH).await?.len() as u64;
    }
    Ok(count)
}

async fn count(store: &SqliteStore) -> Outcome<IntegrityCount> {
    let now = store.clock.now().to_string();
    let idle = sqlx::query_scalar!(
        r#"SELECT COUNT(*) AS "jobs!: i64" FROM jobs
           WHERE status <> 'processing'
             AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL)"#
    )
    .fetch_one(&store.read)
    .await?;
    let expired = sqlx::query_scalar!(
        r#"SELECT COUNT(*) AS "jobs!: i64" FROM jobs WHERE status = 'processing' AND leased_until <= ?1"#,
        now
    )
    .fetch_one(&store.read)
    .await?;
    Ok(IntegrityCount {
        leases_on_idle_rows: idle.unsigned_abs(),
        expired_leases: expired.unsigned_abs(),
        fixed: 0,
    })
}

async fn clear_idle_leases(store: &SqliteStore) -> Outcome<u64> {
    let now = store.clock.now().to_string();
    let mut tx = store.begin().await?;
    let cleared = sqlx::query!(
        "UPDATE jobs
         SET lease_id = NULL, worker_id = NULL, leased_until = NULL, running_pid = NULL, updated_at = ?1
         WHERE status <> 'processing'
           AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL)",
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(cleared.rows_affected())
}
