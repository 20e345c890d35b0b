//! Claiming: one statement takes the jobs, tells the outbox and moves the counters.
//!
//! Each lane offers its first jobs under `FOR UPDATE SKIP LOCKED`; per tenant the offers are put into claim
//! order over all its lanes and cut at the tenant's share. Rows locked but cut are free again at once, when
//! the statement ends.
//!
//! Tenants with a limited lane are claimed in [`crate::limited`], with their fair part of the batch; what they
//! cannot use goes to the others, and the other way round.

use crate::{
    PostgresStore,
    convert::{moment, slot, stamp},
    error::database,
    lanes::{Lane, LaneName, Ration, ration},
    limited::{self, Errand},
};
use async_trait::async_trait;
use leasehold_queue::{
    ClaimJobs, StoreResult,
    params::{ClaimedJob, Lease, Selector, Wake},
};
use leasehold_types::{DefinitionId, JobId, LeaseId, TenantId, Timestamp, WorkerId};
use serde_json::Value;
use std::time::Duration;
use time::OffsetDateTime;
use uuid::Uuid;

pub(crate) struct ClaimedRecord {
    pub number: i64,
    pub id: Uuid,
    pub tenant_id: Uuid,
    pub tenant_slug: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub priority: i32,
    pub due: OffsetDateTime,
    pub definition_id: Option<Uuid>,
    pub payload: Value,
    pub checkpoint: Option<Value>,
    pub attempt_count: i32,
    pub max_attempts: i32,
    pub progress_percent: i16,
    pub lease_id: Uuid,
    pub leased_until: OffsetDateTime,
    pub trace_id: String,
    pub request_id: Option<String>,
}

impl ClaimedRecord {
    fn lane(&self) -> LaneName<'_> {
        (self.tenant_id, &self.domain, &self.queue, &self.job_type, self.priority)
    }

    fn into_job(self, worker: &WorkerId) -> ClaimedJob {
        ClaimedJob {
            lease: Lease { number: self.number, worker_id: worker.clone(), lease_id: LeaseId(self.lease_id) },
            id: JobId(self.id),
            tenant_id: TenantId(self.tenant_id),
            tenant_slug: self.tenant_slug,
            domain: self.domain,
            queue: self.queue,
            job_type: self.job_type,
            definition_id: self.definition_id.map(DefinitionId),
            payload: self.payload,
            checkpoint: self.checkpoint,
            attempt: self.attempt_count,
            max_attempts: self.max_attempts,
            progress: self.progress_percent,
            leased_until: stamp(self.leased_until),
            trace_id: self.trace_id,
            request_id: self.request_id,
        }
    }
}

#[async_trait]
impl ClaimJobs for PostgresStore {
    async fn claim(
        &self,
        worker: &WorkerId,
        selector: &Selector,
        n: u32,
        lease: Duration,
    ) -> StoreResult<Vec<ClaimedJob>> {
        let now = self.clock.now();
        let until = now.plus(lease.min(self.longest_lease));
        let errand = Errand { worker, selector, now, until };
        // One claim at a time in this process: two would meet at the same rows, and finding a row locked costs more
        // than taking it. Claims of other processes are passed by `SKIP LOCKED`.
        let turn = self.claims.lock().await;
        let mut taken;
        loop {
            let (lanes, remembered) = self.lanes(selector.tenant, now).await?;
            taken = self.take_round(&errand, &lanes, n as usize).await?;
            if taken.len() < n as usize {
                self.directory.forget();
            } else {
                self.directory.gave(&taken.iter().map(ClaimedRecord::lane).collect::<Vec<_>>());
            }
            // Some are better now than all a look later. A fresh look that gave nothing: whatever is left is in
            // other claimers' hands.
            if !taken.is_empty() || !remembered {
                break;
            }
        }
        drop(turn);
        if !taken.is_empty() {
            self.wakes.tell(&[Wake::Events]);
        }
        Ok(taken.into_iter().map(|r| r.into_job(worker)).collect())
    }
}

impl PostgresStore {
    async fn take_round(
        &self,
        errand: &Errand<'_>,
        lanes: &[Lane],
        missing: usize,
    ) -> StoreResult<Vec<ClaimedRecord>> {
        let turn = self.directory.next_turn();
        let (limited, free) = limited::apart(lanes, errand.selector);
        let fair = limited::fair_part(missing, &limited, &free, turn);
        let mut taken = self.take_limited(errand, &limited, fair, turn).await?;
        let limited_have_more = taken.len() == fair;
        let rations = ration(free, (missing - taken.len()) as i64, turn);
        if !rations.is_empty() && !errand.selector.gate.is_shut() {
            let from_free = self.take_from(errand.worker, &rations, errand.now, errand.until).await?;
            taken.extend(in_claim_order(from_free));
        }
        if taken.len() < missing && limited_have_more {
            taken.extend(self.take_limited(errand, &limited, missing - taken.len(), turn).await?);
        }
        Ok(taken)
    }

    #[expect(clippy::too_many_lines, reason = "one statement and its binds")]
    async fn take_from(
        &self,
        worker: &WorkerId,
        rations: &[Ration<'_>],
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<Vec<ClaimedRecord>> {
        let tenants: Vec<Uuid> = rations.iter().map(|r| r.lane.tenant).collect();
        let domains: Vec<String> = rations.iter().map(|r| r.lane.domain.clone()).collect();
        let queues: Vec<String> = rations.iter().map(|r| r.lane.queue.clone()).collect();
        let types: Vec<String> = rations.iter().map(|r| r.lane.job_type.clone()).collect();
        let priorities: Vec<i32> = rations.iter().map(|r| r.lane.priority).collect();
        let shares: Vec<i64> = rations.iter().map(|r| r.share).collect();
        sqlx::query_as!(
            ClaimedRecord,
            r#"WITH offered AS MATERIALIZED (
                 SELECT j.number, j.due, l.tenant_id, l.priority, l.share
                 FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::text[], $5::int[], $6::bigint[])
                        AS l(tenant_id, domain, queue, job_type, priority, share)
                 CROSS JOIN LATERAL (
                   SELECT q.number, COALESCE(q.available_at, q.created_at) AS due FROM jobs q
                   WHERE q.status = 'queued' AND q.tenant_id = l.tenant_id AND q.domain = l.domain
                     AND q.queue = l.queue AND q.job_type = l.job_type AND q.priority = l.priority
                     AND COALESCE(q.available_at, q.created_at) <= $7
                   ORDER BY COALESCE(q.available_at, q.created_at), q.number
                   LIMIT l.share
                   FOR UPDATE SKIP LOCKED) j),
               picked AS MATERIALIZED (
                 SELECT number FROM (
                   SELECT number, share,
                          row_number() OVER (PARTITION BY tenant_id ORDER BY priority, due, number) AS place
                   FROM offered) ranked
                 WHERE place <= share),
               -- An array and no join: how many were picked is unknown to the planner, and for a join with many it
               -- would read the whole table.
               taken AS (
                 UPDATE jobs j
                 SET status = 'processing', worker_id = $8, lease_id = gen_random_uuid(), leased_until = $9,
                     acquired_at = $7, started_at = COALESCE(j.started_at, $7), updated_at = $7,
                     attempt_count = j.attempt_count + 1, completion_token = NULL, running_pid = NULL,
                     stage = NULL, error_code = NULL, error_class = NULL, error_message = NULL, error_stack = NULL
                 WHERE j.number = ANY(ARRAY(SELECT number FROM picked))
                 RETURNING j.number, j.id, j.tenant_id, j.domain, j.queue, j.job_type, j.priority,
                           COALESCE(j.available_at, j.created_at) AS due, j.definition_id, j.payload, j.checkpoint,
                           j.attempt_count, j.max_attempts, j.progress_percent, j.lease_id, j.leased_until,
                           j.trace_id, j.request_id),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, attrs, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, 'job.started', 'processing', attempt_count,
                        progress_percent, $10, $7
                 FROM taken WHERE $12),
               counted AS (
                 INSERT INTO job_counter_deltas (tenant_id, domain, queue, job_type, status, delta, slot)
                 SELECT t.tenant_id, t.domain, t.queue, t.job_type, m.status, m.sign * t.jobs, $11
                 FROM (SELECT tenant_id, domain, queue, job_type, count(*) AS jobs FROM taken
                       GROUP BY tenant_id, domain, queue, job_type) t
                 CROSS JOIN (VALUES ('queued', -1), ('processing', 1)) m(status, sign))
               SELECT t.number, t.id, t.tenant_id, n.slug AS tenant_slug, t.domain, t.queue, t.job_type,
                      t.priority, t.due AS "due!", t.definition_id, t.payload, t.checkpoint, t.attempt_count, t.max_attempts,
                      t.progress_percent, t.lease_id AS "lease_id!", t.leased_until AS "leased_until!",
                      t.trace_id, t.request_id
               FROM taken t JOIN tenants n ON n.id = t.tenant_id"#,
            &tenants,
            &domains,
            &queues,
            &types,
            &priorities,
            &shares,
            moment(now),
            worker.0,
            moment(until),
            serde_json::json!({ "worker": worker.0 }),
            slot(now),
            self.outbox
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)
    }
}

/// Every tenant's first job, then every tenant's second, and so on.
fn in_claim_order(mut records: Vec<ClaimedRecord>) -> impl Iterator<Item = ClaimedRecord> {
    records.sort_by_key(|r| (r.tenant_id, r.priority, r.due, r.number));
    let mut places = Vec::with_capacity(records.len());
    for own in records.chunk_by(|a, b| a.tenant_id == b.tenant_id) {
        places.extend(0..own.len());
    }
    let mut ordered: Vec<_> = places.into_iter().zip(records).collect();
    ordered.sort_by_key(|(place, r)| (*place, r.priority, r.due, r.number));
    ordered.into_iter().map(|(_, record)| record)
}
