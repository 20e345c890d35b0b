//! Units that may begin. The providers' rows are locked first: then nobody else counts their permits or takes their
//! tokens, in any process.

use super::{TABLE, providers};
use crate::{
    PostgresStore,
    convert::{moment, stamp_if, word},
    error::database,
};
use leasehold_queue::{
    StoreResult,
    params::Lease,
    units::{
        ClaimedUnit, ClaimedUnits, Standing, UnitClaim, WorkUnit,
        assign::{self, Given, Moment, Wish},
    },
};
use leasehold_types::Timestamp;
use sqlx::PgConnection;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

pub(super) async fn claim(store: &PostgresStore, claim: &UnitClaim) -> StoreResult<Option<ClaimedUnits>> {
    let mut tx = store.work.begin().await.map_err(database)?;
    if !is_held(&mut tx, &claim.lease).await? {
        return Ok(None);
    }
    take_back(&mut tx, &claim.lease).await?;
    let mut states = providers::lock(&mut tx).await?;
    // Not before the rows are ours: waiting for them may have taken a while.
    let now = store.clock.now();
    let at = Moment { job: claim.lease.number, now, lead: claim.lead, callable: &claim.callable };
    let mut ask_again_at = next_retry(&mut tx, claim.lease.number, moment(now)).await?;
    let mut units = Vec::new();
    for (unit, attempts) in due(&mut tx, claim, moment(now)).await? {
        if units.len() >= claim.at_most as usize {
            break;
        }
        let wish = Wish { kind: unit.kind, provider: unit.provider.clone() };
        let turn = match assign::give(&wish, &mut states, &at) {
            Given::Turn(turn) => Ok(turn),
            Given::Refused(error) => Err(error),
            Given::Wait(until) => {
                ask_again_at = Some(ask_again_at.map_or(until, |at| at.min(until)));
                continue;
            }
        };
        units.push(ClaimedUnit { unit, attempts: attempts + 1, turn });
    }
    begin(&mut tx, &claim.lease, &units, now).await?;
    providers::save(&mut tx, &states).await?;
    let standing = standing(&mut tx, claim.lease.number).await?;
    tx.commit().await.map_err(database)?;
    Ok(Some(ClaimedUnits { units, ask_again_at, standing }))
}

async fn is_held(connection: &mut PgConnection, lease: &Lease) -> StoreResult<bool> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM jobs WHERE number = $1 AND status = 'processing' AND worker_id = $2
                                             AND lease_id = $3) AS "held!""#,
        lease.number,
        lease.worker_id.0,
        lease.lease_id.0
    )
    .fetch_one(connection)
    .await
    .map_err(database)
}

/// What an earlier holder of the job left running waits again.
async fn take_back(connection: &mut PgConnection, lease: &Lease) -> StoreResult<()> {
    sqlx::query!(
        "UPDATE work_units SET state = 'queued', lease_id = NULL, attempts = GREATEST(attempts - 1, 0)
         WHERE job_number = $1 AND state = 'running' AND lease_id <> $2",
        lease.number,
        lease.lease_id.0
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}

/// The first few for each wish, so that many units for a busy provider hide none for an idle one.
async fn due(
    connection: &mut PgConnection,
    claim: &UnitClaim,
    now: OffsetDateTime,
) -> StoreResult<Vec<(WorkUnit, i32)>> {
    let rows = sqlx::query!(
        "SELECT id, name, kind, wanted, request, attempts FROM (
           SELECT id, name, kind, wanted, request, attempts, seq,
                  ROW_NUMBER() OVER (PARTITION BY kind, wanted ORDER BY seq) AS place
           FROM work_units
           WHERE job_number = $1 AND state = 'queued' AND (available_at IS NULL OR available_at <= $2)) AS waiting
         WHERE place <= $3 ORDER BY seq",
        claim.lease.number,
        now,
        i64::from(claim.at_most)
    )
    .fetch_all(connection)
    .await
    .map_err(database)?;
    rows.into_iter()
        .map(|row| {
            let kind = word(TABLE, "kind", &row.kind)?;
            let unit =
                WorkUnit { id: row.id, name: row.name, kind, provider: row.wanted, request: row.request };
            Ok((unit, row.attempts))
        })
        .collect()
}

async fn next_retry(
    connection: &mut PgConnection,
    number: i64,
    now: OffsetDateTime,
) -> StoreResult<Option<Timestamp>> {
    sqlx::query_scalar!(
        "SELECT MIN(available_at) FROM work_units
         WHERE job_number = $1 AND state = 'queued' AND available_at > $2",
        number,
        now
    )
    .fetch_one(connection)
    .await
    .map(stamp_if)
    .map_err(database)
}

async fn begin(
    connection: &mut PgConnection,
    lease: &Lease,
    units: &[ClaimedUnit],
    now: Timestamp,
) -> StoreResult<()> {
    if units.is_empty() {
        return Ok(());
    }
    let ids: Vec<Uuid> = units.iter().map(|claimed| claimed.unit.id).collect();
    let provider = |claimed: &ClaimedUnit| claimed.turn.as_ref().ok().map(|turn| turn.provider.clone());
    let providers: Vec<Option<String>> = units.iter().map(provider).collect();
    let start = |claimed: &ClaimedUnit| moment(claimed.turn.as_ref().map_or(now, |turn| turn.start_at));
    let starts: Vec<OffsetDateTime> = units.iter().map(start).collect();
    sqlx::query!(
        "UPDATE work_units u
         SET state = 'running', lease_id = $1, attempts = u.attempts + 1, available_at = NULL,
             provider = given.provider, started_at = given.started_at
         FROM UNNEST($2::uuid[], $3::text[], $4::timestamptz[]) AS given(id, provider, started_at)
         WHERE u.id = given.id AND u.state = 'queued'",
        lease.lease_id.0,
        &ids,
        &providers as &[Option<String>],
        &starts
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}

async fn standing(connection: &mut PgConnection, number: i64) -> StoreResult<Standing> {
    sqlx::query_as!(
        Standing,
        r#"SELECT COUNT(*) FILTER (WHERE state = 'queued') AS "queued!",
                  COUNT(*) FILTER (WHERE state = 'running') AS "running!",
                  COUNT(*) FILTER (WHERE state IN ('succeeded', 'failed')) AS "finished!"
           FROM work_units WHERE job_number = $1"#,
        number
    )
    .fetch_one(connection)
    .await
    .map_err(database)
}

pub(super) async fn delay(
    store: &PostgresStore,
    lease: &Lease,
    unit: Uuid,
    lead: Duration,
) -> StoreResult<Option<Timestamp>> {
    let mut tx = store.work.begin().await.map_err(database)?;
    if !is_held(&mut tx, lease).await? {
        return Ok(None);
    }
    let mut states = providers::lock(&mut tx).await?;
    let now = store.clock.now();
    let provider = sqlx::query_scalar!(
        "SELECT provider FROM work_units WHERE id = $1 AND state = 'running' AND lease_id = $2",
        unit,
        lease.lease_id.0
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?
    .flatten();
    let Some(state) = states.iter_mut().find(|state| Some(&state.spec.name) == provider.as_ref()) else {
        return Ok(None);
    };
    let start_at = state.take_token(now, lead);
    providers::save(&mut tx, &states).await?;
    sqlx::query!("UPDATE work_units SET started_at = $2 WHERE id = $1", unit, moment(start_at))
        .execute(&mut *tx)
        .await
        .map_err(database)?;
    tx.commit().await.map_err(database)?;
    Ok(Some(start_at))
}
