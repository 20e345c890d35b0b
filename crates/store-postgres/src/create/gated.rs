//! Creating jobs that must pass gates, in one transaction: every extent the gates speak of is locked, in one
//! order for all processes; then keys and counts are read by statements of their own, which see what others
//! committed while this call waited; then the items are decided and inserted. The locks last until the commit,
//! so of a hundred calls for seven places exactly seven find one.

use super::{
    Inserted, ROUNDS, insert, lost_a_race, measured,
    plan::{self, Decision},
    step_aside,
};
use crate::{PostgresStore, convert::moment, error::database};
use leasehold_queue::{
    Scope, StoreResult,
    create::contended,
    gate::{self, Turnstile},
    params::NewJob,
};
use leasehold_types::Timestamp;
use sqlx::PgConnection;

/// The first half of our advisory locks' numbers; the second is the bucket of the extent's name. Buckets bound
/// how many locks one call can hold: the server's lock table is shared and small.
const LOCKS: i32 = 0x6c68_6701;
/// Minutes kept beside the current one: a process whose clock is a moment behind still finds its count.
const MINUTES_KEPT: i64 = 1;
/// Old rows removed by one call.
const REMOVED_AT_ONCE: i64 = 200;

type Done = (Vec<Decision>, Inserted);

impl PostgresStore {
    pub(super) async fn add_gated(&self, scope: &Scope, jobs: &[NewJob]) -> StoreResult<Done> {
        if let Some(decisions) = self.all_known(scope, jobs).await? {
            return Ok((decisions, Inserted::new()));
        }
        for round in 0..ROUNDS {
            if let Some(done) = self.try_gated(scope, jobs).await? {
                return Ok(done);
            }
            step_aside(round).await;
        }
        Err(contended().into())
    }

    /// Replays and dedupe hits pass no gate, so they need not wait for anybody's lock either.
    async fn all_known(&self, scope: &Scope, jobs: &[NewJob]) -> StoreResult<Option<Vec<Decision>>> {
        let known = plan::look_up(&self.work, jobs, self.now()).await?;
        let decisions = plan::decide(scope, jobs, &known, &mut Turnstile::open(self.clock.now()));
        Ok(plan::chosen(jobs, &decisions).is_empty().then_some(decisions))
    }

    /// None when another call took one of the keys meanwhile.
    async fn try_gated(&self, scope: &Scope, jobs: &[NewJob]) -> StoreResult<Option<Done>> {
        let mut tx = self.work.begin().await.map_err(database)?;
        let done = within(&mut tx, scope, jobs, self.clock.now(), self.outbox).await?;
        if done.is_some() {
            tx.commit().await.map_err(database)?;
        }
        Ok(done)
    }
}

/// The same inside a transaction that goes on; with None it is of no more use.
pub(super) async fn within(
    connection: &mut PgConnection,
    scope: &Scope,
    jobs: &[NewJob],
    now: Timestamp,
    outbox: bool,
) -> StoreResult<Option<Done>> {
    lock(connection, jobs).await.map_err(database)?;
    let known = plan::look_up_within(connection, jobs, moment(now)).await?;
    let counts = measured::counts(connection, jobs, now).await.map_err(database)?;
    let decisions = plan::decide(scope, jobs, &known, &mut Turnstile::new(counts, now));
    let chosen = plan::chosen(jobs, &decisions);
    match insert_all(connection, scope, &chosen, now, outbox).await {
        Ok(inserted) => Ok(Some((decisions, inserted))),
        Err(error) if lost_a_race(&error) => Ok(None),
        Err(error) => Err(database(error)),
    }
}

async fn insert_all(
    connection: &mut PgConnection,
    scope: &Scope,
    chosen: &[&NewJob],
    now: Timestamp,
    outbox: bool,
) -> Result<Inserted, sqlx::Error> {
    let inserted = insert::jobs(&mut *connection, scope, chosen, now, outbox).await?;
    insert::idempotency_keys(connection, chosen, &inserted, now).await?;
    let made = chosen.iter().copied().filter(|job| inserted.contains_key(&job.id.0));
    record_submits(connection, made, now).await?;
    Ok(inserted)
}

/// Sorted by what is locked, not by what it is locked for: two callers can never wait for each other.
async fn lock(connection: &mut PgConnection, jobs: &[NewJob]) -> Result<(), sqlx::Error> {
    let names: Vec<String> = gate::measures(jobs).into_iter().map(|m| m.extent.name()).collect();
    if names.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "SELECT pg_advisory_xact_lock($1, bucket)
         FROM (SELECT DISTINCT hashtext(name) & 511 AS bucket FROM UNNEST($2::text[]) AS name ORDER BY 1) buckets",
        LOCKS,
        &names
    )
    .fetch_all(connection)
    .await
    .map(drop)
}

async fn record_submits<'a>(
    connection: &mut PgConnection,
    made: impl Iterator<Item = &'a NewJob>,
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    let (names, submits): (Vec<String>, Vec<i64>) = gate::submits(made).into_iter().unzip();
    if names.is_empty() {
        return Ok(());
    }
    let minute = gate::minute_of(now);
    sqlx::query!(
        "INSERT INTO job_submits AS s (minute, scope, submits)
         SELECT $1, a.scope, a.submits FROM UNNEST($2::text[], $3::bigint[]) AS a(scope, submits)
         ON CONFLICT (minute, scope) DO UPDATE SET submits = s.submits + EXCLUDED.submits",
        minute,
        &names,
        &submits
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "DELETE FROM job_submits WHERE (minute, scope) IN
           (SELECT minute, scope FROM job_submits WHERE minute < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)",
        minute - MINUTES_KEPT,
        REMOVED_AT_ONCE
    )
    .execute(connection)
    .await
    .map(drop)
}
