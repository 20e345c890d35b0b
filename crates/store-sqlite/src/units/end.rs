//! How units end: with a result, for another try, or because their job stopped.

use super::{held, insert::insert, save_state};
use crate::{
    SqliteStore,
    convert::{limit, text},
    error::Outcome,
};
use leasehold_queue::{
    params::Lease,
    units::{UnitAnswer, UnitError, UnitFinish, UnitOutcome},
};
use sqlx::SqliteConnection;
use std::time::Duration;
use uuid::Uuid;

pub(super) async fn finish(store: &SqliteStore, finish: UnitFinish) -> Outcome<UnitAnswer> {
    let UnitFinish { lease, unit, outcome, follow_ups, state } = finish;
    let mut tx = store.begin().await?;
    let now = store.clock.now().to_string();
    let Some(tenant) = held(&mut tx, &lease).await? else { return Ok(UnitAnswer::Lost) };
    if !close(&mut tx, &lease, unit, &outcome, &now).await? {
        return Ok(UnitAnswer::AlreadyDone);
    }
    insert(&mut tx, lease.number, &tenant, &follow_ups, &now).await?;
    save_state(&mut tx, lease.number, &state, &now).await?;
    tx.commit().await?;
    Ok(UnitAnswer::Applied)
}

/// False when it is not running under this lease: somebody has finished it before.
async fn close(
    connection: &mut SqliteConnection,
    lease: &Lease,
    unit: Uuid,
    outcome: &UnitOutcome,
    now: &str,
) -> Outcome<bool> {
    let (id, lease_id) = (unit.to_string(), lease.lease_id.to_string());
    let (state, result, error) = match outcome {
        Ok(result) => ("succeeded", Some(result.to_string()), None),
        Err(error) => ("failed", None, Some(error)),
    };
    let (code, message) = (error.map(|e| text(&e.code)), error.map(|e| text(&e.message)));
    let closed = sqlx::query!(
        "UPDATE work_units
         SET state = ?4, result = ?5, error_code = ?6, error_message = ?7, lease_id = NULL, finished_at = ?8
         WHERE id = ?1 AND job_number = ?2 AND state = 'running' AND lease_id = ?3",
        id,
        lease.number,
        lease_id,
        state,
        result,
        code,
        message,
        now
    )
    .execute(connection)
    .await?;
    Ok(closed.rows_affected() == 1)
}

pub(super) async fn retry(
    store: &SqliteStore,
    lease: &Lease,
    unit: Uuid,
    error: &UnitError,
    wait: Duration,
) -> Outcome<bool> {
    let mut tx = store.begin().await?;
    if held(&mut tx, lease).await?.is_none() {
        return Ok(false);
    }
    let at = store.clock.now().plus(wait).to_string();
    let (id, lease_id) = (unit.to_string(), lease.lease_id.to_string());
    let (code, message) = (text(&error.code), text(&error.message));
    let put_back = sqlx::query!(
        "UPDATE work_units
         SET state = 'queued', lease_id = NULL, provider = NULL, available_at = ?4, error_code = ?5, error_message = ?6
         WHERE id = ?1 AND job_number = ?2 AND state = 'running' AND lease_id = ?3",
        id,
        lease.number,
        lease_id,
        at,
        code,
        message
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(put_back.rows_affected() == 1)
}

pub(super) async fn sweep(store: &SqliteStore, max: u32) -> Outcome<u64> {
    // Looked for without the writer's lock: nearly always there is nothing to do.
    if !has_leftovers(store).await? {
        return Ok(0);
    }
    let mut tx = store.begin().await?;
    let (now, max) = (store.clock.now().to_string(), limit(max));
    let dropped = sqlx::query!(
        "UPDATE work_units SET state = 'dropped', lease_id = NULL, finished_at = ?1
         WHERE id IN (SELECT u.id FROM work_units u JOIN jobs j ON j.number = u.job_number
                      WHERE u.state IN ('queued', 'running')
                        AND j.status IN ('completed', 'failed', 'cancelled', 'dead_letter') LIMIT ?2)",
        now,
        max
    )
    .execute(&mut *tx)
    .await?;
    let requeued = sqlx::query!(
        "UPDATE work_units SET state = 'queued', lease_id = NULL, attempts = MAX(attempts - 1, 0)
         WHERE id IN (SELECT u.id FROM work_units u JOIN jobs j ON j.number = u.job_number
                      WHERE u.state = 'running' AND (j.lease_id IS NULL OR j.lease_id <> u.lease_id) LIMIT ?1)",
        max
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(dropped.rows_affected() + requeued.rows_affected())
}

async fn has_leftovers(store: &SqliteStore) -> Outcome<bool> {
    Ok(sqlx::query_scalar!(
        r#"SELECT EXISTS (
             SELECT 1 FROM work_units u JOIN jobs j ON j.number = u.job_number
             WHERE u.state IN ('queued', 'running')
               AND (j.status IN ('completed', 'failed', 'cancelled', 'dead_letter')
                    OR (u.state = 'running' AND (j.lease_id IS NULL OR j.lease_id <> u.lease_id))))
             AS "leftovers!: bool""#
    )
    .fetch_one(&store.read)
    .await?)
}
