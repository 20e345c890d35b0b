//! The claims that wait, grouped by what they can run, each group in the order they came. No clock, no database, no
//! task: those are the dispatcher's.

use super::delivery::Delivery;
use leasehold_queue::{
    Scope,
    engine::RemoteClaim,
    params::{LaneName, Wake},
    remote::RemoteLimits,
};
use leasehold_types::{KeyId, Problem, ProblemCode, TenantId, WorkerId};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    time::Duration,
};
use tokio::{sync::oneshot, time::Instant};

/// A job may become due without anybody's wake-up, and a wake-up may be lost.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// So many groups are looked at that often; when there are more, each is looked at less often and the database is asked
/// no more.
const LOOKERS: u32 = 20;
/// When a caller that found no room may try again, in seconds.
const TRY_AGAIN: u32 = 5;

pub type Reply = Result<Delivery, Problem>;

/// Claims of the same group may have the same jobs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    tenant: Option<TenantId>,
    /// Those its key is confined to.
    domains: Option<Vec<String>>,
    kinds: Vec<(String, String)>,
    queues: Vec<(String, String)>,
}

impl Group {
    pub fn of(scope: &Scope, claim: &RemoteClaim) -> Self {
        fn sorted<T: Clone + Ord>(names: &[T]) -> Vec<T> {
            let mut names = names.to_vec();
            names.sort();
            names.dedup();
            names
        }
        Self {
            tenant: scope.tenant(),
            domains: scope.domains.as_ref().map(|reach| sorted(&reach.allowed)),
            kinds: sorted(&claim.kinds),
            queues: sorted(&claim.queues),
        }
    }

    fn can_run(&self, lane: &LaneName) -> bool {
        let kind = |(domain, job_type): &(String, String)| {
            *domain == lane.domain && (job_type == "*" || *job_type == lane.job_type)
        };
        let queue = |(domain, queue): &(String, String)| *domain == lane.domain && *queue == lane.queue;
        self.tenant.is_none_or(|tenant| tenant == lane.tenant)
            && self.domains.as_ref().is_none_or(|domains| domains.contains(&lane.domain))
            && (self.kinds.is_empty() || self.kinds.iter().any(kind))
            && (self.queues.is_empty() || self.queues.iter().any(queue))
    }
}

pub struct Waiter {
    pub scope: Scope,
    pub claim: RemoteClaim,
    pub key: Option<KeyId>,
    pub until: Instant,
    pub reply: oneshot::Sender<Reply>,
}

struct Seated {
    waiter: Waiter,
    /// Nobody has looked for jobs since it came.
    fresh: bool,
}

#[derive(Default)]
struct Row {
    seats: BTreeMap<u64, Seated>,
    /// There may be jobs for it.
    due: bool,
    looked_at: Option<Instant>,
}

/// Where a claim waits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Seat {
    pub group: Group,
    pub number: u64,
}

#[derive(Default)]
pub struct WaitingClaims {
    rows: HashMap<Group, Row>,
    per_key: HashMap<KeyId, u32>,
    seated: u32,
    next: u64,
}

impl WaitingClaims {
    /// A claim that will not wait, or the first of its group, wants a look at once. Others join a group that was found
    /// to have nothing and hear when that changes.
    pub fn enter(
        &mut self,
        group: Group,
        waiter: Waiter,
        limits: &RemoteLimits,
        now: Instant,
    ) -> Result<Seat, Problem> {
        self.check(waiter.key, limits)?;
        if let Some(key) = waiter.key {
            *self.per_key.entry(key).or_default() += 1;
        }
        self.seated += 1;
        self.next += 1;
        let number = self.next;
        let row = self.rows.entry(group.clone()).or_default();
        row.due |= row.looked_at.is_none() || waiter.until <= now;
        row.seats.insert(number, Seated { waiter, fresh: true });
        Ok(Seat { group, number })
    }

    fn check(&self, key: Option<KeyId>, limits: &RemoteLimits) -> Result<(), Problem> {
        let own = key.and_then(|key| self.per_key.get(&key)).copied().unwrap_or_default();
        let detail = if own >= limits.waiting_per_key {
            format!(
                "{own} claims of this key wait already. Let fewer workers wait, or let one claim more jobs."
            )
        } else if self.seated >= limits.waiting {
            "As many claims wait here as this server keeps.".to_owned()
        } else {
            return Ok(());
        };
        Err(Problem::new(ProblemCode::QuotaExceeded, detail).retry_after(TRY_AGAIN))
    }

    pub fn leave(&mut self, seat: &Seat) -> Option<Waiter> {
        let row = self.rows.get_mut(&seat.group)?;
        let waiter = row.seats.remove(&seat.number)?.waiter;
        if row.seats.is_empty() {
            self.rows.remove(&seat.group);
        }
        self.seated -= 1;
        if let Some(key) = waiter.key
            && let Some(count) = self.per_key.get_mut(&key)
        {
            *count -= 1;
            if *count == 0 {
                self.per_key.remove(&key);
            }
        }
        Some(waiter)
    }

    pub fn is_empty(&self) -> bool {
        self.seated == 0
    }

    /// Only groups that can run what is new are looked at.
    pub fn hear(&mut self, wake: &Wake) {
        for (group, row) in &mut self.rows {
            row.due |= match wake {
                Wake::Jobs => true,
                Wake::JobsIn(lanes) => lanes.iter().any(|lane| group.can_run(lane)),
                Wake::Events | Wake::Cancel => false,
            };
        }
    }

    fn look_every(&self) -> Duration {
        LOOK_EVERY * (u32::try_from(self.rows.len()).unwrap_or(u32::MAX) / LOOKERS).max(1)
    }

    /// The groups to look for jobs for, the one that waits longest first, which count as looked at from now on; and the
    /// keys of those claims that did not come just now.
    pub fn begin_round(&mut self, now: Instant) -> (Vec<Group>, HashSet<KeyId>) {
        let every = self.look_every();
        let (mut due, mut keys): (Vec<(u64, Group)>, HashSet<KeyId>) = Default::default();
        for (group, row) in &mut self.rows {
            let last_chance = row.seats.values().any(|seat| seat.fresh && seat.waiter.until <= now);
            if !row.due && !last_chance && row.looked_at.is_some_and(|at| at + every > now) {
                continue;
            }
            (row.due, row.looked_at) = (false, Some(now));
            keys.extend(row.seats.values().filter(|seat| !seat.fresh).filter_map(|seat| seat.waiter.key));
            row.seats.values_mut().for_each(|seat| seat.fresh = false);
            let oldest = row.seats.keys().next().copied().unwrap_or(u64::MAX);
            due.push((oldest, group.clone()));
        }
        due.sort_by_key(|(oldest, _)| *oldest);
        (due.into_iter().map(|(_, group)| group).collect(), keys)
    }

    /// When somebody must be looked after again, if nothing happens before.
    pub fn next_moment(&self, now: Instant) -> Instant {
        let every = self.look_every();
        let looks = self.rows.values().map(|row| match row.looked_at {
            Some(at) if !row.due => at + every,
            _ => now,
        });
        let ends = self.rows.values().flat_map(|row| row.seats.values()).map(|seat| seat.waiter.until);
        looks.chain(ends).min().unwrap_or(now + every)
    }

    /// The claim of a group that has waited longest, among those that came before this round.
    pub fn oldest(&self, group: &Group) -> Option<(Seat, Scope, RemoteClaim)> {
        let mut seats = self.rows.get(group)?.seats.iter();
        let (number, seat) = seats.find(|(_, seat)| !seat.fresh && !seat.waiter.reply.is_closed())?;
        let Waiter { scope, claim, .. } = &seat.waiter;
        Some((Seat { group: group.clone(), number: *number }, scope.clone(), claim.clone()))
    }

    pub fn workers(&self) -> Vec<WorkerId> {
        let seats = self.rows.values().flat_map(|row| row.seats.values());
        seats.map(|seat| seat.waiter.claim.worker.clone()).collect()
    }

    /// Takes out every claim of which this is true.
    pub fn take(&mut self, is_it: impl Fn(&Group, &Waiter, bool) -> bool) -> Vec<Waiter> {
        let found: Vec<Seat> = self
            .rows
            .iter()
            .flat_map(|(group, row)| row.seats.iter().map(move |(number, seat)| (group, *number, seat)))
            .filter(|(group, _, seat)| is_it(group, &seat.waiter, seat.fresh))
            .map(|(group, number, _)| Seat { group: group.clone(), number })
            .collect();
        found.iter().filter_map(|seat| self.leave(seat)).collect()
    }

    /// Those whose patience is at its end, once somebody has looked for them.
    pub fn take_impatient(&mut self, now: Instant) -> Vec<Waiter> {
        self.take(|_, waiter, fresh| !fresh && waiter.until <= now)
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
