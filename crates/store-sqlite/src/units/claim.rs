//! Units that may begin. The writer's lock makes permits and tokens exact: nobody else counts or takes meanwhile.

use super::{UNITS, held, providers};
use crate::{
    SqliteStore,
    convert::{limit, to_json},
    error::Outcome,
};
use leasehold_queue::{
    params::Lease,
    units::{
        ClaimedUnit, ClaimedUnits, Standing, UnitClaim, WorkUnit,
        assign::{self, Given, Moment, Wish},
    },
};
use leasehold_types::Timestamp;
use serde::Serialize;
use sqlx::SqliteConnection;
use std::time::Duration;
use uuid::Uuid;

#[derive(Serialize)]
struct Begun {
    id: String,
    provider: Option<String>,
    started_at: Timestamp,
}

pub(super) async fn claim(store: &SqliteStore, claim: &UnitClaim) -> Outcome<Option<ClaimedUnits>> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    if held(&mut tx, &claim.lease).await?.is_none() {
        return Ok(None);
    }
    take_back(&mut tx, &claim.lease).await?;
    let mut states = providers::states(&mut tx).await?;
    let moment = Moment { job: claim.lease.number, now, lead: claim.lead, callable: &claim.callable };
    let (mut units, mut begun) = (Vec::new(), Vec::new());
    let mut ask_again_at = next_retry(&mut tx, claim.lease.number, now).await?;
    for (unit, attempts) in due(&mut tx, claim, now).await? {
        if units.len() >= claim.at_most as usize {
            break;
        }
        let wish = Wish { kind: unit.kind, provider: unit.provider.clone() };
        let turn = match assign::give(&wish, &mut states, &moment) {
            Given::Turn(turn) => Ok(turn),
            Given::Refused(error) => Err(error),
            Given::Wait(until) => {
                ask_again_at = Some(ask_again_at.map_or(until, |at| at.min(until)));
                continue;
            }
        };
        begun.push(Begun {
            id: unit.id.to_string(),
            provider: turn.as_ref().ok().map(|turn| turn.provider.clone()),
            started_at: turn.as_ref().map_or(now, |turn| turn.start_at),
        });
        units.push(ClaimedUnit { unit, attempts: attempts + 1, turn });
    }
    begin(&mut tx, &claim.lease, &begun).await?;
    providers::save(&mut tx, &states).await?;
    let standing = standing(&mut tx, claim.lease.number).await?;
    tx.commit().await?;
    Ok(Some(ClaimedUnits { units, ask_again_at, standing }))
}

/// What an earlier holder of the job left running waits again.
async fn take_back(connection: &mut SqliteConnection, lease: &Lease) -> Outcome<()> {
    let lease_id = lease.lease_id.to_string();
    sqlx::query!(
        "UPDATE work_units SET state = 'queued', lease_id = NULL, attempts = MAX(attempts - 1, 0)
         WHERE job_number = ?1 AND state = 'running' AND lease_id <> ?2",
        lease.number,
        lease_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The first few for each wish, so that many units for a busy provider hide none for an idle one.
async fn due(
    connection: &mut SqliteConnection,
    claim: &UnitClaim,
    now: Timestamp,
) -> Outcome<Vec<(WorkUnit, i32)>> {
    let (now, at_most) = (now.to_string(), limit(claim.at_most));
    let rows = sqlx::query!(
        "SELECT id, name, kind, wanted, request, attempts FROM (
           SELECT id, name, kind, wanted, request, attempts, seq,
                  ROW_NUMBER() OVER (PARTITION BY kind, wanted ORDER BY seq) AS place
           FROM work_units
           WHERE job_number = ?1 AND state = 'queued' AND (available_at IS NULL OR available_at <= ?2))
         WHERE place <= ?3 ORDER BY seq",
        claim.lease.number,
        now,
        at_most
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let unit = WorkUnit {
                id: UNITS.parse("id", &row.id)?,
                kind: UNITS.parse("kind", &row.kind)?,
                request: UNITS.json("request", &row.request)?,
                name: row.name,
                provider: row.wanted,
            };
            Ok((unit, UNITS.int("attempts", row.attempts)?))
        })
        .collect()
}

async fn next_retry(
    connection: &mut SqliteConnection,
    number: i64,
    now: Timestamp,
) -> Outcome<Option<Timestamp>> {
    let now = now.to_string();
    let at = sqlx::query_scalar!(
        r#"SELECT MIN(available_at) AS "at: String" FROM work_units
           WHERE job_number = ?1 AND state = 'queued' AND available_at > ?2"#,
        number,
        now
    )
    .fetch_one(connection)
    .await?;
    UNITS.time_opt("available_at", at.as_deref())
}

async fn begin(connection: &mut SqliteConnection, lease: &Lease, begun: &[Begun]) -> Outcome<()> {
    if begun.is_empty() {
        return Ok(());
    }
    let (begun, lease_id) = (to_json(begun)?, lease.lease_id.to_string());
    sqlx::query!(
        "UPDATE work_units
         SET state = 'running', lease_id = ?2, attempts = attempts + 1, available_at = NULL,
             provider = given.value ->> 'provider', started_at = given.value ->> 'started_at'
         FROM json_each(?1) AS given
         WHERE work_units.id = given.value ->> 'id'",
        begun,
        lease_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

async fn standing(connection: &mut SqliteConnection, number: i64) -> Outcome<Standing> {
    let row = sqlx::query!(
        r#"SELECT COUNT(*) FILTER (WHERE state = 'queued') AS "queued!: i64",
                  COUNT(*) FILTER (WHERE state = 'running') AS "running!: i64",
                  COUNT(*) FILTER (WHERE state IN ('succeeded', 'failed')) AS "finished!: i64"
           FROM work_units WHERE job_number = ?1"#,
        number
    )
    .fetch_one(connection)
    .await?;
    Ok(Standing { queued: row.queued, running: row.running, finished: row.finished })
}

pub(super) async fn delay(
    store: &SqliteStore,
    lease: &Lease,
    unit: Uuid,
    lead: Duration,
) -> Outcome<Option<Timestamp>> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, lease_id) = (unit.to_string(), lease.lease_id.to_string());
    if held(&mut tx, lease).await?.is_none() {
        return Ok(None);
    }
    let provider = sqlx::query_scalar!(
        "SELECT provider FROM work_units WHERE id = ?1 AND state = 'running' AND lease_id = ?2",
        id,
        lease_id
    )
    .fetch_optional(&mut *tx)
    .await?
    .flatten();
    let mut states = providers::states(&mut tx).await?;
    let Some(state) = states.iter_mut().find(|state| Some(&state.spec.name) == provider.as_ref()) else {
        return Ok(None);
    };
    let start_at = state.take_token(now, lead);
    providers::save(&mut tx, &states).await?;
    let at = start_at.to_string();
    sqlx::query!("UPDATE work_units SET started_at = ?2 WHERE id = ?1", id, at).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(Some(start_at))
}
