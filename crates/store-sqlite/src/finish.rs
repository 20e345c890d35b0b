//! Finish: many attempts end in one transaction, one answer each.
//!
//! The fence is the row's own worker and lease. Completions, the common case, have a fast path. Once an item has been
//! applied, a twin of it in the same batch meets the row as it stands then: already done for the same token, stale
//! for any other.

mod complete;

use crate::{
    SqliteStore,
    error::{Outcome, outcome},
    settle::{End, Settlement},
    standing::{Standing, standings},
};
use async_trait::async_trait;
use leasehold_queue::{
    FinishAttempts, StoreResult,
    params::{Finish, FinishAnswer, Wake},
    transition::{Ending, Rules},
};
use leasehold_types::{JobStatus, Timestamp};
use std::collections::{HashMap, HashSet};

/// The completions of jobs that no other item speaks of: which of several items is the holder's is judged one by one.
fn completed_once(items: &[Finish]) -> Vec<&Finish> {
    let mut mentions: HashMap<i64, usize> = HashMap::with_capacity(items.len());
    for item in items {
        *mentions.entry(item.lease.number).or_default() += 1;
    }
    let alone = |item: &&Finish| item.ending == Ending::Completed && mentions[&item.lease.number] == 1;
    items.iter().filter(alone).collect()
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

#[async_trait]
impl FinishAttempts for SqliteStore {
    async fn finish(&self, rules: &Rules, items: Vec<Finish>) -> StoreResult<Vec<FinishAnswer>> {
        outcome(async {
            if items.is_empty() {
                return Ok(Vec::new());
            }
            let mut tx = self.begin().await?;
            let now = self.clock.now();
            let done = completed_once(&items);
            let completed: HashSet<i64> = if done.is_empty() {
                HashSet::new()
            } else {
                complete::complete(&mut tx, &done, now).await?.into_iter().collect()
            };
            let mut answers = Vec::with_capacity(items.len());
            let mut settlement = Settlement::default();
            if completed.len() == items.len() {
                answers.resize(items.len(), FinishAnswer::Applied(JobStatus::Completed));
            } else {
                let numbers: Vec<i64> = items.iter().map(|item| item.lease.number).collect();
                let mut jobs: HashMap<i64, Standing> =
                    standings(&mut tx, &numbers).await?.into_iter().map(|job| (job.number, job)).collect();
                for item in &items {
                    if completed.contains(&item.lease.number) {
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
            if !completed.is_empty() {
                self.bell.ring(Wake::Events);
            }
            self.ring_after(&settlement, now);
            Ok(answers)
        })
        .await
    }
}
