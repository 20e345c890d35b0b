//! Units that come into being: the first of a job, and those that follow from others.

use super::{hold, save_state};
use crate::{
    PostgresStore,
    convert::{json, text},
    error::database,
};
use leasehold_queue::{
    StoreResult,
    params::Lease,
    units::{UnitAnswer, WorkUnit},
};
use serde_json::Value;
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

pub(super) async fn add(
    store: &PostgresStore,
    lease: &Lease,
    units: Vec<WorkUnit>,
    state: Value,
) -> StoreResult<UnitAnswer> {
    let mut tx = store.work.begin().await.map_err(database)?;
    let now = store.now();
    let Some(tenant) = hold(&mut tx, lease).await? else { return Ok(UnitAnswer::Lost) };
    let begun = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM work_units WHERE job_number = $1) AS "begun!""#,
        lease.number
    )
    .fetch_one(&mut *tx)
    .await
    .map_err(database)?;
    if begun {
        return Ok(UnitAnswer::AlreadyDone);
    }
    insert(&mut tx, lease.number, tenant, &units, now).await?;
    save_state(&mut tx, lease.number, &state, now).await?;
    tx.commit().await.map_err(database)?;
    Ok(UnitAnswer::Applied)
}

/// Numbered on from those the job has; its row is held, so nobody else counts. A unit that is there already is left
/// alone.
pub(super) async fn insert(
    connection: &mut PgConnection,
    number: i64,
    tenant: Uuid,
    units: &[WorkUnit],
    now: OffsetDateTime,
) -> StoreResult<()> {
    if units.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = units.iter().map(|unit| unit.id).collect();
    let names: Vec<String> = units.iter().map(|unit| text(&unit.name).into_owned()).collect();
    let kinds: Vec<String> = units.iter().map(|unit| unit.kind.as_str().to_owned()).collect();
    let wanted: Vec<String> = units.iter().map(|unit| text(&unit.provider).into_owned()).collect();
    let requests: Vec<Value> = units.iter().map(|unit| json(&unit.request)).collect();
    sqlx::query!(
        "INSERT INTO work_units (id, job_number, tenant_id, seq, name, kind, wanted, state, request, created_at)
         SELECT u.id, $1, $2, (SELECT COALESCE(MAX(seq), 0) FROM work_units WHERE job_number = $1) + u.place,
                u.name, u.kind, u.wanted, 'queued', u.request, $3
         FROM UNNEST($4::uuid[], $5::text[], $6::text[], $7::text[], $8::jsonb[]) WITH ORDINALITY
                AS u(id, name, kind, wanted, request, place)
         ON CONFLICT (id) DO NOTHING",
        number,
        tenant,
        now,
        &ids,
        &names,
        &kinds,
        &wanted,
        &requests
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}
