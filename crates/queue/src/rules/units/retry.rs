//! What becomes of a unit that failed, and of a job whose units ran out.

use super::{Standing, Turn, UnitError};
use std::time::Duration;

const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How long the next try waits; none when the failure is final. `attempts` counts the failed one.
pub fn wait_before_retry(turn: &Turn, attempts: i32, error: &UnitError) -> Option<Duration> {
    if !error.retryable || attempts > turn.max_retries {
        return None;
    }
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(20);
    let wait = turn.retry_delay.saturating_mul(1 << doublings).min(LONGEST_WAIT);
    Some(wait.max(error.retry_after.unwrap_or_default().min(LONGEST_WAIT)))
}

/// What a composite job does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    Complete,
    /// Units wait or run.
    GoOn,
    /// It is not done, and nothing is left that could bring it further.
    Stuck,
}

pub fn next(done: bool, standing: Standing) -> Next {
    match (done, standing.outstanding()) {
        (true, _) => Next::Complete,
        (false, 0) => Next::Stuck,
        (false, _) => Next::GoOn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leasehold_types::{ErrorClass, Timestamp};

    fn turn() -> Turn {
        Turn {
            provider: "p".into(),
            start_at: Timestamp::default(),
            max_retries: 3,
            retry_delay: Duration::from_secs(2),
        }
    }

    #[test]
    fn retries_wait_twice_as_long_each_time_until_they_are_used_up() {
        let error = UnitError::passing("busy", ErrorClass::ModelOverloaded, "busy");
        let waits: Vec<_> =
            (1..=4).map(|n| wait_before_retry(&turn(), n, &error).map(|d| d.as_secs())).collect();
        assert_eq!(waits, [Some(2), Some(4), Some(8), None]);
    }

    #[test]
    fn a_permanent_error_is_final() {
        let error = UnitError::permanent("bad", ErrorClass::ValidationError, "bad");
        assert_eq!(wait_before_retry(&turn(), 1, &error), None);
    }

    #[test]
    fn the_providers_wish_counts_within_reason() {
        let wish = |seconds| UnitError {
            retry_after: Some(Duration::from_secs(seconds)),
            ..UnitError::passing("busy", ErrorClass::RateLimited, "busy")
        };
        assert_eq!(wait_before_retry(&turn(), 1, &wish(30)), Some(Duration::from_secs(30)));
        assert_eq!(wait_before_retry(&turn(), 1, &wish(1)), Some(Duration::from_secs(2)));
        assert_eq!(wait_before_retry(&turn(), 1, &wish(86_400)), Some(LONGEST_WAIT));
    }

    #[test]
    fn a_job_without_open_units_is_done_or_stuck() {
        let open = Standing { queued: 1, ..Standing::default() };
        assert_eq!(next(false, open), Next::GoOn);
        assert_eq!(next(true, open), Next::Complete);
        assert_eq!(next(true, Standing::default()), Next::Complete);
        assert_eq!(next(false, Standing { finished: 9, ..Standing::default() }), Next::Stuck);
    }
}
