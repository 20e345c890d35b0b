//! How often the API may be used: a token bucket per key, and one per address for requests without a key that works.
//! Each process counts for itself.

mod buckets;

use crate::{metrics::ProcessFigures, secret};
use buckets::Buckets;
use leasehold_types::{Problem, ProblemCode};
use std::{
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// So many per second on average, and so many at once; 0 per second is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    pub per_second: u32,
    pub burst: u32,
}

pub struct ApiRates {
    /// By the digest of the whole key, and only of keys that worked.
    keys: Option<Buckets<String>>,
    addresses: Option<Buckets<IpAddr>>,
    figures: Arc<ProcessFigures>,
}

impl ApiRates {
    pub fn new(per_key: Rate, per_address: Rate, figures: Arc<ProcessFigures>) -> Self {
        Self { keys: Buckets::new(per_key), addresses: Buckets::new(per_address), figures }
    }

    /// Before the database is asked: an address that failed too often has to wait. A key that worked a moment ago
    /// may go on: it must not suffer from its neighbours.
    pub fn before(&self, address: Option<IpAddr>, key: Option<&str>) -> Result<(), Problem> {
        let known =
            || key.zip(self.keys.as_ref()).is_some_and(|(key, keys)| keys.knows(&secret::sha256_hex(key)));
        let (Some(address), Some(addresses)) = (address, &self.addresses) else { return Ok(()) };
        match addresses.wait(&network(address), Instant::now()) {
            Some(wait) if !known() => {
                self.figures.limited_by_address.fetch_add(1, Relaxed);
                Err(limited("from your address without a key that works", wait))
            }
            _ => Ok(()),
        }
    }

    /// The key works: it has used one of its requests.
    pub fn worked(&self, key: &str) -> Result<(), Problem> {
        let Some(keys) = &self.keys else { return Ok(()) };
        keys.take(secret::sha256_hex(key), Instant::now()).map_err(|wait| {
            self.figures.limited_by_key.fetch_add(1, Relaxed);
            limited("with this key", wait)
        })
    }

    /// There was no key, or none that works.
    pub fn failed(&self, address: Option<IpAddr>) {
        if let (Some(address), Some(addresses)) = (address, &self.addresses) {
            // Whether there was room is asked before the next one.
            let _ = addresses.take(network(address), Instant::now());
        }
    }
}

fn limited(how: &str, wait: Duration) -> Problem {
    let seconds = u32::try_from(wait.as_secs_f64().ceil() as u64).unwrap_or(u32::MAX).max(1);
    let unit = if seconds == 1 { "second" } else { "seconds" };
    let detail =
        format!("Too many requests came {how}. Nothing was changed; please try again in {seconds} {unit}.");
    Problem::new(ProblemCode::RateLimited, detail).retry_after(seconds)
}

/// One customer's network: an IPv6 user has 2^64 addresses of their own.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Rate = Rate { per_second: 1, burst: 3 };
    const OFF: Rate = Rate { per_second: 0, burst: 3 };

    fn rates(per_key: Rate, per_address: Rate) -> ApiRates {
        ApiRates::new(per_key, per_address, Arc::default())
    }

    #[test]
    fn failures_count_against_the_address_and_spare_keys_that_work() {
        let (rates, here) =
            (rates(Rate { per_second: 100, burst: 100 }, SLOW), Some(IpAddr::from([10, 0, 0, 1])));
        assert!(rates.worked("good").is_ok());
        for _ in 0..3 {
            assert!(rates.before(here, None).is_ok());
            rates.failed(here);
        }
        let problem = rates.before(here, Some("bad")).unwrap_err();
        assert_eq!((problem.code, problem.retry_after_seconds), (ProblemCode::RateLimited, Some(1)));
        assert!(rates.before(here, Some("good")).is_ok());
        assert!(rates.before(Some(IpAddr::from([10, 0, 0, 2])), None).is_ok());
        assert_eq!(rates.figures.limited_by_address.load(Relaxed), 1);
    }

    #[test]
    fn each_key_has_its_own_limit_and_zero_is_none() {
        let limited = rates(SLOW, OFF);
        assert_eq!((0..5).filter(|_| limited.worked("a").is_ok()).count(), 3);
        assert!(limited.worked("b").is_ok());
        let open = rates(OFF, OFF);
        for _ in 0..100 {
            open.failed(Some(IpAddr::from([10, 0, 0, 1])));
            assert!(open.worked("a").is_ok() && open.before(Some(IpAddr::from([10, 0, 0, 1])), None).is_ok());
        }
    }

    #[test]
    fn an_ipv6_user_is_one_user() {
        let of = |text: &str| network(text.parse().unwrap());
        assert_eq!(of("2001:db8:1:2::5"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::5"), of("2001:db8:1:3::5"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    }
}
