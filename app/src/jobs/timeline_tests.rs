use super::*;
use leasehold_types::{
    JobId, Source, TenantId,
    view::{FailureMark, JobRow, TrailEntry},
};
use serde_json::json;

pub fn at(secs: i64) -> Timestamp {
    Timestamp::from_secs(1_700_000_000 + secs)
}

pub fn job(status: JobStatus) -> JobDetail {
    let id = "0192f3c4-0000-7000-8000-000000000001";
    JobDetail {
        row: row(id, status),
        tenant_id: id.parse::<TenantId>().unwrap(),
        owner_user_id: None,
        project_id: None,
        definition_key: Some("demo-import".into()),
        stages: vec![],
        payload: json!({}),
        result: None,
        requested_by: "ann@example.org".into(),
        source_ref: None,
        trace_id: "t".into(),
        request_id: None,
        correlation_id: None,
        dedupe_key: None,
        concurrency_key: None,
        parent: None,
        children: vec![],
        metadata: serde_json::json!({}),
        queued_at: at(0),
        updated_at: at(0),
        cancelled_at: None,
        leased_until: None,
        silent: None,
        error_class: None,
        error_message: None,
        error_stack: None,
        cancellation_reason: None,
        cancelled_by: None,
        quarantined_at: None,
        failure_timeline: vec![],
        attempts: vec![],
        trail: vec![],
        now: at(60),
        cursor: 0,
    }
}

fn row(id: &str, status: JobStatus) -> JobRow {
    JobRow {
        number: 7,
        id: id.parse::<JobId>().unwrap(),
        domain: "commands".into(),
        queue: "default".into(),
        job_type: "demo-import".into(),
        source: Source::Manual,
        status,
        priority: 100,
        attempt_count: 0,
        attempts_used: 0,
        max_attempts: 3,
        created_at: at(0),
        available_at: None,
        started_at: None,
        acquired_at: None,
        completed_at: None,
        worker_id: None,
        last_run: None,
        stage: None,
        progress: 0,
        progress_message: None,
        error_code: None,
        cancel_requested_at: None,
    }
}

pub fn attempt(number: i32, outcome: AttemptOutcome, from: i64, until: Option<i64>) -> AttemptView {
    AttemptView {
        attempt: number,
        outcome,
        worker_id: "web-2:8812:0f3c".into(),
        pid: None,
        started_at: at(from),
        finished_at: until.map(at),
        exit_code: None,
        error_code: None,
        error_text: None,
        error_stack: None,
        stdout_tail: None,
        stderr_tail: None,
        stages: vec![],
        logs: vec![],
    }
}

pub fn requeued(secs: i64, reason: &str) -> TrailEntry {
    TrailEntry {
        at: at(secs),
        actor: "ann@example.org".into(),
        action: "job.requeue".into(),
        reason: Some(reason.into()),
    }
}

/// Three times the same error, then parked.
pub fn parked() -> JobDetail {
    let mut job = job(JobStatus::Quarantined);
    let failed = |number, from, until| AttemptView {
        error_code: Some("exit_1".into()),
        ..attempt(number, AttemptOutcome::Failed, from, Some(until))
    };
    job.attempts = vec![failed(1, 1, 3), failed(2, 5, 6), failed(3, 9, 10)];
    (job.row.attempt_count, job.row.attempts_used) = (3, 3);
    (job.row.completed_at, job.quarantined_at) = (Some(at(10)), Some(at(10)));
    job
}

fn titles(job: &JobDetail) -> Vec<String> {
    steps(job, at(60)).into_iter().map(|s| s.title).collect()
}

#[test]
fn a_retried_job_tells_attempts_and_waits_in_order() {
    let mut job = job(JobStatus::Completed);
    job.attempts = vec![
        attempt(1, AttemptOutcome::Failed, 1, Some(3)),
        attempt(2, AttemptOutcome::Succeeded, 6, Some(9)),
    ];
    job.row.completed_at = Some(at(9));
    let expected = [
        "Queued by ann@example.org",
        "Attempt 1 failed",
        "Waited to retry",
        "Attempt 2 succeeded",
        "Completed",
    ];
    assert_eq!(titles(&job), expected);
}

#[test]
fn a_running_job_has_an_open_end() {
    let mut job = job(JobStatus::Processing);
    job.attempts = vec![attempt(1, AttemptOutcome::Running, 1, None)];
    let steps = steps(&job, at(60));
    assert!(steps.last().is_some_and(|s| s.open && s.title == "Attempt 1 is running"));
}

#[test]
fn a_quarantined_job_says_since_when_and_why() {
    let told = steps(&parked(), at(60));
    let last = told.last().unwrap();
    assert_eq!((last.title.as_str(), last.from, last.open), ("Quarantined", Some(at(10)), true));
    assert_eq!(last.note.as_deref(), Some("the same error exit_1 3 times in a row"));
}

#[test]
fn a_requeued_job_tells_who_took_it_out_of_quarantine_and_how_long_it_was_there() {
    let mut job = parked();
    job.row.status = JobStatus::Processing;
    job.trail = vec![requeued(7_210, "token renewed")];
    job.attempts.push(attempt(4, AttemptOutcome::Running, 7_211, None));
    let told = steps(&job, at(7_215));
    let expected = [
        "Queued by ann@example.org",
        "Attempt 1 failed",
        "Waited to retry",
        "Attempt 2 failed",
        "Waited to retry",
        "Attempt 3 failed",
        "Quarantined",
        "Requeued by ann@example.org",
        "Attempt 4 is running",
    ];
    assert_eq!(told.iter().map(|s| s.title.as_str()).collect::<Vec<_>>(), expected);
    assert_eq!((told[6].from, told[6].until, told[6].spent), (Some(at(10)), Some(at(7_210)), "for "));
    assert_eq!((told[7].until, told[7].note.as_deref()), (Some(at(7_211)), Some("“token renewed”")));
}

#[test]
fn a_requeued_job_waits_as_if_it_were_new() {
    let mut job = parked();
    (job.row.status, job.row.attempts_used) = (JobStatus::Queued, 0);
    job.trail = vec![requeued(50, "fixed")];
    let told = steps(&job, at(60));
    let [.., requeued, waits] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((requeued.title.as_str(), requeued.open), ("Requeued by ann@example.org", true));
    assert_eq!((waits.title.as_str(), waits.from), ("Waiting to run", None));
}

#[test]
fn a_released_attempt_is_told_as_one() {
    let mut job = job(JobStatus::Queued);
    (job.row.attempt_count, job.row.attempts_used) = (2, 0);
    job.attempts = vec![
        attempt(1, AttemptOutcome::Released, 1, Some(3)),
        attempt(2, AttemptOutcome::Released, 6, Some(9)),
    ];
    let expected = [
        "Queued by ann@example.org",
        "Attempt 1 was released by its worker",
        "Waited for a worker",
        "Attempt 2 was released by its worker",
        "Waiting to run",
    ];
    assert_eq!(titles(&job), expected);
}

#[test]
fn a_queued_job_says_why_it_waits() {
    let mut job = job(JobStatus::Queued);
    assert_eq!(why_it_waits(&job, at(60)).as_deref(), Some("Waiting to run"));
    job.row.available_at = Some(at(90));
    assert_eq!(why_it_waits(&job, at(60)).as_deref(), Some("Scheduled for later"));
    job.row.error_code = Some("provider_elsewhere".into());
    assert!(why_it_waits(&job, at(60)).unwrap().starts_with("Handed back by a worker"));
    job.failure_timeline =
        vec![FailureMark { ts: at(50), error_code: Some("x".into()), retry_backoff: Some(40.0) }];
    assert_eq!(why_it_waits(&job, at(60)).as_deref(), Some("Waiting to retry"));
    job.row.status = JobStatus::Completed;
    assert_eq!(why_it_waits(&job, at(60)), None);
}
