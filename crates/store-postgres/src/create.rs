//! Creating jobs, one or ten thousand at a time.
//!
//! Jobs without keys take one statement. Keys are decided by unique indexes, never by looking first: a plan is
//! made from what is known, the insert is tried, and when another call won a key in the meantime the
//! transaction is undone and the plan made anew — each time round somebody else has made progress.

mod gated;
pub mod insert;
mod measured;
mod plan;

use crate::{PostgresStore, error, error::database};
use async_trait::async_trait;
use leasehold_queue::{
    CreateJobs, Scope, StoreResult,
    create::contended,
    gate::Turnstile,
    params::{CreateAnswer, Created, HowCreated, NewJob, Wake},
};
use leasehold_types::{JobStatus, Problem, Timestamp};
use plan::{Decision, Known};
use sqlx::PgConnection;
use std::{collections::HashMap, time::Duration};
use uuid::Uuid;

/// How often the plan is made anew before the caller is told that the keys are contended.
pub(crate) const ROUNDS: u32 = 20;

/// Numbers of the jobs that were inserted, by id.
type Inserted = HashMap<Uuid, i64>;

#[async_trait]
impl CreateJobs for PostgresStore {
    async fn create_jobs(&self, scope: &Scope, jobs: Vec<NewJob>) -> StoreResult<Vec<CreateAnswer>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let gated = jobs.iter().any(|j| !j.gates.is_empty());
        let keyed = jobs.iter().any(|j| j.dedupe_key.is_some() || j.idempotency.is_some());
        let (decisions, inserted) = if gated {
            self.add_gated(scope, &jobs).await?
        } else if keyed {
            self.add_keyed(scope, &jobs).await?
        } else {
            let decisions = self.plan(scope, &jobs, &Known::default());
            let chosen = plan::chosen(&jobs, &decisions);
            let now = self.clock.now();
            let inserted =
                insert::jobs(&self.work, scope, &chosen, now, self.outbox).await.map_err(database)?;
            (decisions, inserted)
        };
        if !inserted.is_empty() {
            self.announce(&plan::chosen(&jobs, &decisions));
        }
        Ok(answers(&jobs, &decisions, &inserted, self.clock.now()))
    }
}

impl PostgresStore {
    /// Creates jobs inside a transaction that has more to do. None: another call took one of the keys, and the
    /// transaction is to be begun anew. What was made is announced after the commit, by [`Self::announce`].
    pub(crate) async fn add_within(
        &self,
        connection: &mut PgConnection,
        scope: &Scope,
        jobs: &[NewJob],
    ) -> StoreResult<Option<Vec<CreateAnswer>>> {
        within(connection, scope, jobs, self.clock.now(), self.outbox).await
    }

    pub(crate) fn announce(&self, made: &[&NewJob]) {
        if !made.is_empty() {
            self.directory.expect(made);
            self.wakes.tell(&[Wake::made(made.iter().copied()), Wake::Events]);
        }
    }

    async fn add_keyed(&self, scope: &Scope, jobs: &[NewJob]) -> StoreResult<(Vec<Decision>, Inserted)> {
        for round in 0..ROUNDS {
            let known = plan::look_up(&self.work, jobs, self.now()).await?;
            let decisions = self.plan(scope, jobs, &known);
            let chosen = plan::chosen(jobs, &decisions);
            if chosen.is_empty() {
                return Ok((decisions, Inserted::new()));
            }
            match self.try_insert(scope, &chosen).await {
                Ok(inserted) => return Ok((decisions, inserted)),
                Err(e) if lost_a_race(&e) => step_aside(round).await,
                Err(e) => return Err(database(e)),
            }
        }
        Err(contended().into())
    }

    /// What becomes of jobs that meet no gate.
    fn plan(&self, scope: &Scope, jobs: &[NewJob], known: &Known) -> Vec<Decision> {
        plan::decide(scope, jobs, known, &mut Turnstile::open(self.clock.now()))
    }

    async fn try_insert(&self, scope: &Scope, chosen: &[&NewJob]) -> Result<Inserted, sqlx::Error> {
        let now = self.clock.now();
        let mut tx = self.work.begin().await?;
        let inserted = insert::jobs(&mut *tx, scope, chosen, now, self.outbox).await?;
        insert::idempotency_keys(&mut tx, chosen, &inserted, now).await?;
        tx.commit().await?;
        Ok(inserted)
    }
}

/// Creates jobs inside a transaction that has more to do. None: another call took one of the keys, and the transaction
/// is to be begun anew. Telling workers of them is for whoever commits it.
pub(crate) async fn within(
    connection: &mut PgConnection,
    scope: &Scope,
    jobs: &[NewJob],
    now: Timestamp,
    outbox: bool,
) -> StoreResult<Option<Vec<CreateAnswer>>> {
    if jobs.is_empty() {
        return Ok(Some(Vec::new()));
    }
    let done = gated::within(connection, scope, jobs, now, outbox).await?;
    Ok(done.map(|(decisions, inserted)| answers(jobs, &decisions, &inserted, now)))
}

fn answers(
    jobs: &[NewJob],
    decisions: &[Decision],
    inserted: &Inserted,
    now: Timestamp,
) -> Vec<CreateAnswer> {
    let mut answers: Vec<CreateAnswer> = Vec::with_capacity(jobs.len());
    for (job, decision) in jobs.iter().zip(decisions) {
        answers.push(match decision {
            // The statement leaves out jobs of tenants that do not exist.
            Decision::Insert => match inserted.get(&job.id.0) {
                Some(number) => Ok(Created {
                    number: *number,
                    id: job.id,
                    status: JobStatus::Queued,
                    queued_at: now,
                    how: HowCreated::Inserted,
                    domain: job.domain.clone(),
                    definition_id: job.definition_id,
                }),
                None => Err(Problem::not_found("This tenant")),
            },
            Decision::Existing(created) => Ok(created.clone()),
            Decision::SameAs(earlier, how) => {
                answers[*earlier].clone().map(|created| Created { how: *how, ..created })
            }
            Decision::Refused(problem) => Err(problem.clone()),
        });
    }
    answers
}

/// Two calls with the same keys in another order undo each other; step out of the rhythm.
pub(crate) async fn step_aside(round: u32) {
    let wait = rand::random_range(0..=u64::from(round) * 2);
    tokio::time::sleep(Duration::from_millis(wait)).await;
}

pub fn lost_a_race(error: &sqlx::Error) -> bool {
    matches!(error::violated(error), Some(error::DEDUPE | error::IDEMPOTENCY))
        || error::code(error).is_some_and(|code| code == "40P01")
}
