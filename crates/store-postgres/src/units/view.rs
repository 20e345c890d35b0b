//! The units of a job, as its page shows them.

use super::TABLE;
use crate::{
    PostgresStore,
    convert::{stamp_if, word},
    error::database,
    read::locate,
};
use leasehold_queue::{Scope, StoreResult};
use leasehold_types::{
    JobRef,
    unit::{UnitRow, UnitState, UnitsView},
};

pub(super) async fn units(
    store: &PostgresStore,
    scope: &Scope,
    job: JobRef,
    limit: u32,
) -> StoreResult<UnitsView> {
    let Some(number) = locate(&store.work, scope, job).await? else { return Ok(UnitsView::default()) };
    let counts = counts(store, number).await?;
    let rows = if counts.is_empty() { Vec::new() } else { rows(store, number, limit).await? };
    Ok(UnitsView { counts, rows })
}

async fn counts(store: &PostgresStore, number: i64) -> StoreResult<Vec<(UnitState, i64)>> {
    let counted = sqlx::query!(
        r#"SELECT state, COUNT(*) AS "units!" FROM work_units WHERE job_number = $1 GROUP BY state"#,
        number
    )
    .fetch_all(&store.work)
    .await
    .map_err(database)?;
    let mut counts = Vec::new();
    for row in counted {
        counts.push((word(TABLE, "state", &row.state)?, row.units));
    }
    counts.sort();
    Ok(counts)
}

async fn rows(store: &PostgresStore, number: i64, limit: u32) -> StoreResult<Vec<UnitRow>> {
    let rows = sqlx::query!(
        r#"SELECT u.id, u.seq, u.name, u.kind, COALESCE(u.provider, NULLIF(u.wanted, '')) AS provider,
                  COALESCE(p.is_local, FALSE) AS "is_local!", u.state, u.attempts, u.available_at,
                  u.started_at, u.finished_at, u.error_code, u.error_message
           FROM work_units u LEFT JOIN providers p ON p.name = u.provider
           WHERE u.job_number = $1 ORDER BY u.seq LIMIT $2"#,
        number,
        i64::from(limit)
    )
    .fetch_all(&store.work)
    .await
    .map_err(database)?;
    rows.into_iter()
        .map(|row| {
            Ok(UnitRow {
                id: row.id,
                seq: row.seq,
                name: row.name,
                kind: word(TABLE, "kind", &row.kind)?,
                provider: row.provider,
                is_local: row.is_local,
                state: word(TABLE, "state", &row.state)?,
                attempts: row.attempts,
                available_at: stamp_if(row.available_at),
                started_at: stamp_if(row.started_at),
                finished_at: stamp_if(row.finished_at),
                error_code: row.error_code,
                error_message: row.error_message,
            })
        })
        .collect()
}
