//! How many jobs of each kind stand where: from the counters, and a few index probes per lane for what passes with
//! time.

use crate::{
    PostgresStore,
    convert::{moment, stamp_if, word},
    error::database,
};
use leasehold_queue::{Scope, StoreResult};
use leasehold_types::{
    TenantId, Timestamp,
    browse::{KindCounts, KindFilter},
};
use std::collections::BTreeMap;
use time::OffsetDateTime;

/// Scheduled jobs of a lane are counted one by one up to here.
const COUNT_CAP: i64 = 10_000;

type Kinds = BTreeMap<(String, String, String), KindCounts>;

struct WaitingLane {
    domain: String,
    queue: String,
    job_type: String,
    scheduled: i64,
    oldest: Option<OffsetDateTime>,
}

impl PostgresStore {
    pub(crate) async fn counted_kinds(
        &self,
        scope: &Scope,
        filter: &KindFilter,
    ) -> StoreResult<Vec<KindCounts>> {
        let mut kinds = self.kinds_from_counters(scope.tenant(), filter).await?;
        for lane in self.lanes_waiting(scope.tenant(), filter, self.clock.now()).await? {
            let Some(kind) = kinds.get_mut(&(lane.domain, lane.queue, lane.job_type)) else { continue };
            // The counters say how many wait; which of them are due only the index knows.
            kind.scheduled_capped |= lane.scheduled >= COUNT_CAP;
            let scheduled = lane.scheduled.min(kind.queued);
            kind.queued -= scheduled;
            kind.scheduled += scheduled;
            let oldest = stamp_if(lane.oldest);
            kind.oldest_queued_at = [kind.oldest_queued_at, oldest].into_iter().flatten().min();
        }
        Ok(kinds.into_values().collect())
    }

    async fn kinds_from_counters(&self, tenant: Option<TenantId>, filter: &KindFilter) -> StoreResult<Kinds> {
        let rows = sqlx::query!(
            r#"SELECT domain AS "domain!", queue AS "queue!", job_type AS "job_type!", status AS "status!",
                      sum(jobs)::bigint AS "jobs!"
               FROM (SELECT tenant_id, domain, queue, job_type, status, jobs FROM job_counters
                     UNION ALL
                     SELECT tenant_id, domain, queue, job_type, status, delta FROM job_counter_deltas) c
               WHERE ($1::uuid IS NULL OR tenant_id = $1) AND ($2::text IS NULL OR domain = $2)
                 AND ($3::text IS NULL OR queue = $3) AND ($4::text IS NULL OR job_type = $4)
               GROUP BY domain, queue, job_type, status"#,
            tenant.map(|t| t.0),
            filter.domain,
            filter.queue,
            filter.job_type
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let mut kinds = Kinds::new();
        for r in rows {
            let key = (r.domain.clone(), r.queue.clone(), r.job_type.clone());
            let kind = kinds.entry(key).or_insert_with(|| KindCounts {
                domain: r.domain,
                queue: r.queue,
                job_type: r.job_type,
                ..KindCounts::default()
            });
            *kind.of(word("job_counters", "status", &r.status)?) = r.jobs.max(0);
        }
        Ok(kinds)
    }

    /// From lane to lane over the index, as claims go.
    async fn lanes_waiting(
        &self,
        tenant: Option<TenantId>,
        filter: &KindFilter,
        now: Timestamp,
    ) -> StoreResult<Vec<WaitingLane>> {
        sqlx::query_as!(
            WaitingLane,
            r#"WITH RECURSIVE lane AS (
                 (SELECT t.id AS tenant_id, n.domain, n.queue, n.job_type, n.priority
                  FROM tenants t CROSS JOIN LATERAL (
                    SELECT j.domain, j.queue, j.job_type, j.priority FROM jobs j
                    WHERE j.status = 'queued' AND j.tenant_id = t.id
                    ORDER BY j.domain, j.queue, j.job_type, j.priority LIMIT 1) n
                  WHERE $1::uuid IS NULL OR t.id = $1)
                 UNION ALL
                 SELECT l.tenant_id, n.domain, n.queue, n.job_type, n.priority
                 FROM lane l CROSS JOIN LATERAL (
                   SELECT j.domain, j.queue, j.job_type, j.priority FROM jobs j
                   WHERE j.status = 'queued' AND j.tenant_id = l.tenant_id
                     AND (j.domain, j.queue, j.job_type, j.priority) > (l.domain, l.queue, l.job_type, l.priority)
                   ORDER BY j.domain, j.queue, j.job_type, j.priority LIMIT 1) n)
               SELECT l.domain AS "domain!", l.queue AS "queue!", l.job_type AS "job_type!",
                 (SELECT count(*) FROM (
                    SELECT FROM jobs j
                    WHERE j.status = 'queued' AND j.tenant_id = l.tenant_id AND j.domain = l.domain
                      AND j.queue = l.queue AND j.job_type = l.job_type AND j.priority = l.priority
                      AND COALESCE(j.available_at, j.created_at) > $2 LIMIT $3) later) AS "scheduled!",
                 (SELECT COALESCE(j.available_at, j.created_at) FROM jobs j
                  WHERE j.status = 'queued' AND j.tenant_id = l.tenant_id AND j.domain = l.domain
                    AND j.queue = l.queue AND j.job_type = l.job_type AND j.priority = l.priority
                    AND COALESCE(j.available_at, j.created_at) <= $2
                  ORDER BY COALESCE(j.available_at, j.created_at) LIMIT 1) AS oldest
               FROM lane l
               WHERE ($4::text IS NULL OR l.domain = $4) AND ($5::text IS NULL OR l.queue = $5)
                 AND ($6::text IS NULL OR l.job_type = $6)"#,
            tenant.map(|t| t.0),
            moment(now),
            COUNT_CAP,
            filter.domain,
            filter.queue,
            filter.job_type
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)
    }
}
