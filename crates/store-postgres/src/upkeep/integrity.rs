//! Rows that contradict themselves. The schema's checks make most of them impossible through the verbs; a
//! restored copy or a hand at the tables may still bring them.

use crate::{PostgresStore, error::database};
use leasehold_queue::{StoreResult, transition::Rules, upkeep::IntegrityCount};

/// Jobs taken back per transaction.
const BATCH: u32 = 500;

pub(super) async fn sweep(store: &PostgresStore, rules: &Rules, fix: bool) -> StoreResult<IntegrityCount> {
    let mut count = count(store).await?;
    if !fix {
        return Ok(count);
    }
    if count.leases_on_idle_rows > 0 {
        count.fixed += clear_idle_leases(store).await?;
    }
    // As many rounds as the count needs: leases that run out meanwhile are for the next sweep.
    for _ in 0..count.expired_leases.div_ceil(u64::from(BATCH)) {
        count.fixed += store.take_back(rules, BATCH).await?.len() as u64;
    }
    Ok(count)
}

async fn count(store: &PostgresStore) -> StoreResult<IntegrityCount> {
    let found = sqlx::query!(
        r#"SELECT (SELECT count(*) FROM jobs
                   WHERE status <> 'processing'
                     AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL)) AS "idle!",
                  (SELECT count(*) FROM jobs
                   WHERE status = 'processing' AND leased_until <= $1) AS "expired!""#,
        store.now()
    )
    .fetch_one(&store.work)
    .await
    .map_err(database)?;
    Ok(IntegrityCount {
        leases_on_idle_rows: found.idle.unsigned_abs(),
        expired_leases: found.expired.unsigned_abs(),
        fixed: 0,
    })
}

async fn clear_idle_leases(store: &PostgresStore) -> StoreResult<u64> {
    sqlx::query!(
        "UPDATE jobs
         SET lease_id = NULL, worker_id = NULL, leased_until = NULL, running_pid = NULL, updated_at = $1
         WHERE status <> 'processing'
           AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL)",
        store.now()
    )
    .execute(&store.work)
    .await
    .map(|cleared| cleared.rows_affected())
    .map_err(database)
}
