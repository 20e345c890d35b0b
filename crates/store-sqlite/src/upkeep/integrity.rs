//! Rows that contradict themselves. The schema's checks make most of them impossible through the verbs; a
//! restored copy or a hand at the file may still bring them.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    error::Outcome,
};
use leasehold_queue::{
    ReclaimLeases, Scope,
    transition::Rules,
    upkeep::{IntegrityCount, Place},
};

/// Jobs taken back per transaction.
const BATCH: u32 = 500;

pub(super) async fn sweep(
    store: &SqliteStore,
    scope: &Scope,
    place: &Place,
    rules: &Rules,
    fix: bool,
) -> Outcome<IntegrityCount> {
    let mut count = count(store, scope, place).await?;
    if !fix || count == IntegrityCount::default() {
        return Ok(count);
    }
    count.fixed += clear_idle_leases(store, scope, place).await?;
    // As many rounds as the count needs: leases that run out meanwhile are for the next sweep.
    for _ in 0..count.expired_leases.div_ceil(u64::from(BATCH)) {
        count.fixed += store.reclaim_in(scope, place, rules, BATCH).await?.len() as u64;
    }
    Ok(count)
}

async fn count(store: &SqliteStore, scope: &Scope, place: &Place) -> Outcome<IntegrityCount> {
    let (now, only) = (store.clock.now().to_string(), scope.tenant().map(|id| id.to_string()));
    let found = sqlx::query!(
        r#"SELECT COUNT(*) FILTER (WHERE status <> 'processing') AS "idle!: i64",
                  COUNT(*) FILTER (WHERE status = 'processing') AS "expired!: i64"
           FROM jobs
           WHERE ((status <> 'processing'
                   AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL))
                  OR (status = 'processing' AND leased_until <= ?1))
             AND (?2 IS NULL OR tenant_id = ?2) AND (?3 IS NULL OR domain = ?3)
             AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR job_type = ?5)"#,
        now,
        only,
        place.domain,
        place.queue,
        place.job_type
    )
    .fetch_one(&store.read)
    .await?;
    Ok(IntegrityCount {
        leases_on_idle_rows: found.idle.unsigned_abs(),
        expired_leases: found.expired.unsigned_abs(),
        fixed: 0,
    })
}

/// With it goes the note of who had the place mended.
async fn clear_idle_leases(store: &SqliteStore, scope: &Scope, place: &Place) -> Outcome<u64> {
    let at = store.clock.now();
    let (now, only) = (at.to_string(), scope.tenant().map(|id| id.to_string()));
    let mut tx = store.begin().await?;
    let cleared = sqlx::query!(
        "UPDATE jobs
         SET lease_id = NULL, worker_id = NULL, leased_until = NULL, running_pid = NULL, updated_at = ?1
         WHERE status <> 'processing'
           AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL)
           AND (?2 IS NULL OR tenant_id = ?2) AND (?3 IS NULL OR domain = ?3)
           AND (?4 IS NULL OR queue = ?4) AND (?5 IS NULL OR job_type = ?5)",
        now,
        only,
        place.domain,
        place.queue,
        place.job_type
    )
    .execute(&mut *tx)
    .await?;
    audit(&mut tx, scope, &[Deed::new(scope.tenant(), "integrity.fix", "queue", place.name())], at).await?;
    tx.commit().await?;
    Ok(cleared.rows_affected())
}
