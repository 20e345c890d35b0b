//! A job's story in order: queued, each attempt, each wait, each time in quarantine, the end. And why it waits.

use crate::components::badge::Tone;
use leasehold_queue::history::{self, Parked, Streak};
use leasehold_types::{
    AttemptOutcome, JobStatus, Timestamp,
    id::short_worker,
    view::{AttemptView, Delay, JobDetail},
};

/// A wait that is worth telling, in seconds.
const GAP: f64 = 0.05;

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub tone: Tone,
    pub title: String,
    pub from: Option<Timestamp>,
    /// None while it lasts.
    pub until: Option<Timestamp>,
    /// What the time was spent on, before its length: "ran for 3 s".
    pub spent: &'static str,
    pub note: Option<String>,
    /// Still going on: its duration counts.
    pub open: bool,
}

impl Step {
    fn new(tone: Tone, title: impl Into<String>, from: Timestamp) -> Self {
        let (title, from) = (title.into(), Some(from));
        Self { tone, title, from, until: None, spent: "", note: None, open: false }
    }
}

pub fn steps(job: &JobDetail, now: Timestamp) -> Vec<Step> {
    let parked = history::parked(job);
    let mut steps = vec![queued(job)];
    for (place, attempt) in job.attempts.iter().enumerate() {
        let next = job.attempts.get(place + 1);
        steps.push(attempted(attempt));
        match parked.iter().find(|stay| stay.after_attempt == attempt.attempt) {
            Some(stay) => steps.extend(quarantined(job, stay, next)),
            None => steps.extend(next.and_then(|next| waited(attempt, next))),
        }
    }
    steps.extend(last(job, &parked, now));
    steps
}

fn queued(job: &JobDetail) -> Step {
    let mut step = Step::new(Tone::Queued, format!("Queued by {}", job.requested_by), job.row.created_at);
    step.spent = "waited ";
    match job.attempts.first() {
        Some(first) => step.until = worth_telling(job.row.created_at, first.started_at),
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
        AttemptOutcome::Released => "was released by its worker",
    };
    let worker = short_worker(&attempt.worker_id);
    Step {
        until: attempt.finished_at,
        spent: if attempt.finished_at.is_some() { "ran for " } else { "running for " },
        note: Some(attempt.error_code.clone().unwrap_or_else(|| format!("on {worker}"))),
        open: attempt.finished_at.is_none(),
        ..Step::new(
            Tone::of_outcome(attempt.outcome),
            format!("Attempt {} {verb}", attempt.attempt),
            attempt.started_at,
        )
    }
}

fn waited(ended: &AttemptView, next: &AttemptView) -> Option<Step> {
    let from = ended.finished_at?;
    let until = worth_telling(from, next.started_at)?;
    let (tone, title) = match ended.outcome {
        AttemptOutcome::Released => (Tone::Queued, "Waited for a worker"),
        _ => (Tone::Retrying, "Waited to retry"),
    };
    Some(Step { until: Some(until), ..Step::new(tone, title, from) })
}

fn worth_telling(from: Timestamp, until: Timestamp) -> Option<Timestamp> {
    (until.seconds_since(from) > GAP).then_some(until)
}

/// A stay in quarantine, and how it ended.
fn quarantined(job: &JobDetail, stay: &Parked, next: Option<&AttemptView>) -> Vec<Step> {
    let parked = Step {
        until: stay.until,
        spent: "for ",
        open: stay.until.is_none(),
        note: stay.streak.as_ref().map(in_a_row),
        ..Step::new(Tone::Quarantined, "Quarantined", stay.since)
    };
    let requeued = stay.requeued.as_ref().map(|entry| Step {
        until: next.and_then(|next| worth_telling(entry.at, next.started_at)),
        spent: "waited ",
        open: next.is_none() && job.row.status == JobStatus::Queued,
        note: entry.reason.as_ref().map(|reason| format!("“{reason}”")),
        ..Step::new(Tone::Queued, format!("Requeued by {}", entry.actor), entry.at)
    });
    [parked].into_iter().chain(requeued).collect()
}

fn in_a_row(streak: &Streak) -> String {
    match streak.count {
        1 => format!("because of the error {}", streak.error_code),
        count => format!("the same error {} {count} times in a row", streak.error_code),
    }
}

fn last(job: &JobDetail, parked: &[Parked], now: Timestamp) -> Option<Step> {
    let row = &job.row;
    match row.status {
        JobStatus::Queued => {
            let (tone, title) = (Tone::of(row, now), why_it_waits(job, now)?);
            let ended = job.attempts.last().filter(|a| !parked.iter().any(|s| s.after_attempt == a.attempt));
            let from = ended.and_then(|attempt| attempt.finished_at);
            Some(Step { from, open: from.is_some(), ..Step::new(tone, title, row.created_at) })
        }
        JobStatus::Processing => {
            let asked = row.cancel_requested_at?;
            Some(Step::new(Tone::Cancelling, "Asked to stop", asked))
        }
        // The stay in quarantine says it.
        JobStatus::Quarantined if !parked.is_empty() => None,
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

/// For queued jobs. Needs no ticking: it names no distance.
pub fn why_it_waits(job: &JobDetail, now: Timestamp) -> Option<String> {
    let row = &job.row;
    if row.status != JobStatus::Queued {
        return None;
    }
    let Some(at) = row.available_at.filter(|at| *at > now) else {
        return Some("Waiting to run".into());
    };
    Some(match Delay::of(at, job.failure_timeline.last(), row.error_code.as_deref()) {
        Delay::Retry => "Waiting to retry".into(),
        Delay::Snoozed => "Handed back by a worker, offered again later".into(),
        Delay::Scheduled => "Scheduled for later".into(),
    })
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
pub(crate) mod tests;
