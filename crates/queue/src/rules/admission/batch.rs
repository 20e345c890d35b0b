//! A batch is filled by asking and hearing: [`Batch::ask`] says which lanes to look into and what to leave out,
//! the store reads the first jobs of each in claim order, [`Batch::hear`] admits them one by one. Every pass
//! either admits somebody, or learns what else to leave out, or finds a tenant with nothing more.
//!
//! Tenants take turns: the next job always comes from the tenant that has got the fewest so far.

use super::{Admission, Contender, Door};
use crate::quota::Quota;
use leasehold_types::{TenantId, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// Jobs read beyond a tenant's fair part, since some will be turned away.
const SPARE: usize = 4;
/// Tenants asked at least, since some will have nothing that may run.
const TENANTS_ASKED: usize = 8;
/// Passes at most; what they do not find is found by the next claim, which knows what they learnt.
const PASSES: usize = 64;

/// Jobs that differ only in their age.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lane {
    pub tenant: TenantId,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub priority: i32,
}

/// A job that is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    pub priority: i32,
    pub due: Timestamp,
    pub number: i64,
    pub job: Contender,
}

impl Candidate {
    fn claim_order(&self) -> (i32, Timestamp, i64) {
        (self.priority, self.due, self.number)
    }
}

/// One lane to look into, and whom to leave out there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ask {
    pub lane: Lane,
    /// Only jobs of owners that match [`Question::owner_patterns`].
    pub owners_only: bool,
    pub full_keys: Vec<String>,
    pub full_owners: Vec<String>,
}

/// What the store is to read: the first `each` jobs of every tenant asked for, in claim order over its lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// A tenant's lanes stand together, by priority.
    pub asks: Vec<Ask>,
    pub each: usize,
    /// Patterns for a case-insensitive LIKE; they let through every owner with a quota of his own, and maybe more.
    pub owner_patterns: Vec<String>,
    /// Admitted already.
    pub except: Vec<i64>,
}

/// One tenant's part.
struct Share {
    tenant: TenantId,
    lanes: Vec<Lane>,
    waiting: VecDeque<Candidate>,
    /// Nothing more can be read for it.
    dry: bool,
    admitted: Vec<Candidate>,
}

impl Share {
    fn is_over(&self) -> bool {
        self.dry && self.waiting.is_empty()
    }
}

pub struct Batch {
    admission: Admission,
    /// In the order in which they are served.
    shares: Vec<Share>,
    left: usize,
    passes: usize,
    /// How many jobs were asked for, and for which of the shares.
    asked: (usize, HashSet<usize>),
}

impl Batch {
    /// `turn` says which tenant comes first, so that a remainder goes round.
    pub fn new(admission: Admission, lanes: impl IntoIterator<Item = Lane>, n: usize, turn: usize) -> Self {
        let mut tenants: BTreeMap<_, Vec<Lane>> = BTreeMap::new();
        for lane in lanes {
            tenants.entry(lane.tenant.0).or_default().push(lane);
        }
        let share = |(tenant, mut lanes): (_, Vec<Lane>)| {
            lanes.sort_by_key(|lane| lane.priority);
            let (waiting, admitted) = (VecDeque::new(), Vec::new());
            Share { tenant: TenantId(tenant), lanes, waiting, dry: false, admitted }
        };
        let mut shares: Vec<_> = tenants.into_iter().map(share).collect();
        if !shares.is_empty() {
            let first = turn % shares.len();
            shares.rotate_left(first);
        }
        Self { admission, shares, left: n, passes: 0, asked: (0, HashSet::new()) }
    }

    /// What to read next; none when the batch is full or nothing more may run.
    pub fn ask(&mut self) -> Option<Question> {
        while self.left > 0 && self.passes < PASSES {
            let served: Vec<usize> = self.in_turn().into_iter().take(self.left.max(TENANTS_ASKED)).collect();
            let each = self.left.div_ceil(served.len().max(1)) + SPARE;
            let mut asks = Vec::new();
            self.asked = (each, HashSet::new());
            for index in served {
                if !self.shares[index].waiting.is_empty() {
                    continue;
                }
                let open = self.open_lanes(&self.shares[index]);
                self.shares[index].dry = open.is_empty();
                if !open.is_empty() {
                    self.asked.1.insert(index);
                    asks.extend(open);
                }
            }
            if !asks.is_empty() {
                self.passes += 1;
                let owner_patterns = self.admission.limits.quotas.user_patterns(Quota::InFlight);
                let admitted = self.shares.iter().flat_map(|share| &share.admitted);
                let except = admitted.map(|candidate| candidate.number).collect();
                return Some(Question { asks, each, owner_patterns, except });
            }
            // Those who would have been next have nothing; the others may have.
            self.hand_out();
            if self.in_turn().is_empty() {
                return None;
            }
        }
        None
    }

    /// Takes the answer and admits whom it can.
    pub fn hear(&mut self, candidates: Vec<Candidate>) {
        let mut by_tenant: HashMap<TenantId, Vec<Candidate>> = HashMap::new();
        for candidate in candidates {
            by_tenant.entry(candidate.job.tenant).or_default().push(candidate);
        }
        let (each, asked) = std::mem::take(&mut self.asked);
        for index in asked {
            let share = &mut self.shares[index];
            let mut found = by_tenant.remove(&share.tenant).unwrap_or_default();
            found.sort_by_key(Candidate::claim_order);
            share.dry = found.len() < each;
            found.truncate(each);
            share.waiting = found.into();
        }
        self.hand_out();
    }

    /// The numbers to take: every tenant's first job, then every tenant's second, and so on.
    pub fn numbers(self) -> Vec<i64> {
        let admitted = self.shares.into_iter().flat_map(|share| share.admitted.into_iter().enumerate());
        let mut placed: Vec<_> =
            admitted.map(|(place, candidate)| (place, candidate.claim_order())).collect();
        placed.sort_unstable();
        placed.into_iter().map(|(_, (_, _, number))| number).collect()
    }

    fn hand_out(&mut self) {
        while self.left > 0 {
            let Some(index) = self.in_turn().first().copied() else { return };
            let Self { admission, shares, left, .. } = self;
            let share = &mut shares[index];
            if share.waiting.is_empty() {
                // More must be read for it before others get theirs.
                return;
            }
            while let Some(candidate) = share.waiting.pop_front() {
                if admission.admit(&candidate.job) {
                    share.admitted.push(candidate);
                    *left -= 1;
                    break;
                }
            }
        }
    }

    /// The shares that may get more, those with the fewest jobs first.
    fn in_turn(&self) -> Vec<usize> {
        let mut live: Vec<_> =
            (0..self.shares.len()).filter(|index| !self.shares[*index].is_over()).collect();
        live.sort_by_key(|index| self.shares[*index].admitted.len());
        live
    }

    fn open_lanes(&self, share: &Share) -> Vec<Ask> {
        let mut owners: HashMap<(TenantId, &str), Vec<String>> = HashMap::new();
        let mut asks = Vec::new();
        for lane in &share.lanes {
            let door = self.admission.door(lane.tenant, &lane.domain, &lane.job_type);
            if door == Door::Shut {
                continue;
            }
            let full_owners = owners.entry((lane.tenant, &lane.domain)).or_insert_with(|| {
                self.admission.full_owners(lane.tenant, &lane.domain).into_iter().collect()
            });
            asks.push(Ask {
                lane: lane.clone(),
                owners_only: door == Door::OwnersOnly,
                full_keys: self.admission.full_keys(lane),
                full_owners: full_owners.clone(),
            });
        }
        asks
    }
}
