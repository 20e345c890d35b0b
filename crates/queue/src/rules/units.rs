//! Work units: the calls a composite job makes to rate-limited providers, as rows.
//!
//! A unit is written before it runs, runs under its job's lease, and is finished in one transaction with the units
//! that follow from it and the job's own state. So a restart loses nothing, and repeats nothing that was finished: the
//! next holder of the job finds the same units and the state that belongs to them.
//!
//! Units have no lease of their own. The job's is renewed anyway, and nobody but its holder may write; a unit that
//! runs under another lease than its job has now is simply not running any more.
//!
//! Limits hold over all processes. A claim locks the provider's row, takes a *permit* first (the running units are
//! counted) and then a *token*: the next free moment of the provider, see [`pace`].

pub mod assign;
pub mod pace;
pub mod reach;
pub mod retry;

use crate::params::Lease;
use leasehold_types::{ErrorClass, Problem, Timestamp, unit::UnitKind};
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// One call to be made.
#[derive(Clone, PartialEq, Debug)]
pub struct WorkUnit {
    pub id: Uuid,
    /// What it is for, for people: "Page 3, reading".
    pub name: String,
    pub kind: UnitKind,
    /// Empty = the least loaded of its kind.
    pub provider: String,
    pub request: Value,
}

impl WorkUnit {
    pub fn new(kind: UnitKind, name: impl Into<String>, request: Value) -> Self {
        Self { id: Uuid::now_v7(), name: name.into(), kind, provider: String::new(), request }
    }

    #[must_use]
    pub fn through(self, provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), ..self }
    }
}

/// Why a call did not work.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitError {
    pub code: String,
    pub class: ErrorClass,
    pub message: String,
    pub retryable: bool,
    /// The provider's own wish.
    pub retry_after: Option<Duration>,
}

impl UnitError {
    pub fn permanent(code: &str, class: ErrorClass, message: impl Into<String>) -> Self {
        Self { code: code.into(), class, message: message.into(), retryable: false, retry_after: None }
    }

    pub fn passing(code: &str, class: ErrorClass, message: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::permanent(code, class, message) }
    }
}

pub type UnitOutcome = Result<Value, UnitError>;

/// What a composite job hears about one of its units.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitResult {
    pub unit: WorkUnit,
    /// None when no provider would take it.
    pub provider: Option<String>,
    pub attempts: i32,
    pub outcome: UnitOutcome,
}

/// A provider as a worker's configuration describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct ProviderSpec {
    pub name: String,
    pub kind: UnitKind,
    /// Local and deterministic: for trying out.
    pub is_local: bool,
    pub requests_per_second: f64,
    pub max_concurrency: i32,
    pub max_retries: i32,
    /// Before the first retry; doubled for each one after.
    pub retry_delay: Duration,
}

impl ProviderSpec {
    /// Limits that would stop everything, or nothing, are refused.
    pub fn check(&self) -> Result<(), Problem> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let refuse = |field: &str, message: &str| Err(Problem::invalid(field, message));
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(plain) {
            return refuse(
                "name",
                "A provider's name has up to 64 letters, digits, dots, dashes and underscores.",
            );
        }
        if !(pace::SLOWEST..=pace::FASTEST).contains(&self.requests_per_second) {
            return refuse("requests_per_second", "Requests per second must lie between 0.0001 and 10000.");
        }
        if !(1..=10_000).contains(&self.max_concurrency) {
            return refuse("max_concurrency", "At least one and at most 10000 calls may run at a time.");
        }
        if !(0..=20).contains(&self.max_retries) {
            return refuse("max_retries", "A call may be retried at most 20 times.");
        }
        if self.retry_delay > Duration::from_secs(3_600) {
            return refuse("retry_delay_seconds", "A retry may wait at most an hour at first.");
        }
        Ok(())
    }
}

pub fn no_such_provider() -> Problem {
    Problem::not_found("This provider")
}

/// Which units a worker would like to run.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitClaim {
    /// Of the job they belong to.
    pub lease: Lease,
    /// Whom this worker can call.
    pub callable: Vec<String>,
    pub at_most: u32,
    /// How long it takes to begin after the store has decided: no call starts earlier.
    pub lead: Duration,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ClaimedUnits {
    pub units: Vec<ClaimedUnit>,
    /// When it is worth asking again although nothing was finished in between; none = there is nothing to wait for.
    pub ask_again_at: Option<Timestamp>,
    /// After this claim.
    pub standing: Standing,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ClaimedUnit {
    pub unit: WorkUnit,
    /// This one included.
    pub attempts: i32,
    /// Or why nobody can ever run it.
    pub turn: Result<Turn, UnitError>,
}

/// Who runs a unit, when, and what is done if it fails.
#[derive(Clone, PartialEq, Debug)]
pub struct Turn {
    pub provider: String,
    /// The call begins then, and at most [`pace::START_SLACK`] later; else another token must be asked for.
    pub start_at: Timestamp,
    pub max_retries: i32,
    pub retry_delay: Duration,
}

/// How many units of a job are where.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    pub queued: i64,
    pub running: i64,
    pub finished: i64,
}

impl Standing {
    pub fn outstanding(self) -> i64 {
        self.queued + self.running
    }

    pub fn total(self) -> i64 {
        self.outstanding() + self.finished
    }
}

/// A unit that has come to its end, and everything that follows from it.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitFinish {
    /// Of the job.
    pub lease: Lease,
    pub unit: Uuid,
    pub outcome: UnitOutcome,
    pub follow_ups: Vec<WorkUnit>,
    /// The job's own state, with this unit taken into account.
    pub state: Value,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitAnswer {
    Applied,
    /// It was finished before; nothing was changed.
    AlreadyDone,
    /// The lease is no longer the job's; nothing was changed.
    Lost,
}
