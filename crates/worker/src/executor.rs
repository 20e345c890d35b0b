//! The seam between the pool and what a job does.
//!
//! An executor runs one attempt and says how it ended. It does not know about leases, batches or the database: it
//! hears through [`Ctx::stopped`] that it must end, reports through [`Ctx::progress`] and [`Ctx::log`], and keeps what
//! must outlive it through [`Ctx::checkpoint`] and [`Ctx::attach`].

mod ctx;
mod keep;
mod log_buffer;
mod stages;
mod stop;

use async_trait::async_trait;
pub use ctx::{Ctx, JobRules};
pub(crate) use ctx::{LOG_BATCH, Reports};
pub(crate) use keep::Desk;
use leasehold_queue::{
    params::{AttemptFacts, ClaimedJob},
    reports,
    transition::{Ending, Failure, Snooze},
};
use leasehold_types::{ErrorClass, ProblemCode};
pub use log_buffer::{LINES_PER_ATTEMPT, LogBuffer};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc, time::Duration};
pub use stop::{Stop, StopSignal};

/// The code of work whose result was too large to be kept.
pub const RESULT_TOO_LARGE: &str = "result_too_large";

#[async_trait]
pub trait Executor: Send + Sync + 'static {
    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Outcome;

    /// How long it may take to end once [`Ctx::stopped`] has spoken; after that it is dropped where it stands.
    fn patience(&self, _job: &ClaimedJob) -> Duration {
        Duration::from_secs(10)
    }
}

/// How an attempt ended, before it is judged.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    pub end: End,
    pub result: Option<Value>,
    pub facts: AttemptFacts,
}

#[derive(Clone, PartialEq, Debug)]
pub enum End {
    Completed,
    Failed(Failure),
    /// It cannot be done by this worker now; another one, or a later attempt, may.
    Snoozed(Snooze),
    /// It ended because [`Ctx::stopped`] said so.
    Stopped,
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Outcome {
    pub fn completed(result: Option<Value>) -> Self {
        Self { end: End::Completed, result, facts: AttemptFacts::default() }
    }

    pub fn failed(failure: Failure) -> Self {
        Self::of(End::Failed(failure))
    }

    /// Without a result.
    pub fn of(end: End) -> Self {
        Self { end, result: None, facts: AttemptFacts::default() }
    }

    /// A failure of Leasehold itself: never retried, and someone should look.
    pub fn bug(code: &str, message: impl Into<String>) -> Self {
        Self::failed(failure(code, ErrorClass::InternalBug, message))
    }

    #[must_use]
    pub fn with_facts(self, facts: AttemptFacts) -> Self {
        Self { facts, ..self }
    }
}

/// Why a handler goes no further.
#[derive(Clone, PartialEq, Debug)]
pub enum Halt {
    /// [`Ctx::stopped`] has spoken, or the lease is lost.
    Stopped,
    Failed(Failure),
}

impl From<Result<Option<Value>, Halt>> for Outcome {
    fn from(ended: Result<Option<Value>, Halt>) -> Self {
        match ended {
            Ok(result) => Self::completed(result),
            Err(Halt::Failed(failure)) => Self::failed(failure),
            Err(Halt::Stopped) => Self { end: End::Stopped, ..Self::completed(None) },
        }
    }
}

pub fn failure(code: &str, class: ErrorClass, message: impl Into<String>) -> Failure {
    Failure {
        error_code: Some(code.to_owned()),
        error_class: Some(class),
        message: message.into(),
        ..Failure::default()
    }
}

/// A result that can be kept: not too large, and without secrets. Work whose result cannot be kept has failed, as it has
/// for workers over HTTP; to do it again would not help.
pub fn fit_to_keep(mut outcome: Outcome, ctx: &Ctx) -> Outcome {
    let Some(result) = &mut outcome.result else { return outcome };
    if let Err(problem) = reports::check_json("result", result, ctx.max_json_bytes) {
        let too_large = problem.code == ProblemCode::PayloadTooLarge;
        let code = if too_large { RESULT_TOO_LARGE } else { "result_invalid" };
        let message = problem.detail.replace(" Nothing was changed.", "");
        return Outcome::failed(result_not_kept(code, message)).with_facts(outcome.facts);
    }
    ctx.redactor.json(result);
    outcome
}

pub fn result_not_kept(code: &str, message: String) -> Failure {
    Failure { retryable: Some(false), ..failure(code, ErrorClass::ValidationError, message) }
}

/// What the store is told; none when the lease is lost and nobody wants to know.
///
/// Work that is done stays done, also when a stop came at the last moment.
pub fn judge(end: End, stop: Option<Stop>, rules: &JobRules) -> Option<Ending> {
    match (end, stop) {
        (_, Some(Stop::LeaseLost)) => None,
        (End::Completed, _) => Some(Ending::Completed),
        (End::Failed(failure), _) => Some(Ending::Failed(failure)),
        (End::Snoozed(snooze), _) => Some(Ending::Snoozed(snooze)),
        (End::Stopped, Some(Stop::Cancelled)) => Some(Ending::Cancelled),
        (End::Stopped, Some(Stop::ShuttingDown)) => Some(Ending::Released),
        (End::Stopped, Some(Stop::TimedOut)) => {
            let message = format!("Stopped after {} seconds, its time limit.", rules.timeout.as_secs());
            let failure = failure("timeout", ErrorClass::Timeout, message);
            Some(Ending::Failed(Failure { timed_out: true, ..failure }))
        }
        (End::Stopped, None) => {
            let message = "The work stopped although nobody asked it to.";
            Some(Ending::Failed(failure("stopped_unasked", ErrorClass::InternalBug, message)))
        }
    }
}

/// Who runs which kind of job, by `(domain, job_type)`.
#[derive(Clone, Default)]
pub struct Registry {
    executors: HashMap<(String, String), Arc<dyn Executor>>,
}

impl Registry {
    pub fn register(
        &mut self,
        domain: impl Into<String>,
        job_type: impl Into<String>,
        executor: Arc<dyn Executor>,
    ) {
        self.executors.insert((domain.into(), job_type.into()), executor);
    }

    pub fn find(&self, domain: &str, job_type: &str) -> Option<Arc<dyn Executor>> {
        self.executors.get(&(domain.to_owned(), job_type.to_owned())).cloned()
    }

    /// What a claim may bring, in a stable order.
    pub fn kinds(&self) -> Vec<(String, String)> {
        let mut kinds: Vec<_> = self.executors.keys().cloned().collect();
        kinds.sort();
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_judged_by_its_reason() {
        let rules = JobRules::default();
        let stopped = |stop| judge(End::Stopped, Some(stop), &rules);
        assert_eq!(stopped(Stop::Cancelled), Some(Ending::Cancelled));
        assert_eq!(stopped(Stop::ShuttingDown), Some(Ending::Released));
        assert_eq!(stopped(Stop::LeaseLost), None);
        assert!(matches!(stopped(Stop::TimedOut), Some(Ending::Failed(f)) if f.timed_out));
    }

    #[test]
    fn finished_work_stays_finished_unless_the_lease_is_lost() {
        let rules = JobRules::default();
        for stop in [Stop::Cancelled, Stop::ShuttingDown, Stop::TimedOut] {
            assert_eq!(judge(End::Completed, Some(stop), &rules), Some(Ending::Completed));
        }
        assert_eq!(judge(End::Completed, Some(Stop::LeaseLost), &rules), None);
    }

    #[test]
    fn every_result_is_held_to_the_same_limit_and_kept_without_secrets() {
        let ctx = Ctx::new(
            JobRules::default(),
            leasehold_queue::secrets::Redactor::default(),
            100,
            leasehold_queue::Clock::system(),
            StopSignal::default(),
        );
        let kept = |result: Value| fit_to_keep(Outcome::completed(Some(result)), &ctx);
        let fine = kept(serde_json::json!({"rows": 3, "token": "abc"}));
        assert_eq!(
            (fine.end, fine.result.unwrap()["token"].as_str()),
            (End::Completed, Some("***REDACTED***"))
        );
        for (result, code) in
            [(Value::from("y".repeat(100)), RESULT_TOO_LARGE), (Value::from("a\0b"), "result_invalid")]
        {
            let End::Failed(failure) = kept(result).end else { panic!("{code}") };
            assert_eq!((failure.error_code.as_deref(), failure.retryable), (Some(code), Some(false)));
        }
    }
}
