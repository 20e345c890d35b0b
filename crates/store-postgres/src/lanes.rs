//! The directory of lanes that have work.
//!
//! A lane is `(tenant, domain, queue, job_type, priority)`. The directory hops from lane to lane over the index
//! `jobs_lane`, so it costs a few index probes per lane however many jobs wait. It is kept for a moment while
//! claims come back full; after one that found less the next looks again.

use crate::{PostgresStore, convert::moment, error::database};
use leasehold_queue::{
    StoreResult,
    fairness::{Claimant, deal},
    params::{NewJob, Selector},
};
use leasehold_types::{TenantId, Timestamp};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use time::OffsetDateTime;
use uuid::Uuid;

const FRESH: Duration = Duration::from_millis(200);
/// Due jobs of a lane are counted up to here: enough to know which lanes a batch can come from.
const COUNTED: i64 = 100;

#[derive(Clone, Debug)]
pub struct Lane {
    pub tenant: Uuid,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub priority: i32,
    /// Jobs due, counted up to a cap.
    pub due: i64,
    /// Jobs its tenant runs, in any lane.
    pub running: i64,
    /// Its tenant or its kind has a limit that claims must look at.
    pub limited: bool,
}

impl Lane {
    fn name(&self) -> LaneName<'_> {
        (self.tenant, &self.domain, &self.queue, &self.job_type, self.priority)
    }

    pub fn serves(&self, selector: &Selector) -> bool {
        selector.tenant.is_none_or(|t| t == TenantId(self.tenant))
            && (selector.kinds.is_empty()
                || selector.kinds.iter().any(|(d, t)| *d == self.domain && *t == self.job_type))
            && (selector.queues.is_empty()
                || selector.queues.iter().any(|(d, q)| *d == self.domain && *q == self.queue))
    }
}

/// What was read, and when by either clock: a frozen one may be moved.
struct Reading {
    at: Instant,
    clock: Timestamp,
    lanes: Arc<Vec<Lane>>,
}

#[derive(Default)]
pub struct Directory {
    known: Mutex<Option<Reading>>,
    /// Counts how often the directory was forgotten, so that a reading begun before that is not kept.
    forgotten: AtomicUsize,
    /// Whose turn it is to get what is left over when a batch does not divide evenly.
    turn: AtomicUsize,
}

impl Directory {
    fn known(&self) -> MutexGuard<'_, Option<Reading>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered(&self, now: Timestamp) -> Option<Arc<Vec<Lane>>> {
        let known = self.known();
        let fresh = |r: &&Reading| r.at.elapsed() < FRESH && now < r.clock.plus(FRESH);
        known.as_ref().filter(fresh).map(|r| r.lanes.clone())
    }

    pub fn forget(&self) {
        let mut known = self.known();
        self.forgotten.fetch_add(1, Ordering::AcqRel);
        *known = None;
    }

    fn remember(&self, reading: Reading, forgotten: usize) {
        let mut known = self.known();
        if self.forgotten.load(Ordering::Acquire) == forgotten {
            *known = Some(reading);
        }
    }

    /// Jobs were created: their lanes must be in the directory, or a claim would overlook them for a moment.
    pub fn expect(&self, jobs: &[&NewJob]) {
        let mut known = self.known();
        let Some(reading) = known.as_mut() else {
            drop(known);
            return self.forget();
        };
        let mut came: HashMap<LaneName<'_>, i64> = HashMap::new();
        for job in jobs {
            *came.entry(lane_of_job(job)).or_default() += 1;
        }
        let mut found = 0;
        for lane in Arc::make_mut(&mut reading.lanes) {
            if let Some(more) = came.get(&lane.name()).copied() {
                lane.due = (lane.due + more).min(COUNTED);
                found += 1;
            }
        }
        if found < came.len() {
            drop(known);
            self.forget();
        }
    }

    /// Jobs were claimed: their lanes have that many less, their tenants run that many more.
    pub fn gave(&self, taken: &[LaneName<'_>]) {
        let mut known = self.known();
        let Some(reading) = known.as_mut() else { return };
        let (mut went, mut runs): (HashMap<_, i64>, HashMap<_, i64>) = Default::default();
        for lane in taken {
            *went.entry(*lane).or_default() += 1;
            *runs.entry(lane.0).or_default() += 1;
        }
        for lane in Arc::make_mut(&mut reading.lanes) {
            lane.running += runs.get(&lane.tenant).copied().unwrap_or(0);
            // A count that was cut off stays: what is behind the cut is not known.
            if lane.due < COUNTED {
                lane.due -= went.get(&lane.name()).copied().unwrap_or(0).min(lane.due);
            }
        }
    }

    pub fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }
}

/// `(tenant, domain, queue, job_type, priority)`
pub type LaneName<'a> = (Uuid, &'a str, &'a str, &'a str, i32);

fn lane_of_job(job: &NewJob) -> LaneName<'_> {
    (job.tenant_id.0, &job.domain, &job.queue, &job.job_type, job.priority)
}

/// A lane a batch may come from, and how many jobs its tenant may get.
#[derive(Debug)]
pub struct Ration<'a> {
    pub lane: &'a Lane,
    pub share: i64,
}

/// Deals `n` slots to the tenants with due jobs. Lanes that cannot be reached because lanes of a better priority
/// already have enough are left out.
pub fn ration<'a>(lanes: impl IntoIterator<Item = &'a Lane>, n: i64, turn: usize) -> Vec<Ration<'a>> {
    let mut tenants: BTreeMap<Uuid, Vec<&Lane>> = BTreeMap::new();
    for lane in lanes {
        tenants.entry(lane.tenant).or_default().push(lane);
    }
    let claimants: Vec<Claimant> = tenants.values().map(|own| claimant(own)).collect();
    let shares = deal(n, &claimants, turn);
    let mut rations = Vec::new();
    for (mut own, share) in tenants.into_values().zip(shares) {
        if share > 0 {
            own.sort_by_key(|l| l.priority);
            rations.extend(reachable(&own, share).iter().map(|lane| Ration { lane, share }));
        }
    }
    rations
}

fn claimant(own: &[&Lane]) -> Claimant {
    let capped = own.iter().any(|l| l.due >= COUNTED);
    let due = if capped { i64::MAX } else { own.iter().map(|l| l.due).sum() };
    Claimant { running: own.first().map_or(0, |l| l.running), due }
}

/// The lanes, best priority first, up to the priority at which `share` is surely reached.
fn reachable<'a, 'b>(own: &'b [&'a Lane], share: i64) -> &'b [&'a Lane] {
    let mut due_before = 0;
    let mut end = 0;
    for level in own.chunk_by(|a, b| a.priority == b.priority) {
        if due_before >= share {
            break;
        }
        due_before += level.iter().map(|l| l.due).sum::<i64>();
        end += level.len();
    }
    &own[..end]
}

impl PostgresStore {
    /// The lanes with due jobs, and whether they were remembered rather than read now. The lanes of one tenant
    /// alone are few and always read.
    pub(crate) async fn lanes(
        &self,
        tenant: Option<TenantId>,
        now: Timestamp,
    ) -> StoreResult<(Arc<Vec<Lane>>, bool)> {
        if let Some(TenantId(only)) = tenant {
            return Ok((Arc::new(self.read_lanes(only, only, moment(now)).await?), false));
        }
        if let Some(lanes) = self.directory.remembered(now) {
            return Ok((lanes, true));
        }
        let forgotten = self.directory.forgotten.load(Ordering::Acquire);
        let at = Instant::now();
        let lanes = Arc::new(self.read_lanes(Uuid::nil(), Uuid::max(), moment(now)).await?);
        self.directory.remember(Reading { at, clock: now, lanes: lanes.clone() }, forgotten);
        Ok((lanes, false))
    }

    /// A range of tenants rather than "this one or any": the index can use a range in either case.
    async fn read_lanes(&self, first: Uuid, last: Uuid, now: OffsetDateTime) -> StoreResult<Vec<Lane>> {
        sqlx::query_as!(
            Lane,
            r#"WITH RECURSIVE lane AS (
                 (SELECT tenant_id, domain, queue, job_type, priority FROM jobs
                  WHERE status = 'queued' AND tenant_id >= $3 AND tenant_id <= $4
                  ORDER BY tenant_id, domain, queue, job_type, priority LIMIT 1)
                 UNION ALL
                 SELECT n.tenant_id, n.domain, n.queue, n.job_type, n.priority
                 FROM lane l CROSS JOIN LATERAL (
                   SELECT j.tenant_id, j.domain, j.queue, j.job_type, j.priority FROM jobs j
                   WHERE j.status = 'queued' AND j.tenant_id <= $4
                     AND (j.tenant_id, j.domain, j.queue, j.job_type, j.priority)
                       > (l.tenant_id, l.domain, l.queue, l.job_type, l.priority)
                   ORDER BY j.tenant_id, j.domain, j.queue, j.job_type, j.priority LIMIT 1) n)
               SELECT l.tenant_id AS "tenant!", l.domain AS "domain!", l.queue AS "queue!",
                      l.job_type AS "job_type!", l.priority AS "priority!", d.due AS "due!",
                      COALESCE(r.running, 0) AS "running!",
                      (EXISTS (SELECT FROM tenants t
                               WHERE t.id = l.tenant_id AND t.limits ? 'max_in_flight')
                       OR EXISTS (SELECT FROM job_definitions f
                                  WHERE f.domain = l.domain AND f.job_type = l.job_type
                                    AND (f.limits ?| ARRAY['max_in_flight', 'max_in_flight_per_tenant']
                                         OR f.limits ? 'max_active_per_key'
                                            AND COALESCE(f.limits ->> 'key_mode', 'wait') = 'wait'))) AS "limited!"
               FROM lane l
               LEFT JOIN (SELECT tenant_id, count(*) AS running FROM jobs WHERE status = 'processing'
                          GROUP BY tenant_id) r ON r.tenant_id = l.tenant_id
               CROSS JOIN LATERAL (
                 SELECT count(*) AS due FROM (
                   SELECT FROM jobs j
                   WHERE j.status = 'queued' AND j.tenant_id = l.tenant_id AND j.domain = l.domain
                     AND j.queue = l.queue AND j.job_type = l.job_type AND j.priority = l.priority
                     AND COALESCE(j.available_at, j.created_at) <= $1
                   LIMIT $2) counted) d
               WHERE d.due > 0
                 AND NOT EXISTS (SELECT FROM job_queue_controls c
                                 WHERE c.domain = l.domain AND c.queue = l.queue AND (c.paused OR c.draining))
                 AND NOT EXISTS (SELECT FROM job_definitions f
                                 WHERE f.domain = l.domain AND f.job_type = l.job_type AND NOT f.is_active)"#,
            now,
            COUNTED,
            first,
            last
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(tenant: u128, priority: i32, due: i64, running: i64) -> Lane {
        let word = || "x".to_owned();
        Lane {
            tenant: Uuid::from_u128(tenant),
            domain: word(),
            queue: word(),
            job_type: word(),
            priority,
            due,
            running,
            limited: false,
        }
    }

    fn shares(lanes: &[Lane], n: i64) -> Vec<(u128, i32, i64)> {
        ration(lanes, n, 0).iter().map(|r| (r.lane.tenant.as_u128(), r.lane.priority, r.share)).collect()
    }

    #[test]
    fn tenants_with_work_share_a_batch() {
        assert_eq!(shares(&[lane(1, 100, 9, 0), lane(2, 100, 9, 0)], 5), [(1, 100, 3), (2, 100, 2)]);
        assert_eq!(shares(&[lane(1, 100, COUNTED, 8), lane(2, 100, 3, 0)], 5), [(1, 100, 2), (2, 100, 3)]);
        assert_eq!(shares(&[lane(1, 100, COUNTED, 0)], 1_000), [(1, 100, 1_000)]);
    }

    #[test]
    fn worse_priorities_are_left_out_when_better_ones_have_enough() {
        let lanes = [lane(1, 200, 9, 0), lane(1, 1, 3, 0), lane(1, 100, 2, 0), lane(1, 100, 9, 0)];
        assert_eq!(shares(&lanes, 3), [(1, 1, 3)]);
        assert_eq!(shares(&lanes, 4), [(1, 1, 4), (1, 100, 4), (1, 100, 4)]);
    }
}
