//! Ending attempts. Completions, the common case, take one statement; other endings are judged row by row under
//! row locks. Every write is fenced by state, worker and lease, so at most one completion is ever accepted.

mod complete;

use crate::{
    PostgresStore,
    convert::word,
    error::database,
    settle::{Locked, Settlement, any_ready, settle},
};
use async_trait::async_trait;
use leasehold_queue::{
    FinishAttempts, StoreResult,
    params::{Finish, FinishAnswer, Lease, Wake},
    transition::{Ending, Rules, judge},
};
use leasehold_types::JobStatus;
use sqlx::PgConnection;
use std::collections::{HashMap, HashSet};
use uuid::Uuid;

#[async_trait]
impl FinishAttempts for PostgresStore {
    async fn finish(&self, rules: &Rules, items: Vec<Finish>) -> StoreResult<Vec<FinishAnswer>> {
        // Of two items under one lease only the first can apply; the other is answered like any late one. Leases
        // are compared whole: a stale item on a job says nothing about one that shows the lease it is held under.
        let mut seen = HashSet::new();
        let first: Vec<&Finish> = items.iter().filter(|i| seen.insert(&i.lease)).collect();
        let (completed, others): (Vec<&Finish>, Vec<&Finish>) =
            first.into_iter().partition(|i| i.ending == Ending::Completed);
        let mut applied: HashMap<Lease, JobStatus> = HashMap::new();
        if !completed.is_empty() {
            let leases = self.complete(&completed).await?;
            applied.extend(leases.into_iter().map(|lease| (lease, JobStatus::Completed)));
        }
        if !others.is_empty() {
            applied.extend(self.judge_and_settle(rules, &others).await?);
        }
        if !applied.is_empty() {
            self.wakes.tell(&[Wake::Events]);
        }
        self.finish_answers(&items, applied).await
    }
}

impl PostgresStore {
    async fn judge_and_settle(
        &self,
        rules: &Rules,
        items: &[&Finish],
    ) -> StoreResult<Vec<(Lease, JobStatus)>> {
        let now = self.clock.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let locked = lock(&mut tx, items).await?;
        let by_lease: HashMap<&Lease, &Finish> = items.iter().map(|i| (&i.lease, *i)).collect();
        let mut moved = Vec::with_capacity(locked.len());
        let mut settlements = Vec::with_capacity(locked.len());
        for row in &locked {
            let Some(item) = by_lease.get(&row.lease()) else { continue };
            let timeline = row.timeline()?;
            let facts = row.facts(&timeline);
            let verdict = judge(&facts, &item.ending, item.policy.as_ref(), rules, now, rand::random());
            let (message, stack) = match &item.ending {
                Ending::Failed(failure) => (Some(failure.message.clone()), failure.stack.clone()),
                Ending::Snoozed(snooze) => (Some(snooze.message.clone()), None),
                _ => (None, None),
            };
            moved.push((item.lease.clone(), verdict.status));
            settlements.push(Settlement {
                number: row.number,
                verdict,
                timeline,
                message: message.filter(|message| !message.is_empty()),
                stack,
                lost_worker: None,
                facts: item.facts.clone(),
                token: item.token.clone(),
                result: item.result.clone(),
            });
        }
        let ready = any_ready(&settlements, now);
        if !settlements.is_empty() {
            settle(&mut tx, settlements, now, self.outbox).await?;
        }
        tx.commit().await.map_err(database)?;
        if ready {
            self.directory.forget();
            self.wakes.tell(&[Wake::Jobs]);
        }
        Ok(moved)
    }

    /// Items that were not applied are looked up: done before with the same token, refused, or unknown.
    async fn finish_answers(
        &self,
        items: &[Finish],
        mut applied: HashMap<Lease, JobStatus>,
    ) -> StoreResult<Vec<FinishAnswer>> {
        let answered: Vec<Option<FinishAnswer>> =
            items.iter().map(|i| applied.remove(&i.lease).map(FinishAnswer::Applied)).collect();
        let unanswered: Vec<i64> = items
            .iter()
            .zip(&answered)
            .filter(|(_, answer)| answer.is_none())
            .map(|(item, _)| item.lease.number)
            .collect();
        if unanswered.is_empty() {
            return Ok(answered.into_iter().flatten().collect());
        }
        let rows = sqlx::query!(
            "SELECT number, status, completion_token FROM jobs WHERE number = ANY($1)",
            &unanswered
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let mut known = HashMap::new();
        for row in rows {
            let status: JobStatus = word("jobs", "status", &row.status)?;
            known.insert(row.number, (status, row.completion_token));
        }
        let late = |item: &Finish| match known.get(&item.lease.number) {
            None => FinishAnswer::NotFound,
            Some((status, Some(token))) if item.token.as_ref() == Some(token) => {
                FinishAnswer::AlreadyDone(*status)
            }
            Some(_) => FinishAnswer::Stale,
        };
        Ok(items.iter().zip(answered).map(|(item, answer)| answer.unwrap_or_else(|| late(item))).collect())
    }
}

/// Locks the rows whose lease is still the item's, in the order every batch locks in. A row with a lease is running
/// (the table's CHECK), so the state need not be asked for; see `complete` for why it is not.
async fn lock(connection: &mut PgConnection, items: &[&Finish]) -> StoreResult<Vec<Locked>> {
    let numbers: Vec<i64> = items.iter().map(|i| i.lease.number).collect();
    let workers: Vec<String> = items.iter().map(|i| i.lease.worker_id.0.clone()).collect();
    let leases: Vec<Uuid> = items.iter().map(|i| i.lease.lease_id.0).collect();
    sqlx::query_as!(
        Locked,
        r#"SELECT j.number, j.worker_id AS "worker_id!", j.lease_id AS "lease_id!", j.attempt_count,
                  j.attempt_base, j.max_attempts, j.cancel_requested_at IS NOT NULL AS "cancel_requested!",
                  j.failure_streak_code AS streak_code, j.failure_streak_count AS streak_count, j.failure_timeline AS timeline
           FROM UNNEST($1::bigint[], $2::text[], $3::uuid[]) AS a(number, worker, lease)
           JOIN jobs j ON j.number = a.number
           WHERE j.worker_id = a.worker AND j.lease_id = a.lease
           ORDER BY j.number
           FOR UPDATE OF j"#,
        &numbers,
        &workers,
        &leases
    )
    .fetch_all(connection)
    .await
    .map_err(database)
}
