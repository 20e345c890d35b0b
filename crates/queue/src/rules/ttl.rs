//! What becomes of jobs that lived too long.

use crate::{
    transition::{Ending, Failure, JobFacts, Rules, Verdict, judge},
    upkeep::TtlAction,
};
use leasehold_types::{ErrorClass, JobStatus, Timestamp};

pub const CODE: &str = "ttl_expired";
pub const WAITED: &str = "It waited longer than its time to live.";
pub const RAN: &str = "It ran longer than its time to live.";

/// The state of a waiting job afterwards.
pub const fn status(action: TtlAction) -> JobStatus {
    match action {
        TtlAction::Cancel => JobStatus::Cancelled,
        TtlAction::Fail => JobStatus::Failed,
    }
}

/// How the running attempt ends.
pub fn ending(action: TtlAction) -> Ending {
    match action {
        TtlAction::Cancel => Ending::Cancelled,
        TtlAction::Fail => Ending::Failed(Failure {
            error_code: Some(CODE.to_owned()),
            error_class: Some(ErrorClass::Timeout),
            message: RAN.to_owned(),
            retryable: Some(false),
            ..Failure::default()
        }),
    }
}

/// There is no next attempt, whatever the installation's rules say about failures.
pub fn verdict(facts: &JobFacts, ending: &Ending, now: Timestamp) -> Verdict {
    let verdict = judge(facts, ending, None, &Rules::default(), now, 0.0);
    Verdict { error_code: Some(CODE.to_owned()), ..verdict }
}
