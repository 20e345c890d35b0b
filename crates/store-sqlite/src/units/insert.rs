//! Units that come into being: the first of a job, and those that follow from others.

use super::{held, save_state};
use crate::{
    SqliteStore,
    convert::{text, to_json},
    error::Outcome,
};
use leasehold_queue::{
    params::Lease,
    units::{UnitAnswer, WorkUnit},
};
use serde::Serialize;
use serde_json::Value;
use sqlx::SqliteConnection;

#[derive(Serialize)]
struct UnitInsert<'a> {
    id: String,
    name: String,
    kind: &'static str,
    wanted: &'a str,
    request: &'a Value,
}

pub(super) async fn add(
    store: &SqliteStore,
    lease: &Lease,
    units: Vec<WorkUnit>,
    state: Value,
) -> Outcome<UnitAnswer> {
    let mut tx = store.begin().await?;
    let now = store.clock.now().to_string();
    let Some(tenant) = held(&mut tx, lease).await? else { return Ok(UnitAnswer::Lost) };
    let begun = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT 1 FROM work_units WHERE job_number = ?1) AS "begun!: bool""#,
        lease.number
    )
    .fetch_one(&mut *tx)
    .await?;
    if begun {
        return Ok(UnitAnswer::AlreadyDone);
    }
    insert(&mut tx, lease.number, &tenant, &units, &now).await?;
    save_state(&mut tx, lease.number, &state, &now).await?;
    tx.commit().await?;
    Ok(UnitAnswer::Applied)
}

/// Numbered on from those the job has. A unit that is there already is left alone.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    number: i64,
    tenant: &str,
    units: &[WorkUnit],
    now: &str,
) -> Outcome<()> {
    if units.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = units
        .iter()
        .map(|unit| UnitInsert {
            id: unit.id.to_string(),
            name: text(&unit.name),
            kind: unit.kind.as_str(),
            wanted: &unit.provider,
            request: &unit.request,
        })
        .collect();
    let rows = to_json(&rows)?;
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         INSERT INTO work_units (id, job_number, tenant_id, seq, name, kind, wanted, state, request, created_at)
         SELECT value ->> 'id', ?2, ?3,
                (SELECT COALESCE(MAX(seq), 0) FROM work_units WHERE job_number = ?2) + key + 1,
                value ->> 'name', value ->> 'kind', value ->> 'wanted', 'queued', value -> 'request', ?4
         FROM given WHERE TRUE
         ON CONFLICT (id) DO NOTHING",
        rows,
        number,
        tenant,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}
