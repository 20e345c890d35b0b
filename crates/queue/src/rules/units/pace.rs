//! The rate limit: a token bucket that holds one token, kept as the moment the next token is there.
//!
//! A token is a *moment*: the call it is for begins then, or up to [`START_SLACK`] later, or not at all. That makes the
//! limit one on starts of calls and not on claims: between a claim and its call lie a commit, a network and a busy
//! machine, and claims in good order could still come out in a heap.
//!
//! With starts `spacing` apart and at most `slack` late, `n` of them span at least `(n - 1) * spacing - slack`.
//! [`spacing`] is chosen so that no second can hold more than `ceil(rate) + 1`.

use leasehold_types::Timestamp;
use std::time::Duration;

/// Calls per second that a provider may be given.
pub const SLOWEST: f64 = 0.0001;
pub const FASTEST: f64 = 10_000.0;

/// How late a call may begin.
pub const START_SLACK: Duration = Duration::from_millis(50);

/// How far ahead tokens are given out. Those of a process that dies are lost, so it is not far.
pub const HORIZON: Duration = Duration::from_millis(500);

/// The time from one token to the next.
pub fn spacing(requests_per_second: f64) -> Duration {
    let rate = requests_per_second.clamp(SLOWEST, FASTEST);
    // Many calls a second: slack is worth more than one token, and is paid for here.
    let honest = (1.0 + START_SLACK.as_secs_f64()) / (rate + 0.9);
    Duration::from_micros((honest.max(1.0 / rate) * 1e6).ceil() as u64)
}

/// The next token: when the bucket has one, and not before the caller can use it.
pub fn next_start(next_free_at: Option<Timestamp>, now: Timestamp, lead: Duration) -> Timestamp {
    next_free_at.unwrap_or(now).max(now.plus(lead))
}

/// Whether a call that was to begin at `start` may still begin now.
pub fn in_time(start: Timestamp, now: Timestamp) -> bool {
    now <= start.plus(START_SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_are_as_far_apart_as_the_rate_says() {
        assert_eq!(spacing(5.0), Duration::from_millis(200));
        assert_eq!(spacing(1.0), Duration::from_secs(1));
        assert_eq!(spacing(0.5), Duration::from_secs(2));
    }

    #[test]
    fn a_token_is_there_at_once_when_nobody_used_it() {
        let now = Timestamp::from_secs(100);
        assert_eq!(next_start(None, now, Duration::ZERO), now);
        assert_eq!(next_start(Some(Timestamp::from_secs(7)), now, Duration::ZERO), now);
        assert_eq!(next_start(Some(Timestamp::from_secs(107)), now, Duration::ZERO).secs(), 107);
        assert_eq!(next_start(None, now, Duration::from_secs(1)).secs(), 101);
    }

    #[test]
    fn an_unused_bucket_does_not_fill_beyond_one() {
        let now = Timestamp::from_secs(1_000);
        let first = next_start(Some(Timestamp::from_secs(1)), now, Duration::ZERO);
        let second = next_start(Some(first.plus(spacing(0.5))), now, Duration::ZERO);
        assert_eq!((first.secs(), second.secs()), (1_000, 1_002));
    }

    #[test]
    fn a_late_call_must_not_begin() {
        let start = Timestamp::from_secs(5);
        assert!(in_time(start, start.plus(START_SLACK)));
        assert!(!in_time(start, start.plus(START_SLACK + Duration::from_micros(1))));
    }

    proptest! {
        /// Whatever the rate, and however late each call is within the slack.
        #[test]
        fn no_second_holds_more_than_the_rate_and_one(
            rate in 0.1..400.0f64,
            late in proptest::collection::vec(0..=START_SLACK.as_micros() as i64, 1_000),
        ) {
            let step = spacing(rate).as_micros() as i64;
            let mut starts: Vec<i64> = late.iter().zip(0..).map(|(late, n)| n * step + late).collect();
            starts.sort_unstable();
            for (first, start) in starts.iter().enumerate() {
                let within = starts[first..].partition_point(|other| *other < start + 1_000_000);
                prop_assert!(within as f64 <= rate.ceil() + 1.0, "{within} at {rate}");
            }
        }
    }
}
