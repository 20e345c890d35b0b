//! Jobs that must pass gates. The writer's lock is held from the count to the insert: of a hundred calls for seven
//! places exactly seven find one.

use super::measured::count;
use crate::error::Outcome;
use leasehold_queue::{
    gate::{self, Turnstile},
    params::NewJob,
};
use leasehold_types::Timestamp;
use sqlx::SqliteConnection;
use std::collections::HashMap;

/// Minutes kept beside the current one: a process whose clock is a moment behind still finds its count.
const MINUTES_KEPT: i64 = 1;

/// Costs nothing for jobs without gates.
pub(super) async fn turnstile(
    connection: &mut SqliteConnection,
    jobs: &[NewJob],
    now: Timestamp,
) -> Outcome<Turnstile> {
    let mut counts = HashMap::new();
    for measure in gate::measures(jobs) {
        counts.insert(measure.clone(), count(connection, measure, now).await?);
    }
    Ok(Turnstile::new(counts, now))
}

/// Counts the new jobs towards the rates they were let in by, and forgets old minutes.
pub(super) async fn record_submits(
    connection: &mut SqliteConnection,
    new: &[&NewJob],
    now: Timestamp,
) -> Outcome<()> {
    let submits = gate::submits(new.iter().copied());
    if submits.is_empty() {
        return Ok(());
    }
    let minute = gate::minute_of(now);
    for (scope, submits) in submits {
        sqlx::query!(
            "INSERT INTO job_submits (minute, scope, submits) VALUES (?1, ?2, ?3)
             ON CONFLICT (minute, scope) DO UPDATE SET submits = submits + excluded.submits",
            minute,
            scope,
            submits
        )
        .execute(&mut *connection)
        .await?;
    }
    let oldest_kept = minute - MINUTES_KEPT;
    sqlx::query!("DELETE FROM job_submits WHERE minute < ?1", oldest_kept).execute(connection).await?;
    Ok(())
}
