//! The overview of one tenant: counts from the counters, the rest by a few index probes per lane. Nothing here
//! counts the jobs table, so the page costs the same over ten million jobs.

use crate::{
    PostgresStore,
    convert::{JobRecord, moment, slot, stamp, word},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    OverviewQueries, Scope, StoreResult, ports::steering::SteeringQueries, silence::SILENT_AFTER,
};
use leasehold_types::{
    JobStatus, Problem, TenantId, Timestamp,
    view::{JobRow, Overview, QueueCard},
};
use std::collections::{BTreeMap, HashSet};
use time::OffsetDateTime;

const SLOTS: usize = 60;
/// Scheduled jobs of a lane are counted one by one up to here; where there are more, ready ones are counted.
const FEW: i64 = 100;
/// As many are counted at most; where there are more of both, scheduled ones are counted up to here.
const MANY: i64 = 10_000;
const FAILURES_SHOWN: i64 = 5;
const RUNNING_SHOWN: i64 = 10;

type Cards = BTreeMap<(String, String), QueueCard>;

#[async_trait]
impl OverviewQueries for PostgresStore {
    async fn overview(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Overview> {
        if !scope.reaches(tenant) {
            return Err(Problem::not_found("This tenant").into());
        }
        let now = self.clock.now();
        let cursor = self.safe_cursor().await?;
        let mut cards = self.counted_cards(tenant).await?;
        self.split_waiting(tenant, now, &mut cards).await?;
        self.add_rates(tenant, now, &mut cards).await?;
        let workers_live = self.mark_served(now, &mut cards).await?;
        for control in self.queue_controls().await? {
            if let Some(card) = cards.get_mut(&(control.domain, control.queue)) {
                (card.paused, card.draining) = (control.paused, control.draining);
            }
        }
        Ok(Overview {
            cards: cards.into_values().collect(),
            recent_failures: self
                .newest(
                    tenant,
                    &[JobStatus::Failed, JobStatus::DeadLetter, JobStatus::Quarantined],
                    FAILURES_SHOWN,
                )
                .await?,
            running: self.newest(tenant, &[JobStatus::Processing], RUNNING_SHOWN).await?,
            workers_live,
            now,
            cursor,
        })
    }
}

impl PostgresStore {
    async fn counted_cards(&self, tenant: TenantId) -> StoreResult<Cards> {
        let rows = sqlx::query!(
            r#"SELECT domain AS "domain!", queue AS "queue!", status AS "status!", sum(jobs)::bigint AS "jobs!"
               FROM (SELECT domain, queue, status, jobs FROM job_counters WHERE tenant_id = $1
                     UNION ALL
                     SELECT domain, queue, status, delta FROM job_counter_deltas WHERE tenant_id = $1) c
               GROUP BY domain, queue, status"#,
            tenant.0
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let mut cards = Cards::new();
        for r in rows {
            let card = cards.entry((r.domain.clone(), r.queue.clone())).or_insert_with(|| QueueCard {
                domain: r.domain,
                queue: r.queue,
                finished_per_slot: vec![0; SLOTS],
                failed_per_slot: vec![0; SLOTS],
                ..QueueCard::default()
            });
            *match word("job_counters", "status", &r.status)? {
                JobStatus::Queued => &mut card.queued,
                JobStatus::Processing => &mut card.running,
                JobStatus::Completed => &mut card.completed,
                JobStatus::Failed => &mut card.failed,
                JobStatus::DeadLetter => &mut card.dead_letter,
                JobStatus::Quarantined => &mut card.quarantined,
                JobStatus::Cancelled => &mut card.cancelled,
            } = r.jobs.max(0);
        }
        Ok(cards)
    }

    /// Splits what waits into ready and scheduled, by counting whichever is few, the same one for all lanes of a queue.
    /// Scheduled jobs usually are.
    async fn split_waiting(&self, tenant: TenantId, now: Timestamp, cards: &mut Cards) -> StoreResult<()> {
        let mut waiting: BTreeMap<(String, String), Waiting> = BTreeMap::new();
        for lane in self.waiting_lanes(tenant, moment(now)).await? {
            waiting.entry((lane.domain.clone(), lane.queue.clone())).or_default().add(lane);
        }
        for (key, found) in waiting {
            let Some(card) = cards.get_mut(&key) else { continue };
            let total = card.queued;
            if found.by_ready {
                card.queued = found.ready.min(total);
                card.scheduled = total - card.queued;
            } else {
                card.scheduled = found.scheduled.min(total);
                card.scheduled_capped = found.capped;
                card.queued = total - card.scheduled;
            }
            card.oldest_queued_at = found.oldest.map(stamp);
        }
        Ok(())
    }

    async fn waiting_lanes(&self, tenant: TenantId, now: OffsetDateTime) -> StoreResult<Vec<WaitingLane>> {
        sqlx::query_as!(
            WaitingLane,
            r#"WITH RECURSIVE lane AS (
                 (SELECT domain, queue, job_type, priority FROM jobs WHERE status = 'queued' AND tenant_id = $1
                  ORDER BY domain, queue, job_type, priority LIMIT 1)
                 UNION ALL
                 SELECT n.domain, n.queue, n.job_type, n.priority
                 FROM lane l CROSS JOIN LATERAL (
                   SELECT j.domain, j.queue, j.job_type, j.priority FROM jobs j
                   WHERE j.status = 'queued' AND j.tenant_id = $1
                     AND (j.domain, j.queue, j.job_type, j.priority) > (l.domain, l.queue, l.job_type, l.priority)
                   ORDER BY j.domain, j.queue, j.job_type, j.priority LIMIT 1) n),
               probed AS (
                 SELECT l.*, o.due AS oldest,
                   (SELECT count(*) FROM (
                      SELECT FROM jobs j
                      WHERE j.status = 'queued' AND j.tenant_id = $1 AND j.domain = l.domain
                        AND j.queue = l.queue AND j.job_type = l.job_type AND j.priority = l.priority
                        AND COALESCE(j.available_at, j.created_at) > $2 LIMIT $3) later) AS scheduled
                 FROM lane l LEFT JOIN LATERAL (
                   SELECT COALESCE(j.available_at, j.created_at) AS due FROM jobs j
                   WHERE j.status = 'queued' AND j.tenant_id = $1 AND j.domain = l.domain AND j.queue = l.queue
                     AND j.job_type = l.job_type AND j.priority = l.priority
                     AND COALESCE(j.available_at, j.created_at) <= $2
                   ORDER BY COALESCE(j.available_at, j.created_at) LIMIT 1) o ON TRUE),
               hinted AS (
                 SELECT p.*, bool_or(p.scheduled >= $3) OVER (PARTITION BY p.domain, p.queue) AS many_scheduled
                 FROM probed p),
               counted AS (
                 SELECT h.*, CASE WHEN h.many_scheduled THEN (
                   SELECT count(*) FROM (
                     SELECT FROM jobs j
                     WHERE j.status = 'queued' AND j.tenant_id = $1 AND j.domain = h.domain
                       AND j.queue = h.queue AND j.job_type = h.job_type AND j.priority = h.priority
                       AND COALESCE(j.available_at, j.created_at) <= $2 LIMIT $4) due) END AS ready
                 FROM hinted h),
               judged AS (
                 SELECT c.*, COALESCE(bool_or(c.ready >= $4) OVER (PARTITION BY c.domain, c.queue), FALSE) AS many_ready
                 FROM counted c)
               SELECT c.domain AS "domain!", c.queue AS "queue!", c.oldest AS "oldest?",
                      CASE WHEN c.many_ready THEN (
                        SELECT count(*) FROM (
                          SELECT FROM jobs j
                          WHERE j.status = 'queued' AND j.tenant_id = $1 AND j.domain = c.domain
                            AND j.queue = c.queue AND j.job_type = c.job_type AND j.priority = c.priority
                            AND COALESCE(j.available_at, j.created_at) > $2 LIMIT $4) later)
                      ELSE c.scheduled END AS "scheduled!",
                      c.many_scheduled AND NOT c.many_ready AS "by_ready!", c.ready
               FROM judged c"#,
            tenant.0,
            now,
            FEW,
            MANY
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)
    }

    async fn add_rates(&self, tenant: TenantId, now: Timestamp, cards: &mut Cards) -> StoreResult<()> {
        let first = slot(now) - (SLOTS as i64 - 1);
        let rows = sqlx::query!(
            r#"SELECT slot AS "slot!", domain AS "domain!", queue AS "queue!", status AS "status!",
                      sum(jobs)::bigint AS "jobs!"
               FROM (SELECT slot, domain, queue, status, jobs FROM job_rates
                     WHERE tenant_id = $1 AND slot BETWEEN $2 AND $3
                     UNION ALL
                     SELECT slot, domain, queue, status, delta FROM job_counter_deltas
                     WHERE tenant_id = $1 AND slot BETWEEN $2 AND $3 AND delta > 0
                       AND status NOT IN ('queued', 'processing')) r
               GROUP BY slot, domain, queue, status"#,
            tenant.0,
            first,
            slot(now)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        for r in rows {
            let Some(card) = cards.get_mut(&(r.domain, r.queue)) else { continue };
            let index = (r.slot - first) as usize;
            let jobs = u32::try_from(r.jobs).unwrap_or(u32::MAX);
            let bar = match word("job_rates", "status", &r.status)? {
                JobStatus::Completed => &mut card.finished_per_slot[index],
                JobStatus::Failed | JobStatus::DeadLetter | JobStatus::Quarantined => {
                    &mut card.failed_per_slot[index]
                }
                _ => continue,
            };
            *bar = bar.saturating_add(jobs);
        }
        Ok(())
    }

    /// Marks queues with ready jobs that no live worker serves; how many workers live.
    async fn mark_served(&self, now: Timestamp, cards: &mut Cards) -> StoreResult<i64> {
        let rows = sqlx::query_scalar!(
            "SELECT queues FROM job_workers WHERE last_seen_at >= $1",
            moment(now.minus(SILENT_AFTER))
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let live = rows.len() as i64;
        let mut served: HashSet<String> = HashSet::new();
        for queues in rows {
            served.extend(crate::convert::parsed::<Vec<String>>("job_workers", "queues", queues)?);
        }
        for ((domain, queue), card) in cards {
            let names = [format!("{domain}/{queue}"), format!("{domain}/*"), "*/*".to_owned()];
            card.unserved = card.queued > 0 && !names.iter().any(|name| served.contains(name));
        }
        Ok(live)
    }

    async fn newest(&self, tenant: TenantId, statuses: &[JobStatus], limit: i64) -> StoreResult<Vec<JobRow>> {
        let statuses: Vec<String> = statuses.iter().map(|s| s.as_str().to_owned()).collect();
        sqlx::query_as!(
            JobRecord,
            r#"SELECT j.number, j.id, j.domain, j.queue, j.job_type, j.source, j.status, j.priority,
                      j.attempt_count, j.attempt_base, j.max_attempts, j.created_at, j.available_at, j.started_at,
                      j.acquired_at, j.completed_at, j.worker_id, last.worker_id AS "last_worker_id?",
                      last.started_at AS "last_started_at?", last.finished_at AS "last_finished_at?", j.stage,
                      j.progress_percent, j.progress_message, j.error_code, j.cancel_requested_at
               FROM UNNEST($2::text[]) s(status)
               CROSS JOIN LATERAL (SELECT * FROM jobs WHERE tenant_id = $1 AND status = s.status
                                   ORDER BY -number LIMIT $3) j
               LEFT JOIN LATERAL (SELECT a.worker_id, a.started_at, a.finished_at FROM job_attempts a
                                  WHERE a.job_number = j.number AND a.attempt = j.attempt_count LIMIT 1) last ON TRUE
               ORDER BY j.number DESC LIMIT $3"#,
            tenant.0,
            &statuses,
            limit
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?
        .into_iter()
        .map(TryInto::try_into)
        .collect()
    }
}

/// What waits in one lane.
struct WaitingLane {
    domain: String,
    queue: String,
    oldest: Option<OffsetDateTime>,
    scheduled: i64,
    /// The ready jobs were counted, because there are too many scheduled ones.
    by_ready: bool,
    ready: Option<i64>,
}

/// What waits in one queue.
#[derive(Default)]
struct Waiting {
    scheduled: i64,
    ready: i64,
    by_ready: bool,
    /// There may be more scheduled ones than were counted.
    capped: bool,
    oldest: Option<OffsetDateTime>,
}

impl Waiting {
    fn add(&mut self, lane: WaitingLane) {
        self.capped |= !lane.by_ready && lane.scheduled >= MANY;
        self.scheduled += lane.scheduled;
        self.ready += lane.ready.unwrap_or(0);
        self.by_ready |= lane.by_ready;
        self.oldest = match (self.oldest, lane.oldest) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}
