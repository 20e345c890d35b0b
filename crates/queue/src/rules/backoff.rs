//! How long a retry waits: exponential, capped, with one of three jitters.

use leasehold_types::view::{Jitter, RetryPolicy};
use std::time::Duration;

/// The delay before the attempt after `failed_attempts` failures.
///
/// `previous` is the delay of the retry before (decorrelated jitter grows from it), `dice` a random number in
/// `0.0..1.0`: randomness comes in from outside so that the function stays pure.
pub fn delay(policy: &RetryPolicy, failed_attempts: i32, previous: Option<f64>, dice: f64) -> Duration {
    let base = policy.base_seconds.clamp(0.0, 86_400.0);
    let cap = policy.cap_seconds.clamp(base, 7.0 * 86_400.0);
    let doublings = failed_attempts.saturating_sub(1).clamp(0, 40);
    let exponential = (base * 2f64.powi(doublings)).min(cap);
    let seconds = match policy.jitter {
        Jitter::None => exponential,
        Jitter::Full => exponential * dice,
        Jitter::Decorrelated => {
            let ceiling = previous.unwrap_or(base).max(base) * 3.0;
            (base + (ceiling - base) * dice).min(cap)
        }
    };
    Duration::from_secs_f64(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(jitter: Jitter) -> RetryPolicy {
        RetryPolicy { base_seconds: 2.0, cap_seconds: 30.0, jitter, retryable_classes: vec![] }
    }

    #[test]
    fn without_jitter_it_doubles_up_to_the_cap() {
        let seconds: Vec<_> = (1..=6).map(|n| delay(&policy(Jitter::None), n, None, 0.5).as_secs()).collect();
        assert_eq!(seconds, [2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn full_jitter_lies_between_nothing_and_the_exponential() {
        assert_eq!(delay(&policy(Jitter::Full), 3, None, 0.0), Duration::ZERO);
        assert!(delay(&policy(Jitter::Full), 3, None, 0.999) < Duration::from_secs(8));
    }

    #[test]
    fn decorrelated_jitter_grows_from_the_delay_before() {
        let policy = policy(Jitter::Decorrelated);
        assert_eq!(delay(&policy, 1, None, 0.0), Duration::from_secs(2));
        assert_eq!(delay(&policy, 2, Some(5.0), 1.0), Duration::from_secs(15));
        assert_eq!(delay(&policy, 9, Some(29.0), 1.0), Duration::from_secs(30));
    }

    #[test]
    fn absurd_policies_stay_finite() {
        let wild = RetryPolicy { base_seconds: f64::MAX, cap_seconds: -1.0, ..policy(Jitter::None) };
        assert_eq!(delay(&wild, i32::MAX, None, 1.0), Duration::from_secs(86_400));
    }
}
