//! Gates: what must have room before a job comes in.
//!
//! A [`Gate`] says what is counted ([`Counted`]), over which jobs ([`Extent`]), how many there may be, and what
//! a refusal is called. Which gates a job meets is decided by [`rules::gates_of`]; the store counts what they
//! measure in the transaction that creates, after it has locked each extent, and a [`Turnstile`] then lets the
//! jobs of the call in one by one, in their order: they count against each other. A replay or a dedupe hit never
//! comes this far, so it costs nothing.
//!
//! Rates are counted in fixed minutes of the database's clock, over all processes. Only jobs that came in count.

pub mod rules;
#[cfg(test)]
mod tests;

use crate::params::NewJob;
use leasehold_types::{Problem, ProblemCode, TenantId, Timestamp};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How long a caller should leave a full queue alone.
const RETRY_SECONDS: u32 = 5;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Counted {
    /// Waiting, scheduled ones included.
    Queued,
    /// Waiting or running.
    Active,
    /// Came in during the current minute.
    SubmittedThisMinute,
}

/// Which jobs are counted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    Everywhere,
    Domain(String),
    /// One queue of one domain, over all tenants.
    Queue {
        domain: String,
        queue: String,
    },
    Tenant(TenantId),
    /// One owner's jobs in one tenant, in one domain or in all. The owner is whatever a caller says: counted over
    /// tenants, one tenant could use up another's.
    Owner {
        tenant: TenantId,
        owner: String,
        domain: Option<String>,
    },
    /// The jobs of one kind in one tenant that name the same concurrency key.
    Key {
        tenant: TenantId,
        domain: String,
        job_type: String,
        key: String,
    },
}

impl Extent {
    /// The same text for the same extent in every process: names its lock and its row of submits.
    pub fn name(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| format!("{self:?}"))
    }

    fn whose(&self) -> String {
        match self {
            Self::Everywhere => "This installation".into(),
            Self::Domain(domain) => format!("The domain {domain}"),
            Self::Queue { domain, queue } => format!("The queue {domain}/{queue}"),
            Self::Tenant(_) => "The tenant".into(),
            Self::Owner { owner, domain: Some(domain), .. } => {
                format!("The user {owner} in the domain {domain}")
            }
            Self::Owner { owner, domain: None, .. } => format!("The user {owner}"),
            Self::Key { key, .. } => format!("The key “{key}”"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Measure {
    pub counted: Counted,
    pub extent: Extent,
}

/// What a closed gate answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// `QUOTA_EXCEEDED`, 429
    Quota,
    /// `CONCURRENCY_LIMIT`, 409
    Concurrency,
    /// `QUEUE_OVERLOADED`, 503
    Overload,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gate {
    pub measure: Measure,
    pub max: i64,
    pub refusal: Refusal,
}

impl Gate {
    /// The limit in words.
    pub fn sentence(&self) -> String {
        let (whose, max) = (self.measure.extent.whose(), self.max);
        let jobs = if max == 1 { "job" } else { "jobs" };
        match self.measure.counted {
            Counted::Queued => format!("{whose} may have at most {max} {jobs} waiting."),
            Counted::Active => format!("{whose} may have at most {max} {jobs} waiting or running."),
            Counted::SubmittedThisMinute => format!("{whose} may submit at most {max} {jobs} per minute."),
        }
    }

    fn refuse(&self, now: Timestamp) -> Problem {
        let detail = format!("{} Nothing was enqueued.", self.sentence());
        let after = match self.measure.counted {
            Counted::SubmittedThisMinute => seconds_to_the_next_minute(now),
            Counted::Queued | Counted::Active => RETRY_SECONDS,
        };
        match self.refusal {
            Refusal::Quota => Problem::new(ProblemCode::QuotaExceeded, detail).retry_after(after),
            Refusal::Concurrency => Problem::new(ProblemCode::ConcurrencyLimit, detail),
            Refusal::Overload => Problem::new(ProblemCode::QueueOverloaded, detail).retry_after(after),
        }
    }
}

/// The minute a moment belongs to.
pub fn minute_of(now: Timestamp) -> i64 {
    now.secs().div_euclid(60)
}

fn seconds_to_the_next_minute(now: Timestamp) -> u32 {
    60 - now.secs().rem_euclid(60) as u32
}

/// Everything these jobs' gates measure, each once, in one order for everybody.
pub fn measures<'a>(jobs: impl IntoIterator<Item = &'a NewJob>) -> BTreeSet<&'a Measure> {
    jobs.into_iter().flat_map(|job| &job.gates).map(|gate| &gate.measure).collect()
}

/// How many of these jobs count towards the rate of which extent, by its name.
pub fn submits<'a>(jobs: impl IntoIterator<Item = &'a NewJob>) -> BTreeMap<String, i64> {
    let mut submits = BTreeMap::new();
    for job in jobs {
        let rates = measures([job]).into_iter().filter(|m| m.counted == Counted::SubmittedThisMinute);
        for rate in rates {
            *submits.entry(rate.extent.name()).or_default() += 1;
        }
    }
    submits
}

/// Lets jobs in while there is room.
#[derive(Debug)]
pub struct Turnstile {
    counts: HashMap<Measure, i64>,
    now: Timestamp,
}

impl Turnstile {
    /// `counts` has every measure of the jobs' gates.
    pub fn new(counts: HashMap<Measure, i64>, now: Timestamp) -> Self {
        Self { counts, now }
    }

    /// For jobs without gates.
    pub fn open(now: Timestamp) -> Self {
        Self::new(HashMap::new(), now)
    }

    /// Counts the job when every gate has room; the first that has none refuses it, and then it counts nowhere.
    pub fn admit(&mut self, job: &NewJob) -> Result<(), Problem> {
        let count = |gate: &Gate| self.counts.get(&gate.measure).copied().unwrap_or_default();
        if let Some(full) = job.gates.iter().find(|gate| count(gate) >= gate.max) {
            return Err(full.refuse(self.now));
        }
        for measure in measures([job]) {
            *self.counts.entry(measure.clone()).or_default() += 1;
        }
        Ok(())
    }
}
