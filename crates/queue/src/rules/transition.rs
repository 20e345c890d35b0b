//! The state machine: one table of legal moves, and one pure function that judges how an attempt ended.
//!
//! Order of judgement when an attempt fails: a cancellation was asked for → cancelled; not retryable → failed;
//! the same error code as often in a row as the threshold says → quarantined; attempts used up → dead letter;
//! otherwise queued again after a backoff.

use crate::backoff;
use leasehold_types::{
    AttemptOutcome, ErrorClass,
    JobStatus::{self, Cancelled, Completed, DeadLetter, Failed, Processing, Quarantined, Queued},
    Timestamp,
    view::{FailureMark, RetryPolicy},
};
use std::time::Duration;

/// A legal move and what causes it. Everything not in this table is refused.
pub const MOVES: &[(JobStatus, JobStatus, &str)] = &[
    (Queued, Processing, "a worker claims it"),
    (Queued, Cancelled, "cancelled before it ran"),
    (Queued, Failed, "waited longer than its time to live"),
    (Processing, Queued, "a retryable failure, a lost worker or a release, with attempts left"),
    (Processing, Completed, "the work is done"),
    (Processing, Failed, "an error that must not be retried"),
    (Processing, Cancelled, "the worker honoured a cancellation"),
    (Processing, DeadLetter, "every attempt is used up"),
    (Processing, Quarantined, "the same error code too often in a row"),
    (Quarantined, Queued, "a person requeues it"),
    (Quarantined, Cancelled, "a person gives it up"),
];

pub fn is_legal(from: JobStatus, to: JobStatus) -> bool {
    MOVES.iter().any(|(f, t, _)| (*f, *t) == (from, to))
}

/// What an attempt says whose worker was lost.
pub const LOST: &str = "The worker was not heard of until its lease ran out.";

/// How a worker says an attempt ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Ending {
    Completed,
    Failed(Failure),
    /// The worker stopped because a cancellation was asked for.
    Cancelled,
    /// The worker shuts down and hands the job back; the attempt does not count.
    Released,
    /// The work cannot be done here and now, and nothing is wrong with it; the attempt does not count.
    Snoozed(Snooze),
    /// The lease ran out and nobody heard from the worker.
    Lost,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Failure {
    pub timed_out: bool,
    pub error_code: Option<String>,
    pub error_class: Option<ErrorClass>,
    pub message: String,
    pub stack: Option<String>,
    /// The handler's own opinion; none = it does not know.
    pub retryable: Option<bool>,
    pub retry_after: Option<Duration>,
}

/// Why a job is offered again only later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snooze {
    pub error_code: String,
    pub message: String,
    pub wait: Duration,
}

/// What the judgement depends on, read from the job's row.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JobFacts {
    /// Executions since the budget was last renewed, this one included.
    pub attempts_used: i32,
    pub max_attempts: i32,
    pub cancel_requested: bool,
    pub streak_code: Option<String>,
    pub streak_count: i32,
    /// Seconds the last retry waited.
    pub last_backoff: Option<f64>,
}

/// More than the three attempts a job has unless told otherwise, so that a plain failure ends as a dead letter:
/// quarantine is for jobs that would go on failing for long.
pub const DEFAULT_QUARANTINE_THRESHOLD: i32 = 5;

/// The error code of an attempt whose worker was not heard of any more.
pub const WORKER_LOST: &str = "worker_lost";

/// The installation's rules.
#[derive(Clone, Debug)]
pub struct Rules {
    /// 0 = never quarantine.
    pub quarantine_threshold: i32,
    /// Used when the definition has no policy of its own.
    pub retry: RetryPolicy,
}

impl Default for Rules {
    fn default() -> Self {
        Self { quarantine_threshold: DEFAULT_QUARANTINE_THRESHOLD, retry: RetryPolicy::default() }
    }
}

/// Where the job goes and what its row must say afterwards.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    pub status: JobStatus,
    pub outcome: AttemptOutcome,
    pub available_at: Option<Timestamp>,
    pub error_code: Option<String>,
    pub error_class: Option<ErrorClass>,
    pub streak_code: Option<String>,
    pub streak_count: i32,
    pub mark: Option<FailureMark>,
    /// Give the attempt back to the budget.
    pub refund_attempt: bool,
    /// A bug of ours: someone should look.
    pub alert: bool,
}

impl Verdict {
    /// When it is tried again because of a failure.
    pub fn retry_at(&self) -> Option<Timestamp> {
        self.available_at.filter(|_| self.mark.is_some())
    }

    fn plain(status: JobStatus, outcome: AttemptOutcome, facts: &JobFacts) -> Self {
        Self {
            status,
            outcome,
            available_at: None,
            error_code: None,
            error_class: None,
            streak_code: facts.streak_code.clone(),
            streak_count: facts.streak_count,
            mark: None,
            refund_attempt: false,
            alert: false,
        }
    }
}

/// Judges how an attempt ended. `dice` is a random number in `0.0..1.0` for the jitter.
pub fn judge(
    facts: &JobFacts,
    ending: &Ending,
    policy: Option<&RetryPolicy>,
    rules: &Rules,
    now: Timestamp,
    dice: f64,
) -> Verdict {
    match ending {
        Ending::Completed => {
            let done = Verdict::plain(Completed, AttemptOutcome::Succeeded, facts);
            Verdict { streak_code: None, streak_count: 0, ..done }
        }
        Ending::Cancelled => Verdict::plain(Cancelled, AttemptOutcome::Cancelled, facts),
        Ending::Released | Ending::Snoozed(_) if facts.cancel_requested => {
            Verdict::plain(Cancelled, AttemptOutcome::Cancelled, facts)
        }
        Ending::Snoozed(snooze) => Verdict {
            refund_attempt: true,
            available_at: Some(now.plus(snooze.wait)),
            error_code: Some(snooze.error_code.clone()),
            ..Verdict::plain(Queued, AttemptOutcome::Released, facts)
        },
        Ending::Released => {
            Verdict { refund_attempt: true, ..Verdict::plain(Queued, AttemptOutcome::Released, facts) }
        }
        Ending::Lost => judge_lost(facts, policy.unwrap_or(&rules.retry), now, dice),
        Ending::Failed(failure) => judge_failure(facts, failure, policy, rules, now, dice),
    }
}

fn judge_lost(facts: &JobFacts, policy: &RetryPolicy, now: Timestamp, dice: f64) -> Verdict {
    if facts.cancel_requested {
        return Verdict::plain(Cancelled, AttemptOutcome::Lost, facts);
    }
    let lost = Verdict {
        error_code: Some(WORKER_LOST.into()),
        error_class: Some(ErrorClass::WorkerLost),
        ..Verdict::plain(DeadLetter, AttemptOutcome::Lost, facts)
    };
    if facts.attempts_used >= facts.max_attempts {
        return Verdict { mark: Some(mark(now, lost.error_code.clone(), None)), ..lost };
    }
    // A little spread, so that a dead machine's jobs do not all come back at once; never more than a second,
    // because the work itself did nothing wrong.
    let wait = Duration::from_secs_f64(policy.base_seconds.clamp(0.0, 1.0) * dice);
    Verdict {
        status: Queued,
        available_at: Some(now.plus(wait)),
        mark: Some(mark(now, lost.error_code.clone(), Some(wait))),
        ..lost
    }
}

fn judge_failure(
    facts: &JobFacts,
    failure: &Failure,
    policy: Option<&RetryPolicy>,
    rules: &Rules,
    now: Timestamp,
    dice: f64,
) -> Verdict {
    if facts.cancel_requested {
        // However it says so: it stopped because it was asked to.
        return Verdict::plain(Cancelled, AttemptOutcome::Cancelled, facts);
    }
    let outcome = if failure.timed_out { AttemptOutcome::Timeout } else { AttemptOutcome::Failed };
    let (streak_code, streak_count) = streak(facts, failure.error_code.as_deref());
    let ended = Verdict {
        error_code: failure.error_code.clone(),
        error_class: failure.error_class,
        streak_code,
        streak_count,
        alert: failure.error_class.is_some_and(ErrorClass::raises_alert),
        ..Verdict::plain(Failed, outcome, facts)
    };
    let stop =
        |status| Verdict { status, mark: Some(mark(now, failure.error_code.clone(), None)), ..ended.clone() };
    if !is_retryable(failure, policy) {
        return stop(Failed);
    }
    if rules.quarantine_threshold > 0 && streak_count >= rules.quarantine_threshold {
        return stop(Quarantined);
    }
    if facts.attempts_used >= facts.max_attempts {
        return stop(DeadLetter);
    }
    let policy = policy.unwrap_or(&rules.retry);
    let wait = failure
        .retry_after
        .unwrap_or_else(|| backoff::delay(policy, facts.attempts_used, facts.last_backoff, dice));
    Verdict {
        status: Queued,
        available_at: Some(now.plus(wait)),
        mark: Some(mark(now, failure.error_code.clone(), Some(wait))),
        ..ended
    }
}

/// The handler's opinion counts, unless the class says otherwise or the definition lists other classes.
fn is_retryable(failure: &Failure, policy: Option<&RetryPolicy>) -> bool {
    if failure.retryable == Some(false) || failure.error_class.is_some_and(ErrorClass::never_retried) {
        return false;
    }
    match (policy, failure.error_class) {
        (Some(policy), Some(class)) if !policy.retryable_classes.is_empty() => {
            policy.retryable_classes.iter().any(|c| c == class.as_str())
        }
        _ => true,
    }
}

/// A failure without a code neither continues nor starts a streak.
fn streak(facts: &JobFacts, code: Option<&str>) -> (Option<String>, i32) {
    match code {
        None => (None, 0),
        Some(code) if facts.streak_code.as_deref() == Some(code) => {
            (facts.streak_code.clone(), facts.streak_count + 1)
        }
        Some(code) => (Some(code.to_owned()), 1),
    }
}

fn mark(ts: Timestamp, error_code: Option<String>, wait: Option<Duration>) -> FailureMark {
    FailureMark { ts, error_code, retry_backoff: wait.map(|d| d.as_secs_f64()) }
}

#[cfg(test)]
#[path = "transition_tests.rs"]
mod tests;
