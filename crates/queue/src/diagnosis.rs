//! "Why is it not running?" — every cause that stands in the way, from facts a store has gathered.

use crate::admission::{Counter, Reached};
use leasehold_types::{
    JobStatus,
    view::{Cause, Diagnosis, DiagnosisFacts, LimitReached},
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
pub fn explain(facts: &DiagnosisFacts) -> Diagnosis {
    let mut causes = Vec::new();
    if facts.status == JobStatus::Queued {
        waiting_for_time(facts, &mut causes);
        closed_doors(facts, &mut causes);
        limits(facts, &mut causes);
        if causes.is_empty() && facts.ahead > 0 {
            let capped = if facts.ahead_capped { "more than " } else { "" };
            let text = format!("{capped}{} jobs of this tenant stand before it.", facts.ahead);
            causes.push(cause("behind_others", text));
        }
    }
    let summary = match facts.status {
        JobStatus::Queued if causes.is_empty() => {
            "It is next: a worker takes it at its next look.".to_owned()
        }
        JobStatus::Queued => causes[0].text.clone(),
        JobStatus::Processing => "It is running.".to_owned(),
        other => format!("It has ended: {}.", other.label().to_lowercase()),
    };
    Diagnosis { status: facts.status, summary, causes }
}

fn waiting_for_time(facts: &DiagnosisFacts, causes: &mut Vec<Cause>) {
    let Some(at) = facts.available_at.filter(|at| *at > facts.now) else { return };
    let seconds = at.seconds_since(facts.now).ceil();
    if facts.attempt_count > 0 {
        causes.push(cause(
            "retry_wait",
            format!("Its next attempt begins in {seconds:.0} s, after a failure."),
        ));
    } else {
        causes.push(cause("scheduled", format!("It was scheduled for later: in {seconds:.0} s.")));
    }
}

fn closed_doors(facts: &DiagnosisFacts, causes: &mut Vec<Cause>) {
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
        causes.push(cause("no_worker", format!("No live worker offers “{}” on {lane}.", facts.job_type)));
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
    use leasehold_types::Timestamp;

    fn queued() -> DiagnosisFacts {
        DiagnosisFacts {
            status: JobStatus::Queued,
            now: Timestamp::from_secs(1_000),
            available_at: None,
            attempt_count: 0,
            domain: "commands".into(),
            queue: "low".into(),
            job_type: "train".into(),
            queue_paused: false,
            queue_draining: false,
            definition_inactive: false,
            capable_workers: 1,
            limits_reached: vec![],
            concurrency_holder: None,
            ahead: 0,
            ahead_capped: false,
        }
    }

    fn codes(facts: &DiagnosisFacts) -> Vec<String> {
        explain(facts).causes.into_iter().map(|c| c.code).collect()
    }

    #[test]
    fn a_job_with_nothing_in_its_way_is_next() {
        let diagnosis = explain(&queued());
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
            "limit_reached",
            "concurrency_key",
        ];
        assert_eq!(codes(&facts), expected);
        assert_eq!(codes(&DiagnosisFacts { attempt_count: 1, ..facts })[0], "retry_wait");
    }

    #[test]
    fn a_job_that_is_not_waiting_has_no_causes() {
        for status in JobStatus::ALL.iter().filter(|s| **s != JobStatus::Queued) {
            let facts = DiagnosisFacts { status: *status, queue_paused: true, ..queued() };
            assert!(explain(&facts).causes.is_empty(), "{status}");
        }
    }
}
