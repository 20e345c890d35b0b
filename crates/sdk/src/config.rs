//! How a worker behaves, and the mistakes that would cost it its leases.

use crate::Error;
use std::time::Duration;

/// A renewal is also the worker's sign of life; the dashboard calls it stale after fifteen seconds of silence.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
const AT_LEAST: Duration = Duration::from_secs(1);

#[derive(Clone, PartialEq, Debug)]
pub struct WorkerConfig {
    /// Where the server is, such as `https://jobs.example.org`.
    pub base_url: String,
    /// A key with the scope `worker`.
    pub api_key: String,
    /// Its name; a fresh one is made when there is none.
    pub worker_id: Option<String>,
    /// Take jobs of this domain only.
    pub domain: Option<String>,
    /// Take jobs of this queue of the domain only.
    pub queue: Option<String>,
    /// `domain/job_type`; empty = every kind that is run over HTTP (in the domain, when one is given).
    pub kinds: Vec<String>,
    /// Jobs at a time.
    pub concurrency: u32,
    /// How long a job is held without a renewal.
    pub lease_seconds: u64,
    /// A renewal comes at least this long before the lease ends.
    pub renew_threshold_seconds: u64,
    /// Up to this much earlier, by chance.
    pub renew_jitter_seconds: u64,
    /// How long a claim waits at the server for a job.
    pub wait_seconds: u32,
    /// The first pause when there is nothing to do or nobody answers; each further one doubles it.
    pub backoff_base_seconds: u64,
    pub backoff_max_seconds: u64,
    /// Whether a failure that says nothing about it may be tried again.
    pub retry_on_exception: bool,
    /// How long such a retry waits.
    pub retry_backoff_seconds: u64,
    /// How long a worker that stops waits for its jobs before it hands them back.
    pub shutdown_seconds: u64,
}

impl WorkerConfig {
    pub fn new(base_url: impl Into<String>, api_key: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: api_key.into(),
            worker_id: None,
            domain: None,
            queue: None,
            kinds: Vec::new(),
            concurrency: 1,
            lease_seconds: 30,
            renew_threshold_seconds: 10,
            renew_jitter_seconds: 5,
            wait_seconds: 20,
            backoff_base_seconds: 2,
            backoff_max_seconds: 30,
            retry_on_exception: true,
            retry_backoff_seconds: 10,
            shutdown_seconds: 10,
        }
    }

    /// `LEASEHOLD_URL` and `LEASEHOLD_API_KEY`.
    pub fn from_env() -> Result<Self, Error> {
        let read =
            |name: &'static str| std::env::var(name).map_err(|_| Error::Config(format!("{name} is not set")));
        Ok(Self::new(read("LEASEHOLD_URL")?, read("LEASEHOLD_API_KEY")?))
    }

    /// Refuses settings with which a lease would end before its renewal.
    pub fn validate(&self) -> Result<(), Error> {
        let wrong = |message: &str| Err(Error::Config(message.to_owned()));
        if !self.base_url.starts_with("http://") && !self.base_url.starts_with("https://") {
            return wrong("base_url must begin with http:// or https://");
        }
        if !self.api_key.starts_with("lh_") {
            return wrong("api_key must be a key of Leasehold, lh_…");
        }
        if self.concurrency == 0 || self.concurrency > 100 {
            return wrong("concurrency must be between 1 and 100");
        }
        if self.lease_seconds < 2 {
            return wrong("lease_seconds must be at least 2: a shorter lease ends before it can be renewed");
        }
        if self.renew_threshold_seconds >= self.lease_seconds {
            return wrong("renew_threshold_seconds must be less than lease_seconds");
        }
        if self.renew_jitter_seconds >= self.lease_seconds {
            return wrong("renew_jitter_seconds must be less than lease_seconds");
        }
        if self.wait_seconds > 30 {
            return wrong("wait_seconds must be at most 30");
        }
        if self.backoff_base_seconds == 0 || self.backoff_base_seconds > self.backoff_max_seconds {
            return wrong("backoff_base_seconds must be at least 1 and at most backoff_max_seconds");
        }
        if self.queue.is_some() && self.domain.is_none() {
            return wrong("a queue needs its domain");
        }
        Ok(())
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds)
    }

    /// How long after a renewal the next one follows; `dice` from 0 to 1 says how much of the jitter is used. Always
    /// at or before the half of the lease.
    pub(crate) fn renew_in(&self, dice: f64) -> Duration {
        let lease = self.lease();
        let before_the_end = lease.saturating_sub(Duration::from_secs(self.renew_threshold_seconds));
        let wanted = before_the_end.min(lease / 2).min(SIGN_OF_LIFE);
        let earlier = Duration::from_secs(self.renew_jitter_seconds).mul_f64(dice);
        wanted.saturating_sub(earlier).max(AT_LEAST.min(lease / 2))
    }

    /// The pause after so many disappointments in a row, between its half and its whole.
    pub(crate) fn pause(&self, disappointments: u32, dice: f64) -> Duration {
        let doubled =
            self.backoff_base_seconds.saturating_mul(1 << disappointments.saturating_sub(1).min(16));
        Duration::from_secs(doubled.min(self.backoff_max_seconds)).mul_f64(0.5 + dice / 2.0)
    }

    /// What a claim asks for.
    pub(crate) fn kinds(&self) -> Vec<String> {
        match (&self.domain, self.kinds.is_empty()) {
            (Some(domain), true) => vec![format!("{domain}/*")],
            _ => self.kinds.clone(),
        }
    }

    pub(crate) fn queues(&self) -> Vec<String> {
        let queue = self.domain.as_ref().zip(self.queue.as_ref());
        queue.map(|(domain, queue)| format!("{domain}/{queue}")).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> WorkerConfig {
        WorkerConfig::new("http://localhost", "lh_a_b")
    }

    #[test]
    fn the_defaults_are_valid_and_renew_in_time() {
        config().validate().unwrap();
        assert_eq!(config().renew_in(0.0), Duration::from_secs(10));
        assert_eq!(config().renew_in(1.0), Duration::from_secs(5));
    }

    #[test]
    fn whatever_is_valid_renews_before_the_lease_ends() {
        for lease_seconds in 0..60 {
            for renew_threshold_seconds in 0..60 {
                for renew_jitter_seconds in [0, 1, 5, 59] {
                    let config = WorkerConfig {
                        lease_seconds,
                        renew_threshold_seconds,
                        renew_jitter_seconds,
                        ..config()
                    };
                    if config.validate().is_ok() {
                        for dice in [0.0, 0.5, 1.0] {
                            let wait = config.renew_in(dice);
                            assert!(wait <= config.lease() / 2, "{config:?}: {wait:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn settings_that_would_lose_the_lease_are_refused() {
        for wrong in [
            WorkerConfig { lease_seconds: 30, renew_threshold_seconds: 30, ..config() },
            WorkerConfig { lease_seconds: 30, renew_jitter_seconds: 35, ..config() },
            WorkerConfig { lease_seconds: 1, renew_threshold_seconds: 0, ..config() },
            WorkerConfig { base_url: "ftp://x".into(), ..config() },
            WorkerConfig { api_key: "secret".into(), ..config() },
            WorkerConfig { concurrency: 0, ..config() },
            WorkerConfig { backoff_base_seconds: 31, ..config() },
            WorkerConfig { queue: Some("high".into()), ..config() },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pauses: Vec<_> = (1..=6).map(|n| config().pause(n, 1.0).as_secs()).collect();
        assert_eq!(pauses, [2, 4, 8, 16, 30, 30]);
        assert_eq!(config().pause(1, 0.0), Duration::from_secs(1));
        assert_eq!(config().pause(u32::MAX, 1.0).as_secs(), 30);
    }
}
