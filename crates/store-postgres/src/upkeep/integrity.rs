//! Rows that contradict themselves. The schema's checks make most of them impossible through the verbs; a
//! restored copy or a hand at the tables may still bring them.

use crate::{
    PostgresStore,
    audit::{self, Act},
    error::database,
};
use leasehold_queue::{
    ReclaimLeases, Scope, StoreResult,
    transition::Rules,
    upkeep::{IntegrityCount, Place},
};

/// Jobs taken back per transaction.
const BATCH: u32 = 500;

pub(super) async fn sweep(
    store: &PostgresStore,
    scope: &Scope,
    place: &Place,
    rules: &Rules,
    fix: bool,
) -> StoreResult<IntegrityCount> {
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

async fn count(store: &PostgresStore, scope: &Scope, place: &Place) -> StoreResult<IntegrityCount> {
    let found = sqlx::query!(
        r#"SELECT count(*) FILTER (WHERE status <> 'processing') AS "idle!",
                  count(*) FILTER (WHERE status = 'processing') AS "expired!"
           FROM jobs
           WHERE ((status <> 'processing'
                   AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL))
                  OR (status = 'processing' AND leased_until <= $1))
             AND ($2::uuid IS NULL OR tenant_id = $2) AND ($3::text IS NULL OR domain = $3)
             AND ($4::text IS NULL OR queue = $4) AND ($5::text IS NULL OR job_type = $5)"#,
        store.now(),
        scope.tenant().map(|t| t.0),
        place.domain,
        place.queue,
        place.job_type
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

/// With it goes the note of who had the place mended.
async fn clear_idle_leases(store: &PostgresStore, scope: &Scope, place: &Place) -> StoreResult<u64> {
    let mut tx = store.work.begin().await.map_err(database)?;
    let cleared = sqlx::query!(
        "UPDATE jobs
         SET lease_id = NULL, worker_id = NULL, leased_until = NULL, running_pid = NULL, updated_at = $1
         WHERE status <> 'processing'
           AND (lease_id IS NOT NULL OR worker_id IS NOT NULL OR leased_until IS NOT NULL)
           AND ($2::uuid IS NULL OR tenant_id = $2) AND ($3::text IS NULL OR domain = $3)
           AND ($4::text IS NULL OR queue = $4) AND ($5::text IS NULL OR job_type = $5)",
        store.now(),
        scope.tenant().map(|t| t.0),
        place.domain,
        place.queue,
        place.job_type
    )
    .execute(&mut *tx)
    .await
    .map_err(database)?;
    let act = Act {
        tenant: scope.tenant().map(|t| t.0),
        action: "integrity.fix",
        object_type: "queue",
        object_id: &place.name(),
        reason: None,
    };
    audit::record(&mut tx, scope, store.now(), act).await?;
    tx.commit().await.map_err(database)?;
    Ok(cleared.rows_affected())
}
