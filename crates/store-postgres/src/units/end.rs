//! How units end: with a result, for another try, or because their job stopped.

use super::{hold, insert::insert, save_state};
use crate::{
    PostgresStore,
    convert::{json, moment, text},
    error::database,
};
use leasehold_queue::{
    StoreResult,
    params::Lease,
    units::{UnitAnswer, UnitError, UnitFinish, UnitOutcome},
};
use sqlx::PgConnection;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

pub(super) async fn finish(store: &PostgresStore, finish: UnitFinish) -> StoreResult<UnitAnswer> {
    let UnitFinish { lease, unit, outcome, follow_ups, state } = finish;
    let mut tx = store.work.begin().await.map_err(database)?;
    let Some(tenant) = hold(&mut tx, &lease).await? else { return Ok(UnitAnswer::Lost) };
    let now = store.now();
    if !close(&mut tx, &lease, unit, &outcome, now).await? {
        return Ok(UnitAnswer::AlreadyDone);
    }
    insert(&mut tx, lease.number, tenant, &follow_ups, now).await?;
    save_state(&mut tx, lease.number, &state, now).await?;
    tx.commit().await.map_err(database)?;
    Ok(UnitAnswer::Applied)
}

/// False when it is not running under this lease: somebody has finished it before.
async fn close(
    connection: &mut PgConnection,
    lease: &Lease,
    unit: Uuid,
    outcome: &UnitOutcome,
    now: OffsetDateTime,
) -> StoreResult<bool> {
    let (state, result, error) = match outcome {
        Ok(result) => ("succeeded", Some(json(result)), None),
        Err(error) => ("failed", None, Some(error)),
    };
    let closed = sqlx::query!(
        "UPDATE work_units
         SET state = $4, result = $5, error_code = $6, error_message = $7, lease_id = NULL, finished_at = $8
         WHERE id = $1 AND job_number = $2 AND state = 'running' AND lease_id = $3",
        unit,
        lease.number,
        lease.lease_id.0,
        state,
        result,
        error.map(|e| text(&e.code).into_owned()),
        error.map(|e| text(&e.message).into_owned()),
        now
    )
    .execute(connection)
    .await
    .map_err(database)?;
    Ok(closed.rows_affected() == 1)
}

pub(super) async fn retry(
    store: &PostgresStore,
    lease: &Lease,
    unit: Uuid,
    error: &UnitError,
    wait: Duration,
) -> StoreResult<bool> {
    let mut tx = store.work.begin().await.map_err(database)?;
    if hold(&mut tx, lease).await?.is_none() {
        return Ok(false);
    }
    let put_back = sqlx::query!(
        "UPDATE work_units
         SET state = 'queued', lease_id = NULL, provider = NULL, available_at = $4, error_code = $5, error_message = $6
         WHERE id = $1 AND job_number = $2 AND state = 'running' AND lease_id = $3",
        unit,
        lease.number,
        lease.lease_id.0,
        moment(store.clock.now().plus(wait)),
        text(&error.code).into_owned(),
        text(&error.message).into_owned()
    )
    .execute(&mut *tx)
    .await
    .map_err(database)?;
    tx.commit().await.map_err(database)?;
    Ok(put_back.rows_affected() == 1)
}

/// Rows somebody is at work on are left for the next time.
pub(super) async fn sweep(store: &PostgresStore, limit: u32) -> StoreResult<u64> {
    let dropped = sqlx::query!(
        "UPDATE work_units SET state = 'dropped', lease_id = NULL, finished_at = $1
         WHERE id = ANY (ARRAY(
           SELECT u.id FROM work_units u JOIN jobs j ON j.number = u.job_number
           WHERE u.state IN ('queued', 'running')
             AND j.status IN ('completed', 'failed', 'cancelled', 'dead_letter')
           LIMIT $2 FOR UPDATE OF u SKIP LOCKED))",
        store.now(),
        i64::from(limit)
    )
    .execute(&store.work)
    .await
    .map_err(database)?;
    let requeued = sqlx::query!(
        "UPDATE work_units SET state = 'queued', lease_id = NULL, attempts = GREATEST(attempts - 1, 0)
         WHERE id = ANY (ARRAY(
           SELECT u.id FROM work_units u JOIN jobs j ON j.number = u.job_number
           WHERE u.state = 'running' AND j.lease_id IS DISTINCT FROM u.lease_id
           LIMIT $1 FOR UPDATE OF u SKIP LOCKED))",
        i64::from(limit)
    )
    .execute(&store.work)
    .await
    .map_err(database)?;
    Ok(dropped.rows_affected() + requeued.rows_affected())
}
