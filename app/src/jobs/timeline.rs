//! A job's story in order: queued, each attempt, each wait, the end. And why it waits, when it does.

use crate::components::badge::Tone;
use leasehold_types::{
    AttemptOutcome, JobStatus, Timestamp,
    id::short_worker,
    view::{AttemptView, JobDetail},
};

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub tone: Tone,
    pub title: String,
    pub from: Option<Timestamp>,
    /// None while it lasts.
    pub until: Option<Timestamp>,
    pub note: Option<String>,
    /// Still going on: its duration counts.
    pub open: bool,
}

impl Step {
    fn new(tone: Tone, title: impl Into<String>, from: Timestamp) -> Self {
        Self { tone, title: title.into(), from: Some(from), until: None, note: None, open: false }
    }
}

pub fn steps(job: &JobDetail, now: Timestamp) -> Vec<Step> {
    let mut steps = vec![queued(job)];
    let mut ended: Option<Timestamp> = None;
    for attempt in &job.attempts {
        if let Some(ended) = ended.filter(|e| attempt.started_at.seconds_since(*e) > 0.05) {
            let mut wait = Step::new(Tone::Retrying, "Waited for the next attempt", ended);
            wait.until = Some(attempt.started_at);
            steps.push(wait);
        }
        steps.push(attempted(attempt));
        ended = attempt.finished_at;
    }
    steps.extend(last(job, ended, now));
    steps
}

fn queued(job: &JobDetail) -> Step {
    let mut step = Step::new(Tone::Queued, format!("Queued by {}", job.requested_by), job.row.created_at);
    match job.attempts.first() {
        Some(first) => step.until = Some(first.started_at),
        None => step.open = job.row.status == JobStatus::Queued,
    }
    step
}

fn attempted(attempt: &AttemptView) -> Step {
    let verb = match attempt.outcome {
        AttemptOutcome::Running => "is running",
        AttemptOutcome::Succeeded => "succeeded",
        AttemptOutcome::Failed => "failed",
        AttemptOutcome::Timeout => "timed out",
        AttemptOutcome::Cancelled => "was cancelled",
        AttemptOutcome::Lost => "lost its worker",
        AttemptOutcome::Released => "was handed back",
    };
    let worker = short_worker(&attempt.worker_id);
    Step {
        until: attempt.finished_at,
        note: Some(attempt.error_code.clone().unwrap_or_else(|| format!("on {worker}"))),
        open: attempt.finished_at.is_none(),
        ..Step::new(
            Tone::of_outcome(attempt.outcome),
            format!("Attempt {} {verb}", attempt.attempt),
            attempt.started_at,
        )
    }
}

fn last(job: &JobDetail, ended: Option<Timestamp>, now: Timestamp) -> Option<Step> {
    let row = &job.row;
    match row.status {
        JobStatus::Queued => {
            let tone = Tone::of(row, now);
            let title = why_it_waits(job, now)?;
            Some(Step { from: ended, open: ended.is_some(), ..Step::new(tone, title, row.created_at) })
        }
        JobStatus::Processing => {
            let asked = row.cancel_requested_at?;
            Some(Step::new(Tone::Cancelling, "Asked to stop", asked))
        }
        status => {
            let mut step = Step::new(Tone::of_status(status), status.label(), row.completed_at?);
            step.note = job.cancelled_by.as_ref().map(|who| match &job.cancellation_reason {
                Some(reason) => format!("by {who}: {reason}"),
                None => format!("by {who}"),
            });
            Some(step)
        }
    }
}

/// One sentence, for queued jobs that a worker may not take yet. Needs no ticking: it names no distance.
pub fn why_it_waits(job: &JobDetail, now: Timestamp) -> Option<String> {
    let row = &job.row;
    if row.status != JobStatus::Queued {
        return None;
    }
    let later = row.available_at.is_some_and(|at| at > now);
    Some(match (later, row.attempt_count > 0) {
        (true, true) => "Waits before the next attempt".into(),
        (true, false) => "Scheduled for later".into(),
        (false, true) => "Ready to be taken again".into(),
        (false, false) => "Ready; waits for a free worker".into(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use leasehold_types::{JobId, Source, TenantId, view::JobRow};
    use serde_json::json;

    pub fn at(secs: i64) -> Timestamp {
        Timestamp::from_secs(1_700_000_000 + secs)
    }

    pub fn job(status: JobStatus) -> JobDetail {
        let id = "0192f3c4-0000-7000-8000-000000000001";
        JobDetail {
            row: JobRow {
                number: 7,
                id: id.parse::<JobId>().unwrap(),
                domain: "commands".into(),
                queue: "default".into(),
                job_type: "demo-import".into(),
                source: Source::Manual,
                status,
                priority: 100,
                attempt_count: 0,
                max_attempts: 3,
                created_at: at(0),
                available_at: None,
                started_at: None,
                acquired_at: None,
                completed_at: None,
                worker_id: None,
                stage: None,
                progress: 0,
                progress_message: None,
                error_code: None,
                cancel_requested_at: None,
            },
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
        assert_eq!(
            titles(&job),
            [
                "Queued by ann@example.org",
                "Attempt 1 failed",
                "Waited for the next attempt",
                "Attempt 2 succeeded",
                "Completed"
            ]
        );
    }

    #[test]
    fn a_running_job_has_an_open_end() {
        let mut job = job(JobStatus::Processing);
        job.attempts = vec![attempt(1, AttemptOutcome::Running, 1, None)];
        let steps = steps(&job, at(60));
        assert!(steps.last().is_some_and(|s| s.open && s.title == "Attempt 1 is running"));
    }

    #[test]
    fn a_queued_job_says_why_it_waits() {
        let mut job = job(JobStatus::Queued);
        assert_eq!(why_it_waits(&job, at(60)).as_deref(), Some("Ready; waits for a free worker"));
        job.row.available_at = Some(at(90));
        assert_eq!(why_it_waits(&job, at(60)).as_deref(), Some("Scheduled for later"));
        job.row.attempt_count = 1;
        assert_eq!(why_it_waits(&job, at(60)).as_deref(), Some("Waits before the next attempt"));
        job.row.status = JobStatus::Completed;
        assert_eq!(why_it_waits(&job, at(60)), None);
    }
}
