use super::*;
use leasehold_types::Timestamp;

fn event(number: i64, kind: LiveKind, status: JobStatus, at: i64) -> OutboxEvent {
    let event = LiveEvent {
        id: at,
        number,
        kind,
        domain: "media".into(),
        queue: "default".into(),
        job_type: "convert".into(),
        at: Timestamp::from_secs(at),
        status,
        attempt: 1,
        progress: 0,
        stage: None,
        message: None,
        error_code: None,
        error_class: None,
        retry_at: None,
        worker: None,
    };
    OutboxEvent::new(TenantId(uuid::Uuid::from_u128(1)), event)
}

fn tally() -> Tally {
    Tally::new(Arc::new(crate::config::MetricsConfig::for_tests()))
}

fn only(tally: &Tally) -> &Counts {
    let all: Vec<_> = tally.counts(None).collect();
    assert_eq!(all.len(), 1);
    all[0].2
}

#[test]
fn a_job_is_timed_from_its_own_events() {
    let mut tally = tally();
    tally.count(&event(7, LiveKind::Created, JobStatus::Queued, 100), None);
    let start = event(7, LiveKind::Started, JobStatus::Processing, 103);
    assert!(!tally.needs_times(&start.event));
    tally.count(&start, None);
    for (stage, at) in [("read", 104), ("read", 105), ("write", 110)] {
        let mut moved = event(7, LiveKind::Progress, JobStatus::Processing, at);
        moved.event.stage = Some(stage.into());
        tally.count(&moved, None);
    }
    tally.count(&event(7, LiveKind::Completed, JobStatus::Completed, 123), None);
    let counts = only(&tally);
    assert_eq!((counts.created, counts.started, counts.completed, counts.failed()), (1, 1, 1, 0));
    assert_eq!((counts.latency.sum(), counts.duration.sum()), (3.0, 20.0));
    let stages: Vec<_> = counts.stages.iter().map(|(s, h)| (tally.stages.text(*s), h.sum())).collect();
    assert_eq!(stages, [("read", 6.0), ("write", 13.0)]);
}

#[test]
fn a_retry_is_no_failure_and_a_release_is_no_retry() {
    let mut tally = tally();
    tally.count(&event(1, LiveKind::Started, JobStatus::Processing, 10), None);
    tally.count(&event(1, LiveKind::Retrying, JobStatus::Queued, 11), None);
    assert_eq!(only(&tally).retries, 0);
    let mut failed = event(1, LiveKind::Retrying, JobStatus::Queued, 20);
    failed.event.retry_at = Some(Timestamp::from_secs(24));
    failed.event.error_class = Some("network_timeout".into());
    tally.count(&failed, None);
    assert_eq!((only(&tally).retries, only(&tally).failed(), only(&tally).retry_after.sum()), (1, 0, 4.0));
    let mut dead = event(1, LiveKind::DeadLettered, JobStatus::DeadLetter, 30);
    dead.event.error_code = Some("x".repeat(500));
    tally.count(&dead, None);
    let counts = only(&tally);
    assert_eq!(counts.failures.get(&JobStatus::DeadLetter), Some(&1));
    assert!(counts.failure_codes.keys().all(|code| tally.codes.text(*code).len() == 64));
}

#[test]
fn a_job_of_three_attempts_began_once_and_an_alert_is_counted() {
    let mut tally = tally();
    for attempt in 1..=3 {
        let mut start = event(1, LiveKind::Started, JobStatus::Processing, 10 * i64::from(attempt));
        start.event.attempt = attempt;
        tally.count(&start, None);
    }
    tally.count(&event(1, LiveKind::Failed, JobStatus::Failed, 40), None);
    tally.count(&event(1, LiveKind::Alert, JobStatus::Failed, 40), None);
    let counts = only(&tally);
    assert_eq!((counts.started, counts.attempts_started, counts.alerts, counts.failed()), (1, 3, 1, 1));
}

#[test]
fn what_was_before_this_process_is_asked_for_once() {
    let mut tally = tally();
    let end = event(9, LiveKind::Completed, JobStatus::Completed, 50);
    assert!(tally.needs_times(&end.event));
    tally.learn(&[JobTimes {
        number: 9,
        created_at: Timestamp::from_secs(10),
        started_at: Some(Timestamp::from_secs(30)),
        acquired_at: Some(Timestamp::from_secs(40)),
        trace_id: "t".into(),
    }]);
    assert!(!tally.needs_times(&end.event));
    tally.count(&end, Some("t"));
    let counts = only(&tally);
    assert_eq!(counts.duration.sum(), 10.0);
    assert_eq!(counts.wall_time[&JobStatus::Completed].sum(), 20.0);
    assert!(counts.duration.cumulative().any(|(_, exemplar)| exemplar.is_some()));
}

#[test]
fn a_thousand_kinds_of_jobs_and_codes_do_not_make_a_thousand_series() {
    let mut tally = tally();
    for i in 0..1_000 {
        let mut failed = event(i, LiveKind::Failed, JobStatus::Failed, 10 + i);
        failed.event.job_type = format!("type-{i}");
        failed.event.error_code = Some(format!("code-{i}"));
        tally.count(&failed, None);
    }
    let groups = tally.counts(None).count();
    assert_eq!(groups, 101);
    let others: u64 =
        tally.counts(None).filter(|(_, g, _)| *g == Label::OTHER).map(|(.., c)| c.failed()).sum();
    assert_eq!(others, 900);
}
