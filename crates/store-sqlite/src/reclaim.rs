//! Jobs taken back from workers that were not heard of. The lease goes under the writer's lock, so the lost
//! worker's next write finds it gone.

use crate::{
    SqliteStore,
    convert::limit,
    error::{Outcome, outcome},
    settle::{End, Settlement},
    standing::standings,
};
use async_trait::async_trait;
use leasehold_queue::{
    ReclaimLeases, Scope, StoreResult,
    params::{AttemptFacts, Reclaimed},
    transition::{Ending, Rules},
    upkeep::Place,
};
use leasehold_types::{Timestamp, WorkerId};
use sqlx::SqliteConnection;

#[async_trait]
impl ReclaimLeases for SqliteStore {
    async fn reclaim_in(
        &self,
        scope: &Scope,
        place: &Place,
        rules: &Rules,
        limit: u32,
    ) -> StoreResult<Vec<Reclaimed>> {
        outcome(async {
            let now = self.clock.now();
            // Mostly there is nothing to do: look without the writer's lock first.
            if expired(&mut *self.read.acquire().await?, scope, place, 1, now).await?.is_empty() {
                return Ok(Vec::new());
            }
            let mut tx = self.begin().await?;
            let numbers = expired(&mut tx, scope, place, limit, now).await?;
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
                let worker_id =
                    WorkerId(job.holder.as_ref().map(|(worker, _)| worker.clone()).unwrap_or_default());
                let status = settlement.end(&mut job, &lost, rules, now)?;
                reclaimed.push(Reclaimed { number: job.number, status, worker_id });
            }
            settlement.write(&mut tx, now).await?;
            tx.commit().await?;
            self.ring_after(&settlement, now);
            reclaimed.sort_by_key(|job| job.number);
            Ok(reclaimed)
        })
        .await
    }
}

/// The first jobs whose lease has run out.
async fn expired(
    connection: &mut SqliteConnection,
    scope: &Scope,
    place: &Place,
    max: u32,
    now: Timestamp,
) -> Outcome<Vec<i64>> {
    let (max, now) = (limit(max), now.to_string());
    let only = scope.tenant().map(|id| id.to_string());
    let numbers = sqlx::query_scalar!(
        r#"SELECT number AS "number!: i64" FROM jobs
           WHERE status = 'processing' AND leased_until <= ?1 AND (?3 IS NULL OR tenant_id = ?3)
             AND (?4 IS NULL OR domain = ?4) AND (?5 IS NULL OR queue = ?5) AND (?6 IS NULL OR job_type = ?6)
           ORDER BY number LIMIT ?2"#,
        now,
        max,
        only,
        place.domain,
        place.queue,
        place.job_type
    )
    .fetch_all(connection)
    .await?;
    Ok(numbers)
}
