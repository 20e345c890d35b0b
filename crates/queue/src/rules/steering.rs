//! What may be done to a job in which state, what a queue's controls mean, and what is said when it cannot be.

use crate::ports::steering::{QueueChange, SteeredJob};
use leasehold_types::{JobStatus, Problem, ProblemCode};

/// What cancelling means for a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelling {
    /// It waits: it ends at once.
    Ends,
    /// It runs: its worker is asked to stop.
    IsAsked,
    /// Its worker was asked before. The first request wins; a later one changes nothing.
    WasAsked,
}

pub fn cancel(job: &SteeredJob) -> Result<Cancelling, Problem> {
    match job.status {
        JobStatus::Queued | JobStatus::Quarantined => Ok(Cancelling::Ends),
        JobStatus::Processing if job.cancel_requested => Ok(Cancelling::WasAsked),
        JobStatus::Processing => Ok(Cancelling::IsAsked),
        _ => Err(wrong_state(job, "Only a job that has not ended can be cancelled")),
    }
}

/// `holder` is an active job with the same dedupe key.
pub fn requeue(job: &SteeredJob, holder: Option<i64>) -> Result<(), Problem> {
    if job.status != JobStatus::Quarantined {
        return Err(wrong_state(job, "Only a quarantined job can be requeued"));
    }
    holder.map_or(Ok(()), |holder| Err(key_held(holder)))
}

pub fn no_such_job() -> Problem {
    Problem::not_found("This job")
}

/// Others won the same keys again and again.
pub fn contended() -> Problem {
    let detail = "Others are using the same dedupe keys right now. Nothing was changed; please try again.";
    Problem::new(ProblemCode::Unavailable, detail).retry_after(1)
}

fn key_held(holder: i64) -> Problem {
    let detail = format!("Job #{holder} is active with the same dedupe key. Nothing was changed.");
    Problem::new(ProblemCode::AlreadyExists, detail)
}

fn wrong_state(job: &SteeredJob, rule: &str) -> Problem {
    let (number, state) = (job.number, job.status.label().to_lowercase());
    Problem::new(ProblemCode::WrongState, format!("Job #{number} is {state}. {rule}; nothing was changed."))
}

/// What to do with a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueAction {
    /// Nothing is given out until it is resumed.
    Pause,
    /// What runs may end; nothing more is given out.
    Drain,
    /// Ends a pause and a drain.
    Resume,
}

impl QueueAction {
    /// Each touches only its own part.
    pub const fn change(self) -> QueueChange {
        match self {
            Self::Pause => QueueChange { paused: Some(true), draining: None },
            Self::Drain => QueueChange { paused: None, draining: Some(true) },
            Self::Resume => QueueChange { paused: Some(false), draining: Some(false) },
        }
    }

    /// In the audit log.
    pub const fn audited_as(self) -> &'static str {
        match self {
            Self::Pause => "queue.pause",
            Self::Drain => "queue.drain",
            Self::Resume => "queue.resume",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::TenantId;

    fn job(status: JobStatus) -> SteeredJob {
        SteeredJob {
            number: 7,
            tenant: TenantId(uuid::Uuid::nil()),
            domain: "d".into(),
            queue: "q".into(),
            job_type: "t".into(),
            status,
            attempt: 1,
            progress: 0,
            cancel_requested: false,
            dedupe_key: None,
        }
    }

    #[test]
    fn cancelling_depends_on_the_state() {
        assert_eq!(cancel(&job(JobStatus::Queued)), Ok(Cancelling::Ends));
        assert_eq!(cancel(&job(JobStatus::Quarantined)), Ok(Cancelling::Ends));
        assert_eq!(cancel(&job(JobStatus::Processing)), Ok(Cancelling::IsAsked));
        let asked = SteeredJob { cancel_requested: true, ..job(JobStatus::Processing) };
        assert_eq!(cancel(&asked), Ok(Cancelling::WasAsked));
        assert_eq!(cancel(&job(JobStatus::Completed)).unwrap_err().code, ProblemCode::WrongState);
    }

    #[test]
    fn only_a_quarantined_job_with_a_free_key_is_requeued() {
        assert_eq!(requeue(&job(JobStatus::Quarantined), None), Ok(()));
        assert_eq!(requeue(&job(JobStatus::Failed), None).unwrap_err().code, ProblemCode::WrongState);
        let held = requeue(&job(JobStatus::Quarantined), Some(9)).unwrap_err();
        assert_eq!(held.code, ProblemCode::AlreadyExists);
        assert!(held.detail.contains("#9"));
    }

    #[test]
    fn a_drain_leaves_a_pause_alone() {
        assert_eq!(QueueAction::Drain.change().paused, None);
        assert_eq!(QueueAction::Pause.change().draining, None);
    }
}
