//! Why a job is where it is and what to do about it, for jobs that ended badly or are parked.

use leasehold_queue::history;
use leasehold_types::{JobStatus, view::JobDetail};

/// What happened, with the error's code apart, and what helps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    pub happened: String,
    pub error_code: Option<String>,
    /// Ends the sentence that `happened` began.
    pub rest: String,
    pub remedy: String,
}

/// None for jobs that are under way or completed.
pub fn explain(job: &JobDetail, may_operate: bool) -> Option<Explanation> {
    match job.row.status {
        JobStatus::Quarantined => Some(quarantined(job, may_operate)),
        JobStatus::DeadLetter => Some(dead_letter(job, may_operate)),
        JobStatus::Failed => Some(failed(job, may_operate)),
        _ => None,
    }
}

fn quarantined(job: &JobDetail, may_operate: bool) -> Explanation {
    let attempts = match job.row.max_attempts {
        1 => "one new attempt".to_owned(),
        n => format!("{n} new attempts"),
    };
    let remedy = if may_operate {
        format!(
            "Fix the cause, then requeue it: it gets {attempts}. If it is not needed any more, cancel it."
        )
    } else {
        "It stays here until an admin of this tenant requeues or cancels it.".into()
    };
    let streak = history::parked(job).pop().and_then(|stay| stay.streak).filter(|streak| streak.count > 1);
    let (happened, error_code, rest) = match streak {
        Some(streak) => (
            "Parked after the same error, ".to_owned(),
            Some(streak.error_code),
            format!(", {} times in a row. It does not run again by itself.", streak.count),
        ),
        None => (
            "Parked after the error ".to_owned(),
            job.row.error_code.clone(),
            ". It does not run again by itself.".into(),
        ),
    };
    Explanation { happened, error_code, rest, remedy }
}

fn dead_letter(job: &JobDetail, may_operate: bool) -> Explanation {
    let used = match job.row.max_attempts {
        1 => "Its only attempt failed".to_owned(),
        n => format!("All {n} attempts failed"),
    };
    let error_code = job.row.error_code.clone();
    let happened = if error_code.is_some() { format!("{used}; the last error was ") } else { used };
    Explanation {
        happened,
        error_code,
        rest: ". It does not run again by itself.".into(),
        remedy: retry(may_operate),
    }
}

fn failed(job: &JobDetail, may_operate: bool) -> Explanation {
    let error_code = job.row.error_code.clone();
    let (happened, rest) = match error_code.as_deref() {
        Some("ttl_expired") => ("It was not done within its time to live (", ")."),
        Some(_) => ("It failed with the error ", ", which is not retried."),
        None => ("It failed with an error that is not retried", "."),
    };
    Explanation { happened: happened.into(), error_code, rest: rest.into(), remedy: retry(may_operate) }
}

fn retry(may_operate: bool) -> String {
    if may_operate {
        "Fix the cause, then retry: that starts a new job with the same payload.".into()
    } else {
        "An admin of this tenant can retry it as a new job with the same payload.".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::timeline::tests::{job, parked};

    fn sentence(job: &JobDetail) -> String {
        let e = explain(job, true).unwrap();
        format!("{}{}{}", e.happened, e.error_code.unwrap_or_default(), e.rest)
    }

    #[test]
    fn a_quarantined_job_names_the_error_and_how_often_it_came() {
        let expected =
            "Parked after the same error, exit_1, 3 times in a row. It does not run again by itself.";
        assert_eq!(sentence(&parked()), expected);
        let remedy = explain(&parked(), true).unwrap().remedy;
        assert!(remedy.contains("requeue it: it gets 3 new attempts"), "{remedy}");
        assert!(explain(&parked(), false).unwrap().remedy.contains("admin"));
    }

    #[test]
    fn ended_jobs_say_why_they_do_not_run_again() {
        let mut dead = job(JobStatus::DeadLetter);
        dead.row.error_code = Some("timeout".into());
        let expected = "All 3 attempts failed; the last error was timeout. It does not run again by itself.";
        assert_eq!(sentence(&dead), expected);
        let mut failed = job(JobStatus::Failed);
        assert_eq!(sentence(&failed), "It failed with an error that is not retried.");
        failed.row.error_code = Some("ttl_expired".into());
        assert_eq!(sentence(&failed), "It was not done within its time to live (ttl_expired).");
        assert_eq!(explain(&job(JobStatus::Completed), true), None);
    }
}
