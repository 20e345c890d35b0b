//! How often a lease is renewed.

use std::time::Duration;

/// A renewal comes at least this long before the lease ends, whatever is configured.
const THRESHOLD: Duration = Duration::from_secs(10);
const AT_LEAST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cadence {
    /// `JOBS_LEASE_RENEW_SECONDS`
    pub every: Duration,
    /// `JOBS_LEASE_RENEW_JITTER_SECONDS`: up to this much earlier, so that many workers do not renew in step.
    pub jitter: Duration,
}

impl Default for Cadence {
    fn default() -> Self {
        Self { every: Duration::from_secs(30), jitter: Duration::from_secs(5) }
    }
}

impl Cadence {
    /// How long after a renewal the next one follows: the smallest of what is configured, half the lease and the
    /// lease without its last ten seconds, less the jitter (`dice` from 0 to 1 says how much of it); at least a
    /// second. A lease too short for that is renewed at its half, because a renewal at its end comes too late.
    pub fn wait(&self, lease: Duration, dice: f64) -> Duration {
        let before_the_end = lease.saturating_sub(THRESHOLD);
        let wanted = self.every.min(lease / 2).min(before_the_end);
        let earlier = self.jitter.mul_f64(dice.clamp(0.0, 1.0));
        wanted.saturating_sub(earlier).max(AT_LEAST.min(lease / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(every: u64, jitter: u64, lease: u64) -> (f64, f64) {
        let cadence = Cadence { every: Duration::from_secs(every), jitter: Duration::from_secs(jitter) };
        let lease = Duration::from_secs(lease);
        (cadence.wait(lease, 1.0).as_secs_f64(), cadence.wait(lease, 0.0).as_secs_f64())
    }

    #[test]
    fn the_smallest_wish_decides_and_jitter_makes_it_earlier() {
        assert_eq!(waits(30, 5, 3_600), (25.0, 30.0), "as configured");
        assert_eq!(waits(30, 5, 40), (15.0, 20.0), "half the lease");
        assert_eq!(waits(30, 5, 16), (1.0, 6.0), "ten seconds before the end");
        assert_eq!(waits(30, 0, 60), (30.0, 30.0), "no jitter");
    }

    #[test]
    fn it_is_never_more_often_than_once_a_second() {
        assert_eq!(waits(0, 0, 60), (1.0, 1.0));
        assert_eq!(waits(3, 60, 60), (1.0, 3.0));
        assert_eq!(waits(30, 5, 10), (1.0, 1.0));
    }

    #[test]
    fn a_renewal_always_comes_before_the_lease_ends() {
        for lease in 1..=200 {
            for every in [0, 1, 5, 30, 600] {
                let (soon, late) = waits(every, 5, lease);
                assert!(soon <= late && late <= lease as f64 / 2.0 + 0.001, "{every} in {lease}");
            }
        }
    }
}
