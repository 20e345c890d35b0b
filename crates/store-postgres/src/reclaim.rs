//! Taking jobs back from workers whose lease has run out. The lease is replaced under the row lock, so the lost
//! worker's next write finds it gone.

use crate::{
    PostgresStore,
    convert::moment,
    error::database,
    settle::{Locked, Settlement, any_ready, settle},
};
use async_trait::async_trait;
use leasehold_queue::{
    ReclaimLeases, Scope, StoreResult,
    params::{AttemptFacts, Reclaimed, Wake},
    transition::{Ending, LOST, Rules, judge},
    upkeep::Place,
};
use leasehold_types::{Timestamp, WorkerId};

#[async_trait]
impl ReclaimLeases for PostgresStore {
    async fn reclaim_in(
        &self,
        scope: &Scope,
        place: &Place,
        rules: &Rules,
        limit: u32,
    ) -> StoreResult<Vec<Reclaimed>> {
        let now = self.clock.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let expired = sqlx::query_as!(
            Locked,
            r#"SELECT number, worker_id AS "worker_id!", lease_id AS "lease_id!", attempt_count, attempt_base,
                      max_attempts, cancel_requested_at IS NOT NULL AS "cancel_requested!",
                      failure_streak_code AS streak_code, failure_streak_count AS streak_count,
                      failure_timeline AS timeline
               FROM jobs
               WHERE status = 'processing' AND leased_until <= $1 AND ($3::uuid IS NULL OR tenant_id = $3)
                 AND ($4::text IS NULL OR domain = $4) AND ($5::text IS NULL OR queue = $5)
                 AND ($6::text IS NULL OR job_type = $6)
               ORDER BY number LIMIT $2
               FOR UPDATE SKIP LOCKED"#,
            moment(now),
            i64::from(limit),
            scope.tenant().map(|t| t.0),
            place.domain,
            place.queue,
            place.job_type
        )
        .fetch_all(&mut *tx)
        .await
        .map_err(database)?;
        if expired.is_empty() {
            return Ok(Vec::new());
        }
        let mut settlements = Vec::with_capacity(expired.len());
        let mut reclaimed = Vec::with_capacity(expired.len());
        for row in expired {
            let settlement = lost(&row, rules, now)?;
            reclaimed.push(Reclaimed {
                number: row.number,
                status: settlement.verdict.status,
                worker_id: WorkerId(row.worker_id),
            });
            settlements.push(settlement);
        }
        let ready = any_ready(&settlements, now);
        settle(&mut tx, settlements, now, self.outbox).await?;
        tx.commit().await.map_err(database)?;
        if ready {
            self.directory.forget();
        }
        self.wakes.tell(if ready { &[Wake::Events, Wake::Jobs] } else { &[Wake::Events] });
        Ok(reclaimed)
    }
}

fn lost(row: &Locked, rules: &Rules, now: Timestamp) -> StoreResult<Settlement> {
    let timeline = row.timeline()?;
    let verdict = judge(&row.facts(&timeline), &Ending::Lost, None, rules, now, rand::random());
    Ok(Settlement {
        number: row.number,
        message: Some(LOST.to_owned()),
        stack: None,
        lost_worker: Some(row.worker_id.clone()),
        facts: AttemptFacts::default(),
        token: None,
        result: None,
        verdict,
        timeline,
    })
}
