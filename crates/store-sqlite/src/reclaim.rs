//! Jobs taken back from workers that were not heard of. The lease goes under the writer's lock, so the lost
//! worker's next write finds it gone.

use crate::{
    SqliteStore,
    convert::limit,
    error::Outcome,
    settle::{End, Settlement},
    standing::standings,
};
use leasehold_queue::{
    params::{AttemptFacts, Reclaimed},
    transition::{Ending, Rules},
};
use leasehold_types::{Timestamp, WorkerId};
use sqlx::SqliteConnection;

pub(crate) async fn reclaim_expired(store: &SqliteStore, rules: &Rules, max: u32) -> Outcome<Vec<Reclaimed>> {
    let now = store.clock.now();
    // Mostly there is nothing to do: look without the writer's lock first.
    if expired(&mut *store.read.acquire().await?, 1, now).await?.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = store.begin().await?;
    let numbers = expired(&mut tx, max, now).await?;
    let mut settlement = Settlement::default();
    let mut reclaimed = Vec::with_capacity(numbers.len());
    let lost = End {
        ending: &Ending::Lost,
        result: None,
        facts: &AttemptFacts::default(),
        token: None,
        policy: None,
    };
    for mut job in standings(&mut tx, &numbers).await? {
        let worker_id = WorkerId(job.holder.as_ref().map(|(worker, _)| worker.clone()).unwrap_or_default());
        let status = settlement.end(&mut job, &lost, rules, now)?;
        reclaimed.push(Reclaimed { number: job.number, status, worker_id });
    }
    settlement.write(&mut tx, now).await?;
    tx.commit().await?;
    store.ring_after(&settlement, now);
    reclaimed.sort_by_key(|job| job.number);
    Ok(reclaimed)
}

/// The first jobs whose lease has run out.
async fn expired(connection: &mut SqliteConnection, max: u32, now: Timestamp) -> Outcome<Vec<i64>> {
    let (max, now) = (limit(max), now.to_string());
    let numbers = sqlx::query_scalar!(
        r#"SELECT number AS "number!: i64" FROM jobs
           WHERE status = 'processing' AND leased_until <= ?1 ORDER BY number LIMIT ?2"#,
        now,
        max
    )
    .fetch_all(connection)
    .await?;
    Ok(numbers)
}
