//! "Why is it not running?" — every cause that stands in the way, from facts a store has gathered.

use crate::{
    admission::{Counter, Reached},
    params::COMMAND,
    transition::WORKER_LOST,
};
use leasehold_types::{
    JobStatus,
    view::{Cause, Delay, Diagnosis, DiagnosisFacts, LimitReached},
};

/// The limits that keep a job waiting, in words. A concurrency key is told apart: there the holder says more.
pub fn limits_reached(reached: &[Reached]) -> Vec<LimitReached> {
    let limit = |r: &Reached| {
        let what = match &r.counter {
            Counter::Tenant(_) => "This tenant".to_owned(),
            Counter::Kind { job_type, .. } => format!("“{job_type}”"),
            Counter::KindInTenant { job_type, .. } => format!("“{job_type}” in this tenant"),
            Counter::Quota { domain: None } => "This installation".to_owned(),
            Counter::Quota { domain: Some(domain) } => format!("The domain “{domain}”"),
            Counter::Owner { domain: None, owner, .. } => format!("The owner “{owner}”"),
            Counter::Owner { domain: Some(domain), owner, .. } => {
                format!("The owner “{owner}” in “{domain}”")
            }
            Counter::Key { .. } => return None,
        };
        Some(LimitReached { what, used: r.used, max: r.max })
    };
    reached.iter().filter_map(limit).collect()
}

pub fn key_is_full(reached: &[Reached]) -> bool {
    reached.iter().any(|r| matches!(r.counter, Counter::Key { .. }))
}

/// Names every blocking cause of a queued job, the decisive ones first; for other states says why there is none.
///
/// `executor` is the definition's, where it is known: a command that no worker knows is another thing to fix than a worker
/// that is not running.
pub fn explain(facts: &DiagnosisFacts, executor: Option<&str>) -> Diagnosis {
    let mut causes = Vec::new();
    if facts.status == JobStatus::Queued {
        waiting_for_time(facts, &mut causes);
        closed_doors(facts, executor, &mut causes);
        limits(facts, &mut causes);
        if causes.is_empty() && facts.ahead > 0 {
            let capped = if facts.ahead_capped { "more than " } else { "" };
            let text = format!("{capped}{} jobs of this tenant are ahead of it.", facts.ahead);
            causes.push(cause("behind_others", text));
        }
    }
    if let Some(silent) = &facts.silent {
        causes.push(cause("worker_silent", silent.text.clone()));
    }
    let summary = match facts.status {
        JobStatus::Queued if causes.is_empty() => "It is next in line for a free worker.".to_owned(),
        JobStatus::Queued => causes[0].text.clone(),
        JobStatus::Processing => match &facts.silent {
            Some(silent) => format!("It runs on a worker that may be gone. {}", silent.text),
            None => "It is running.".to_owned(),
        },
        other => format!("It has ended: {}.", other.label().to_lowercase()),
    };
    Diagnosis { status: facts.status, summary, causes }
}

fn waiting_for_time(facts: &DiagnosisFacts, causes: &mut Vec<Cause>) {
    let Some(at) = facts.available_at.filter(|at| *at > facts.now) else { return };
    let seconds = at.seconds_since(facts.now).ceil();
    let last = facts.last_failure.as_ref();
    causes.push(match Delay::of(at, last, facts.error_code.as_deref()) {
        Delay::Retry => {
            let lost = last.is_some_and(|mark| mark.error_code.as_deref() == Some(WORKER_LOST));
            let after = if lost { "its worker was lost" } else { "a failure" };
            cause("retry_wait", format!("Its next attempt begins in {seconds:.0} s, after {after}."))
        }
        Delay::Snoozed => {
            let why = facts.error_message.as_deref().unwrap_or("It could not be run there.");
            cause("snoozed", format!("A worker handed it back; it is offered again in {seconds:.0} s. {why}"))
        }
        Delay::Scheduled => cause("scheduled", format!("It was scheduled for later: in {seconds:.0} s.")),
    });
}

fn closed_doors(facts: &DiagnosisFacts, executor: Option<&str>, causes: &mut Vec<Cause>) {
    let lane = format!("{} / {}", facts.domain, facts.queue);
    if facts.queue_paused {
        causes.push(cause("queue_paused", format!("The queue {lane} is paused.")));
    }
    if facts.queue_draining {
        causes.push(cause(
            "queue_draining",
            format!("The queue {lane} is draining: it gives out nothing new."),
        ));
    }
    if facts.definition_inactive {
        causes.push(cause("definition_inactive", format!("“{}” is switched off.", facts.job_type)));
    }
    if facts.capable_workers == 0 {
        let text = match executor {
            Some(COMMAND) => format!(
                "No worker knows the command “{}” on {lane}: add it to commands.toml on a worker's machine and restart that worker.",
                facts.job_type
            ),
            _ => format!("No live worker offers “{}” on {lane}.", facts.job_type),
        };
        causes.push(cause("no_worker", text));
    }
    for missing in &facts.providers_missing {
        let text = format!(
            "No live worker that could run it knows {missing}: add it to providers.toml on a worker's machine and \
             restart that worker."
        );
        causes.push(cause("no_provider", text));
    }
}

fn limits(facts: &DiagnosisFacts, causes: &mut Vec<Cause>) {
    for limit in &facts.limits_reached {
        let text = format!("{} runs {} of at most {} jobs at a time.", limit.what, limit.used, limit.max);
        causes.push(cause("limit_reached", text));
    }
    if let Some(holder) = facts.concurrency_holder {
        causes.push(cause("concurrency_key", format!("Its concurrency key is held by #{holder}.")));
    }
}

fn cause(code: &str, text: String) -> Cause {
    Cause { code: code.into(), text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::{
        Timestamp,
        view::{FailureMark, Silence},
    };

    fn queued() -> DiagnosisFacts {
        DiagnosisFacts {
            number: 1,
            status: JobStatus::Queued,
            now: Timestamp::from_secs(1_000),
            available_at: None,
            last_failure: None,
            error_code: None,
            error_message: None,
            domain: "commands".into(),
            queue: "low".into(),
            job_type: "train".into(),
            queue_paused: false,
            queue_draining: false,
            definition_inactive: false,
            capable_workers: 1,
            providers_missing: vec![],
            limits_reached: vec![],
            concurrency_holder: None,
            ahead: 0,
            ahead_capped: false,
            silent: None,
        }
    }

    fn codes(facts: &DiagnosisFacts) -> Vec<String> {
        explain(facts, None).causes.into_iter().map(|c| c.code).collect()
    }

    #[test]
    fn a_job_with_nothing_in_its_way_is_next() {
        let diagnosis = explain(&queued(), None);
        assert!(diagnosis.causes.is_empty() && diagnosis.summary.contains("next"), "{diagnosis:?}");
        assert_eq!(codes(&DiagnosisFacts { ahead: 12, ..queued() }), ["behind_others"]);
    }

    #[test]
    fn every_cause_is_named() {
        let facts = DiagnosisFacts {
            available_at: Some(Timestamp::from_secs(1_030)),
            queue_paused: true,
            queue_draining: true,
            definition_inactive: true,
            capable_workers: 0,
            providers_missing: vec!["the provider “chat”".into()],
            limits_reached: vec![LimitReached { what: "The tenant".into(), used: 5, max: 5 }],
            concurrency_holder: Some(7),
            ahead: 3,
            ..queued()
        };
        let expected = [
            "scheduled",
            "queue_paused",
            "queue_draining",
            "definition_inactive",
            "no_worker",
            "no_provider",
            "limit_reached",
            "concurrency_key",
        ];
        assert_eq!(codes(&facts), expected);
    }

    #[test]
    fn a_wait_is_named_after_what_caused_it() {
        let at = Timestamp::from_secs;
        let mark = |code: &str| {
            Some(FailureMark { ts: at(990), error_code: Some(code.into()), retry_backoff: Some(40.0) })
        };
        let waiting = |last_failure, error_code: Option<&str>| {
            let error_message = Some("It is another's.".into());
            let error_code = error_code.map(Into::into);
            let available_at = Some(at(1_030));
            let facts = DiagnosisFacts { available_at, last_failure, error_code, error_message, ..queued() };
            explain(&facts, None).summary
        };
        assert!(waiting(mark("x"), Some("x")).ends_with("in 30 s, after a failure."));
        assert!(waiting(mark(WORKER_LOST), Some(WORKER_LOST)).ends_with("after its worker was lost."));
        let snoozed = waiting(None, Some("provider_elsewhere"));
        assert!(snoozed.contains("handed it back") && snoozed.ends_with("It is another's."), "{snoozed}");
        let requeued = Some(FailureMark { retry_backoff: None, ..mark("x").unwrap() });
        assert!(waiting(requeued, None).starts_with("It was scheduled"), "no failure is made up");
    }

    #[test]
    fn a_command_nobody_knows_is_told_apart_from_a_worker_that_is_missing() {
        let facts = DiagnosisFacts { capable_workers: 0, ..queued() };
        let said = |executor| explain(&facts, executor).summary;
        assert!(
            said(Some(COMMAND)).contains("No worker knows the command “train”"),
            "{}",
            said(Some(COMMAND))
        );
        assert!(said(Some("remote")).contains("No live worker"), "{}", said(Some("remote")));
    }

    #[test]
    fn a_silent_worker_is_named_while_its_job_runs() {
        let text = "No sign of life for 25 s; its lease ends in 35 s, then the job runs again.".to_owned();
        let since = Timestamp::from_secs(975);
        let silent = Some(Silence { since, seconds: 25, lease_left_seconds: Some(35), text: text.clone() });
        let diagnosis = explain(&DiagnosisFacts { status: JobStatus::Processing, silent, ..queued() }, None);
        assert_eq!(diagnosis.causes, [cause("worker_silent", text.clone())]);
        assert!(diagnosis.summary.ends_with(&text), "{diagnosis:?}");
    }

    #[test]
    fn a_job_that_is_not_waiting_has_no_causes() {
        for status in JobStatus::ALL.iter().filter(|s| **s != JobStatus::Queued) {
            let facts = DiagnosisFacts { status: *status, queue_paused: true, ..queued() };
            assert!(explain(&facts, None).causes.is_empty(), "{status}");
        }
    }
}
