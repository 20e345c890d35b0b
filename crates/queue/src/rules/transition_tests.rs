use super::*;
use leasehold_types::view::Jitter;

const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

fn facts(used: i32, max: i32) -> JobFacts {
    JobFacts { attempts_used: used, max_attempts: max, ..JobFacts::default() }
}

fn failure(code: Option<&str>) -> Failure {
    Failure { error_code: code.map(Into::into), message: "no".into(), ..Failure::default() }
}

fn snooze() -> Snooze {
    Snooze { error_code: "not_here".into(), message: "Not here.".into(), wait: Duration::from_secs(9) }
}

fn judged(facts: &JobFacts, failure: &Failure) -> Verdict {
    judge(facts, &Ending::Failed(failure.clone()), None, &Rules::default(), NOW, 0.5)
}

#[test]
fn every_verdict_is_a_legal_move() {
    let endings = [
        Ending::Completed,
        Ending::Cancelled,
        Ending::Released,
        Ending::Snoozed(snooze()),
        Ending::Lost,
        Ending::Failed(failure(None)),
        Ending::Failed(failure(Some("x"))),
        Ending::Failed(Failure { retryable: Some(false), ..failure(None) }),
    ];
    for ending in endings {
        for used in 1..=3 {
            for cancel_requested in [false, true] {
                let facts = JobFacts { cancel_requested, ..facts(used, 2) };
                let verdict = judge(&facts, &ending, None, &Rules::default(), NOW, 0.1);
                assert!(is_legal(Processing, verdict.status), "{ending:?} {facts:?} {verdict:?}");
            }
        }
    }
}

#[test]
fn nothing_leaves_a_terminal_state() {
    for from in JobStatus::ALL.iter().filter(|s| s.is_terminal()) {
        assert!(JobStatus::ALL.iter().all(|to| !is_legal(*from, *to)), "{from}");
    }
}

#[test]
fn a_failure_waits_and_tries_again_until_the_attempts_are_used_up() {
    let verdict = judged(&facts(1, 3), &failure(None));
    assert_eq!((verdict.status, verdict.available_at), (Queued, Some(NOW.plus_secs(1))));
    assert_eq!(judged(&facts(3, 3), &failure(None)).status, DeadLetter);
}

#[test]
fn quarantine_comes_before_the_dead_letter_and_only_for_one_code() {
    for (threshold, used, streak, expected) in
        [(2, 2, 1, Quarantined), (3, 3, 2, Quarantined), (4, 3, 2, DeadLetter), (0, 2, 9, Queued)]
    {
        let facts = JobFacts { streak_code: Some("e".into()), streak_count: streak, ..facts(used, 3) };
        let rules = Rules { quarantine_threshold: threshold, ..Rules::default() };
        let verdict = judge(&facts, &Ending::Failed(failure(Some("e"))), None, &rules, NOW, 0.5);
        assert_eq!(verdict.status, expected, "threshold {threshold}");
    }
    let facts = JobFacts { streak_code: Some("e".into()), streak_count: 2, ..facts(2, 9) };
    let other = judged(&facts, &failure(Some("f")));
    assert_eq!((other.status, other.streak_count), (Queued, 1));
    let none = judged(&facts, &failure(None));
    assert_eq!((none.status, none.streak_code, none.streak_count), (Queued, None, 0));
}

#[test]
fn by_default_a_plain_failure_is_a_dead_letter_and_a_long_row_of_them_a_quarantine() {
    let failing = |used, most| {
        let facts =
            JobFacts { streak_code: Some("exit_1".into()), streak_count: used - 1, ..facts(used, most) };
        judged(&facts, &failure(Some("exit_1"))).status
    };
    assert_eq!((failing(2, 3), failing(3, 3)), (Queued, DeadLetter));
    assert_eq!((failing(4, 10), failing(5, 10)), (Queued, Quarantined));
}

#[test]
fn a_cancellation_wins_over_a_retry() {
    let facts = JobFacts { cancel_requested: true, ..facts(1, 3) };
    // Whatever reason it gives, it was asked to stop and did.
    let stopped = judged(&facts, &failure(Some("interrupted")));
    assert_eq!((stopped.status, stopped.outcome), (Cancelled, AttemptOutcome::Cancelled));
    assert_eq!((stopped.error_code, stopped.mark), (None, None));
    for ending in [Ending::Lost, Ending::Released, Ending::Snoozed(snooze())] {
        assert_eq!(judge(&facts, &ending, None, &Rules::default(), NOW, 0.5).status, Cancelled);
    }
}

#[test]
fn completion_wins_over_a_cancellation_that_came_too_late() {
    let facts = JobFacts { cancel_requested: true, ..facts(1, 3) };
    assert_eq!(judge(&facts, &Ending::Completed, None, &Rules::default(), NOW, 0.5).status, Completed);
}

#[test]
fn classes_decide_over_the_handlers_opinion() {
    let bug =
        Failure { error_class: Some(ErrorClass::InternalBug), retryable: Some(true), ..failure(Some("bug")) };
    let verdict = judged(&facts(1, 3), &bug);
    assert_eq!((verdict.status, verdict.alert), (Failed, true));
    let policy = RetryPolicy { retryable_classes: vec!["rate_limited".into()], ..RetryPolicy::default() };
    for (class, expected) in [(ErrorClass::RateLimited, Queued), (ErrorClass::NetworkTimeout, Failed)] {
        let failure = Failure { error_class: Some(class), ..failure(None) };
        let ending = Ending::Failed(failure);
        let verdict = judge(&facts(1, 3), &ending, Some(&policy), &Rules::default(), NOW, 0.5);
        assert_eq!(verdict.status, expected, "{class}");
    }
}

#[test]
fn an_explicit_delay_wins_over_every_policy() {
    let failure = Failure { retry_after: Some(Duration::from_secs(77)), ..failure(None) };
    let policy = RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() };
    let ending = Ending::Failed(failure);
    let verdict = judge(&facts(1, 3), &ending, Some(&policy), &Rules::default(), NOW, 0.5);
    assert_eq!(verdict.available_at, Some(NOW.plus_secs(77)));
}

#[test]
fn a_lost_worker_costs_an_attempt_and_a_released_job_does_not() {
    let lost = judge(&facts(1, 3), &Ending::Lost, None, &Rules::default(), NOW, 0.5);
    assert_eq!((lost.status, lost.outcome), (Queued, AttemptOutcome::Lost));
    assert!(!lost.refund_attempt);
    let last = judge(&facts(3, 3), &Ending::Lost, None, &Rules::default(), NOW, 0.5);
    assert_eq!((last.status, last.error_class), (DeadLetter, Some(ErrorClass::WorkerLost)));
    let released = judge(&facts(3, 3), &Ending::Released, None, &Rules::default(), NOW, 0.5);
    assert_eq!((released.status, released.refund_attempt), (Queued, true));
}

#[test]
fn a_snoozed_job_waits_costs_no_attempt_and_counts_as_no_failure() {
    let facts = JobFacts { streak_code: Some("x".into()), streak_count: 2, ..facts(3, 3) };
    let verdict = judge(&facts, &Ending::Snoozed(snooze()), None, &Rules::default(), NOW, 0.5);
    assert_eq!((verdict.status, verdict.outcome), (Queued, AttemptOutcome::Released));
    assert_eq!((verdict.available_at, verdict.retry_at()), (Some(NOW.plus_secs(9)), None));
    assert_eq!((verdict.refund_attempt, verdict.error_code.as_deref()), (true, Some("not_here")));
    assert_eq!((verdict.streak_code.as_deref(), verdict.streak_count, verdict.mark), (Some("x"), 2, None));
}
