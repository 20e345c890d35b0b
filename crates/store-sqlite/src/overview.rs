//! The overview of one tenant: cards from the counters, never by counting the jobs table.
//!
//! Only what passes with time is looked up in the index: which queued jobs are ready and which still wait.
//! Both are counted lane by lane up to a cap, so the page costs the same however long the queues are.

use crate::{
    SqliteStore,
    convert::Table,
    counters::slot_of,
    error::{Outcome, outcome},
    lanes::{self, Lane},
    list, outbox, workers,
};
use async_trait::async_trait;
use leasehold_queue::{OverviewQueries, Scope, StoreResult, silence::SILENT_AFTER};
use leasehold_types::{
    JobFilter, JobStatus, Problem, TenantId, Timestamp,
    view::{Overview, QueueCard},
};
use sqlx::SqliteConnection;
use std::collections::BTreeMap;

const COUNTERS: Table = Table("job_counters");
const RATES: Table = Table("job_rates");
const LANES: Table = Table("jobs");
const WORKERS: Table = Table("job_workers");
/// Slots of the throughput chart: five minutes.
const SLOTS: usize = 60;
/// Ready or waiting jobs are counted one by one up to here.
pub(crate) const COUNT_CAP: i64 = 10_000;
const FAILURES_SHOWN: u32 = 5;
const RUNNING_SHOWN: u32 = 10;

type Cards = BTreeMap<(String, String), QueueCard>;

#[async_trait]
impl OverviewQueries for SqliteStore {
    async fn overview(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Overview> {
        outcome(async {
            if !scope.reaches(tenant) {
                return Err(Problem::not_found("This tenant").into());
            }
            // One snapshot: the cursor must be that of the counts.
            let mut snapshot = self.read.begin().await?;
            let now = self.clock.now();
            let id = tenant.to_string();
            let cursor = outbox::newest(&mut snapshot).await?;
            let mut cards = counted(&mut snapshot, &id).await?;
            split_waiting(&mut snapshot, &mut cards, &id, now).await?;
            add_rates(&mut snapshot, &mut cards, &id, now).await?;
            add_controls(&mut snapshot, &mut cards).await?;
            let served = live_workers(&mut snapshot, now).await?;
            for card in cards.values_mut() {
                card.unserved = card.queued > 0
                    && !served.iter().any(|queues| workers::serves(queues, &card.domain, &card.queue));
            }
            let failures = vec![JobStatus::Failed, JobStatus::DeadLetter, JobStatus::Quarantined];
            let failures = JobFilter { statuses: failures, ..JobFilter::default() };
            let running = JobFilter { statuses: vec![JobStatus::Processing], ..JobFilter::default() };
            Ok(Overview {
                cards: cards.into_values().collect(),
                recent_failures: list::newest(&mut snapshot, Some(tenant), &failures, None, FAILURES_SHOWN)
                    .await?,
                running: list::newest(&mut snapshot, Some(tenant), &running, None, RUNNING_SHOWN).await?,
                workers_live: served.len() as i64,
                now,
                cursor,
            })
        })
        .await
    }
}

/// One card per queue that has had a job, from the counters; all queued jobs count as ready for now.
async fn counted(connection: &mut SqliteConnection, tenant: &str) -> Outcome<Cards> {
    let rows = sqlx::query!(
        r#"SELECT domain AS "domain!: String", queue AS "queue!: String", status AS "status!: String",
                  SUM(jobs) AS "jobs!: i64"
           FROM job_counters WHERE tenant_id = ?1 GROUP BY domain, queue, status"#,
        tenant
    )
    .fetch_all(connection)
    .await?;
    let mut cards = Cards::new();
    for row in rows {
        let status: JobStatus = COUNTERS.parse("status", &row.status)?;
        let card = cards.entry((row.domain.clone(), row.queue.clone())).or_insert_with(|| QueueCard {
            domain: row.domain,
            queue: row.queue,
            finished_per_slot: vec![0; SLOTS],
            failed_per_slot: vec![0; SLOTS],
            ..QueueCard::default()
        });
        *field_of(card, status) += row.jobs;
    }
    Ok(cards)
}

fn field_of(card: &mut QueueCard, status: JobStatus) -> &mut i64 {
    match status {
        JobStatus::Queued => &mut card.queued,
        JobStatus::Processing => &mut card.running,
        JobStatus::Completed => &mut card.completed,
        JobStatus::Failed => &mut card.failed,
        JobStatus::Cancelled => &mut card.cancelled,
        JobStatus::DeadLetter => &mut card.dead_letter,
        JobStatus::Quarantined => &mut card.quarantined,
    }
}

/// Tells ready jobs from those that wait for a time, and finds the one that has been ready longest.
async fn split_waiting(
    connection: &mut SqliteConnection,
    cards: &mut Cards,
    tenant: &str,
    now: Timestamp,
) -> Outcome<()> {
    let now = now.to_string();
    let mut by_queue: BTreeMap<(String, String), Vec<Lane>> = BTreeMap::new();
    for lane in lanes::all(connection, Some(tenant)).await? {
        by_queue.entry((lane.domain.clone(), lane.queue.clone())).or_default().push(lane);
    }
    for (name, lanes) in by_queue {
        let Some(card) = cards.get_mut(&name) else { continue };
        let oldest = lanes.iter().map(|lane| &lane.due_since).filter(|due| **due <= now).min();
        card.oldest_queued_at = LANES.time_opt("available_at", oldest.map(String::as_str))?;
        let queued = card.queued;
        let ready = count_lanes(connection, &lanes, &now, true).await?;
        // Past the cap the other side is counted; when both are long, ready takes what is left.
        card.scheduled = if ready < COUNT_CAP {
            (queued - ready).max(0)
        } else {
            let waiting = count_lanes(connection, &lanes, &now, false).await?;
            card.scheduled_capped = waiting >= COUNT_CAP;
            waiting.min(queued)
        };
        card.queued = queued - card.scheduled;
    }
    Ok(())
}

/// How many jobs of these lanes are ready (or, if not `ready`, still wait), up to the cap.
async fn count_lanes(
    connection: &mut SqliteConnection,
    lanes: &[Lane],
    now: &str,
    ready: bool,
) -> Outcome<i64> {
    let mut counted = 0;
    for lane in lanes {
        if counted >= COUNT_CAP {
            break;
        }
        counted += count_lane(connection, lane, now, ready, COUNT_CAP - counted).await?;
    }
    Ok(counted)
}

pub(crate) async fn count_lane(
    connection: &mut SqliteConnection,
    lane: &Lane,
    now: &str,
    ready: bool,
    cap: i64,
) -> Outcome<i64> {
    // Two bounds instead of a condition on `ready`, so that the index serves both questions.
    let (from, to) = if ready { ("", now) } else { (now, "~") };
    let jobs = sqlx::query_scalar!(
        r#"SELECT COUNT(*) AS "jobs!: i64" FROM (
             SELECT 1 FROM jobs
             WHERE status = 'queued' AND tenant_id = ?1 AND domain = ?2 AND queue = ?3 AND job_type = ?4
               AND priority = ?5 AND COALESCE(available_at, created_at) > ?6
               AND COALESCE(available_at, created_at) <= ?7
             LIMIT ?8)"#,
        lane.tenant_id,
        lane.domain,
        lane.queue,
        lane.job_type,
        lane.priority,
        from,
        to,
        cap
    )
    .fetch_one(connection)
    .await?;
    Ok(jobs)
}

async fn add_rates(
    connection: &mut SqliteConnection,
    cards: &mut Cards,
    tenant: &str,
    now: Timestamp,
) -> Outcome<()> {
    let newest = slot_of(now);
    let oldest = newest - SLOTS as i64 + 1;
    let rows = sqlx::query!(
        "SELECT slot, domain, queue, status, jobs FROM job_rates
         WHERE tenant_id = ?1 AND slot BETWEEN ?2 AND ?3",
        tenant,
        oldest,
        newest
    )
    .fetch_all(connection)
    .await?;
    for row in rows {
        let Some(card) = cards.get_mut(&(row.domain, row.queue)) else { continue };
        let place: usize = RATES.int("slot", row.slot - oldest)?;
        let jobs: u32 = RATES.int("jobs", row.jobs)?;
        match RATES.parse("status", &row.status)? {
            JobStatus::Completed => card.finished_per_slot[place] += jobs,
            JobStatus::Failed | JobStatus::DeadLetter | JobStatus::Quarantined => {
                card.failed_per_slot[place] += jobs;
            }
            _ => {}
        }
    }
    Ok(())
}

async fn add_controls(connection: &mut SqliteConnection, cards: &mut Cards) -> Outcome<()> {
    let rows = sqlx::query!(
        r#"SELECT domain, queue, paused AS "paused: bool", draining AS "draining: bool" FROM job_queue_controls"#
    )
    .fetch_all(connection)
    .await?;
    for row in rows {
        if let Some(card) = cards.get_mut(&(row.domain, row.queue)) {
            (card.paused, card.draining) = (row.paused, row.draining);
        }
    }
    Ok(())
}

/// What each live worker serves.
async fn live_workers(connection: &mut SqliteConnection, now: Timestamp) -> Outcome<Vec<Vec<String>>> {
    let since = now.minus(SILENT_AFTER).to_string();
    let rows = sqlx::query_scalar!("SELECT queues FROM job_workers WHERE last_seen_at >= ?1", since)
        .fetch_all(connection)
        .await?;
    rows.iter().map(|queues| WORKERS.json("queues", queues)).collect()
}
