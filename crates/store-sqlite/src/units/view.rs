//! The units of a job, as its page shows them.

use super::UNITS;
use crate::{SqliteStore, convert::limit, error::Outcome, read};
use leasehold_queue::Scope;
use leasehold_types::{
    JobRef,
    unit::{UnitRow, UnitState, UnitsView},
};
use sqlx::SqliteConnection;

pub(super) async fn units(store: &SqliteStore, scope: &Scope, job: JobRef, max: u32) -> Outcome<UnitsView> {
    let mut tx = store.read.begin().await?;
    let Some(number) = read::locate(&mut tx, scope, job).await? else { return Ok(UnitsView::default()) };
    let counts = counts(&mut tx, number).await?;
    let rows = if counts.is_empty() { Vec::new() } else { rows(&mut tx, number, max).await? };
    Ok(UnitsView { counts, rows })
}

async fn counts(connection: &mut SqliteConnection, number: i64) -> Outcome<Vec<(UnitState, i64)>> {
    let counted = sqlx::query!(
        r#"SELECT state, COUNT(*) AS "units!: i64" FROM work_units WHERE job_number = ?1 GROUP BY state"#,
        number
    )
    .fetch_all(connection)
    .await?;
    let mut counts = Vec::new();
    for row in counted {
        counts.push((UNITS.parse("state", &row.state)?, row.units));
    }
    counts.sort();
    Ok(counts)
}

async fn rows(connection: &mut SqliteConnection, number: i64, max: u32) -> Outcome<Vec<UnitRow>> {
    let max = limit(max);
    let rows = sqlx::query!(
        r#"SELECT u.id, u.seq, u.name, u.kind, COALESCE(u.provider, NULLIF(u.wanted, '')) AS "provider?: String",
                  COALESCE(p.is_local, 0) AS "is_local!: bool", u.state, u.attempts, u.available_at,
                  u.started_at, u.finished_at, u.error_code, u.error_message
           FROM work_units u LEFT JOIN providers p ON p.name = u.provider
           WHERE u.job_number = ?1 ORDER BY u.seq LIMIT ?2"#,
        number,
        max
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(UnitRow {
                id: UNITS.parse("id", &row.id)?,
                seq: row.seq,
                name: row.name,
                kind: UNITS.parse("kind", &row.kind)?,
                provider: row.provider,
                is_local: row.is_local,
                state: UNITS.parse("state", &row.state)?,
                attempts: UNITS.int("attempts", row.attempts)?,
                available_at: UNITS.time_opt("available_at", row.available_at.as_deref())?,
                started_at: UNITS.time_opt("started_at", row.started_at.as_deref())?,
                finished_at: UNITS.time_opt("finished_at", row.finished_at.as_deref())?,
                error_code: row.error_code,
                error_message: row.error_message,
            })
        })
        .collect()
}
