//! Finish: many attempts end in one transaction, one answer each.
//!
//! The fence is the row's own worker and lease. Once an item has been applied, a twin of it in the same batch
//! meets the row as it stands then: already done for the same token, stale for any other.

mod complete;

use crate::{
    SqliteStore,
    error::Outcome,
    settle::{End, Settlement},
    standing::{Standing, standings},
};
use leasehold_queue::{
    params::{Finish, FinishAnswer, Lease, Wake},
    transition::{Ending, Rules},
};
use leasehold_types::{JobStatus, Timestamp};
use std::collections::{HashMap, HashSet};

pub(crate) async fn finish(
    store: &SqliteStore,
    rules: &Rules,
    items: Vec<Finish>,
) -> Outcome<Vec<FinishAnswer>> {
    if items.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    // Of two items under one lease only the first can apply; the other meets the row as that left it.
    let mut seen = HashSet::new();
    let first: Vec<&Finish> = items.iter().filter(|item| seen.insert(&item.lease)).collect();
    let done: Vec<&Finish> = first.into_iter().filter(|item| item.ending == Ending::Completed).collect();
    let mut completed: HashSet<&Lease> = HashSet::new();
    if !done.is_empty() {
        let applied: HashSet<i64> = complete::complete(&mut tx, &done, now).await?.into_iter().collect();
        let leases = done.iter().map(|item| &item.lease);
        completed.extend(leases.filter(|lease| applied.contains(&lease.number)));
    }
    let any_completed = !completed.is_empty();
    let mut answers = Vec::with_capacity(items.len());
    let mut settlement = Settlement::default();
    if completed.len() == items.len() {
        answers.resize(items.len(), FinishAnswer::Applied(JobStatus::Completed));
    } else {
        let numbers: Vec<i64> = items.iter().map(|item| item.lease.number).collect();
        let mut jobs: HashMap<i64, Standing> =
            standings(&mut tx, &numbers).await?.into_iter().map(|job| (job.number, job)).collect();
        for item in &items {
            // Taken out, so that a twin under the same lease is answered like any late one.
            if completed.remove(&item.lease) {
                answers.push(FinishAnswer::Applied(JobStatus::Completed));
                continue;
            }
            answers.push(match jobs.get_mut(&item.lease.number) {
                Some(job) => settle(job, item, &mut settlement, rules, now)?,
                None => FinishAnswer::NotFound,
            });
        }
        settlement.write(&mut tx, now).await?;
    }
    tx.commit().await?;
    if any_completed {
        store.bell.ring(Wake::Events);
    }
    store.ring_after(&settlement, now);
    Ok(answers)
}

fn settle(
    job: &mut Standing,
    item: &Finish,
    settlement: &mut Settlement,
    rules: &Rules,
    now: Timestamp,
) -> Outcome<FinishAnswer> {
    if job.is_held_by(&item.lease) {
        let end = End {
            ending: &item.ending,
            result: item.result.as_ref(),
            facts: &item.facts,
            token: item.token.as_deref(),
            policy: item.policy.as_ref(),
        };
        return Ok(FinishAnswer::Applied(settlement.end(job, &end, rules, now)?));
    }
    if item.token.is_some() && item.token == job.completion_token {
        return Ok(FinishAnswer::AlreadyDone(job.status));
    }
    tracing::warn!(job = job.number, worker = %item.lease.worker_id, "a stale finish was refused");
    Ok(FinishAnswer::Stale)
}

impl SqliteStore {
    pub(crate) fn ring_after(&self, settlement: &Settlement, now: Timestamp) {
        if !settlement.is_empty() {
            self.bell.ring(Wake::Events);
        }
        if settlement.refills_the_queue(now) {
            self.bell.ring(Wake::Jobs);
        }
    }
}
