//! The brakes: what the pool remembers of kinds of job that fail. Empty while nothing fails, so that it costs nothing
//! then.

use super::running::RunningJobs;
use leasehold_queue::{
    adaptive::{Adaptive, Throttle},
    params::ClaimedJob,
    transition::Ending,
};
use serde::Serialize;
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

type Kind = (String, String);
/// Kinds to claim together, and for how many there is room; none = as many as there are slots.
type Part = (Vec<Kind>, Option<usize>);

pub struct Brakes {
    concurrency: usize,
    throttles: Mutex<HashMap<Kind, Throttle>>,
    /// Some kind is reduced: only then a claim looks closer.
    any: AtomicBool,
}

/// A kind of job of which fewer run, for the workers page.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Reduced {
    pub domain: String,
    pub job_type: String,
    pub to: usize,
    pub of: usize,
}

impl Brakes {
    pub fn new(concurrency: usize) -> Self {
        Self { concurrency, throttles: Mutex::default(), any: AtomicBool::new(false) }
    }

    /// Cancelled and released jobs say nothing about their kind.
    pub fn hear(&self, job: &ClaimedJob, ending: &Ending) {
        let failed = match ending {
            Ending::Completed => false,
            Ending::Failed(_) => true,
            Ending::Cancelled | Ending::Released | Ending::Snoozed(_) | Ending::Lost => return,
        };
        let mut throttles = self.lock();
        if throttles.is_empty() && !failed {
            return;
        }
        let kind = (job.domain.clone(), job.job_type.clone());
        if failed {
            throttles
                .entry(kind.clone())
                .or_insert_with(|| Throttle::new(Adaptive::default(), self.concurrency));
        }
        let Some(throttle) = throttles.get_mut(&kind) else { return };
        if throttle.heard(failed) {
            let (to, of) = (throttle.cap(), self.concurrency);
            tracing::warn!(
                domain = kind.0,
                job_type = kind.1,
                to,
                of,
                "failures changed how many run at a time"
            );
        }
        if throttle.is_forgotten() {
            throttles.remove(&kind);
        }
        self.any.store(throttles.values().any(Throttle::is_reduced), Ordering::Release);
    }

    /// How to claim while some kinds are reduced; none when nothing is.
    pub fn plan(&self, kinds: &[Kind], running: &RunningJobs) -> Option<Vec<Part>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let throttles = self.lock();
        let cap = |kind: &Kind| throttles.get(kind).filter(|t| t.is_reduced()).map(Throttle::cap);
        let (reduced, free): (Vec<_>, Vec<_>) = kinds.iter().cloned().partition(|kind| cap(kind).is_some());
        let held = running.all();
        let count =
            |kind: &Kind| held.iter().filter(|r| r.job.domain == kind.0 && r.job.job_type == kind.1).count();
        let mut plan: Vec<Part> = Vec::new();
        // Without a kind a claim would bring any.
        if !free.is_empty() {
            plan.push((free, None));
        }
        plan.extend(reduced.into_iter().filter_map(|kind| {
            let room = cap(&kind)?.saturating_sub(count(&kind));
            Some((vec![kind], Some(room)))
        }));
        Some(plan)
    }

    pub fn reduced(&self) -> Vec<Reduced> {
        let throttles = self.lock();
        let mut reduced: Vec<_> = throttles
            .iter()
            .filter(|(_, throttle)| throttle.is_reduced())
            .map(|((domain, job_type), throttle)| Reduced {
                domain: domain.clone(),
                job_type: job_type.clone(),
                to: throttle.cap(),
                of: self.concurrency,
            })
            .collect();
        reduced.sort_by(|a, b| (&a.domain, &a.job_type).cmp(&(&b.domain, &b.job_type)));
        reduced
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Kind, Throttle>> {
        self.throttles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
