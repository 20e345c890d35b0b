//! What a job's attempts and its activity say about the past: when it was parked and why, and how long it really ran.

use leasehold_types::{
    AttemptOutcome, JobStatus, Timestamp,
    view::{AttemptView, JobDetail, TrailEntry},
};

/// How the activity names a requeue.
const REQUEUE: &str = "job.requeue";

/// The same error several times in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Streak {
    pub error_code: String,
    pub count: i32,
}

/// A time spent in quarantine.
#[derive(Clone, PartialEq, Debug)]
pub struct Parked {
    /// The attempt whose failure led there.
    pub after_attempt: i32,
    pub since: Timestamp,
    /// None while it is still there.
    pub until: Option<Timestamp>,
    pub streak: Option<Streak>,
    /// Who requeued it, and why; none while it is there, and when it was cancelled there.
    pub requeued: Option<TrailEntry>,
}

/// Every time the job was in quarantine, oldest first.
pub fn parked(job: &JobDetail) -> Vec<Parked> {
    let mut stays = Vec::new();
    let mut from = 0;
    for entry in job.trail.iter().filter(|entry| entry.action == REQUEUE) {
        let ended = job.attempts.iter().take_while(|a| a.finished_at.is_some_and(|end| end <= entry.at));
        let to = ended.count().max(from);
        if let Some(stay) = stay(&job.attempts[from..to], Some(entry.at), Some(entry)) {
            stays.push(stay);
        }
        from = to;
    }
    let until = match job.row.status {
        JobStatus::Quarantined => Some(None),
        JobStatus::Cancelled if job.quarantined_at.is_some() => Some(job.row.completed_at),
        _ => None,
    };
    stays.extend(until.and_then(|until| stay(&job.attempts[from..], until, None)));
    stays
}

/// What the attempts of one budget came to.
fn stay(attempts: &[AttemptView], until: Option<Timestamp>, requeued: Option<&TrailEntry>) -> Option<Parked> {
    let last = attempts.last()?;
    Some(Parked {
        after_attempt: last.attempt,
        since: last.finished_at?,
        until,
        streak: streak(attempts),
        requeued: requeued.cloned(),
    })
}

/// As [`crate::transition::judge`] counts it: attempts that were released or lost neither continue nor end a streak.
fn streak(attempts: &[AttemptView]) -> Option<Streak> {
    let counted = |a: &&AttemptView| !matches!(a.outcome, AttemptOutcome::Released | AttemptOutcome::Lost);
    let mut failures = attempts.iter().filter(counted).rev();
    let error_code = failures.next()?.error_code.clone()?;
    let more = failures.take_while(|a| a.error_code.as_ref() == Some(&error_code)).count();
    Some(Streak { error_code, count: i32::try_from(more).unwrap_or(i32::MAX).saturating_add(1) })
}

/// Seconds spent running, without the waits between attempts.
pub fn seconds_run(job: &JobDetail) -> f64 {
    let seconds = |a: &AttemptView| a.finished_at.unwrap_or(job.now).seconds_since(a.started_at).max(0.0);
    job.attempts.iter().map(seconds).sum()
}
