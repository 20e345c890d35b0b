//! Slows down guessing at passwords: a delay that grows with every wrong attempt, counted over all processes.
//!
//! Nobody can keep somebody else out. What is counted is an account *as tried from one address*, and an address over all
//! accounts; a device that has signed in to the account before is counted by itself, whatever others do from its address
//! or to its account. An attempt counts before it is made, so that many at once cannot slip through together, and is
//! taken back when it was good. The rules are here; a store keeps the rows.

use leasehold_types::Timestamp;
use std::{collections::HashMap, net::IpAddr, time::Duration};

/// No delay is longer.
const LONGEST_DELAY: Duration = Duration::from_secs(15 * 60);
/// Rows kept; beyond that the ones that mean least are forgotten.
pub const MOST_KEPT: u32 = 100_000;

/// How many wrong attempts are free, and how fast they are forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Brake {
    pub free: i64,
    /// One wrong attempt is forgotten.
    pub forget_every: Duration,
}

impl Brake {
    /// One account from one address, or from one device.
    pub const ACCOUNT: Self = Self { free: 5, forget_every: Duration::from_secs(15 * 60) };
    /// One address, whatever it tries: an office behind one has many people with typing errors.
    pub const ADDRESS: Self = Self { free: 50, forget_every: Duration::from_secs(30) };

    /// How long the next attempt has to wait after so many wrong ones: 1 s, 2 s, 4 s, …
    pub fn delay(&self, failures: i64) -> Duration {
        let beyond = failures - self.free;
        if beyond < 0 {
            return Duration::ZERO;
        }
        let doubled = u32::try_from(beyond).ok().and_then(|n| 1_u64.checked_shl(n)).unwrap_or(u64::MAX);
        Duration::from_secs(doubled).min(LONGEST_DELAY)
    }

    /// What is left of a count by now.
    fn remember(&self, counted: Counted, now: Timestamp) -> Counted {
        let step = i64::try_from(self.forget_every.as_micros()).unwrap_or(i64::MAX).max(1);
        let forgotten = ((now.micros() - counted.counted_at.micros()) / step).max(0);
        if forgotten >= counted.failures {
            return Counted { failures: 0, counted_at: now, ..counted };
        }
        let counted_at = Timestamp::from_micros(counted.counted_at.micros() + forgotten * step);
        Counted { failures: counted.failures - forgotten, counted_at, ..counted }
    }
}

/// What an attempt counts towards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counter {
    /// A hash: small, whatever was typed.
    pub key: String,
    pub brake: Brake,
}

/// A row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    pub failures: i64,
    pub counted_at: Timestamp,
    pub blocked_until: Timestamp,
}

impl Counted {
    /// When nothing of it is left to remember.
    pub fn expires_at(&self, brake: &Brake) -> Timestamp {
        let failures = u32::try_from(self.failures).unwrap_or(u32::MAX);
        self.counted_at.plus(brake.forget_every.saturating_mul(failures)).max(self.blocked_until)
    }
}

pub type Known = HashMap<String, Counted>;

/// The rows after one more attempt; or, when one of the counters is braked, how long to wait. Then nothing is counted.
pub fn begin(
    counters: &[Counter],
    known: &Known,
    now: Timestamp,
) -> Result<Vec<(Counter, Counted)>, Duration> {
    let blocked = counters.iter().filter_map(|counter| Some(known.get(&counter.key)?.blocked_until)).max();
    if let Some(until) = blocked.filter(|until| *until > now) {
        return Err(Duration::from_micros(until.micros().abs_diff(now.micros())));
    }
    let count = |counter: &Counter| {
        let none = Counted { failures: 0, counted_at: now, blocked_until: now };
        let left = counter.brake.remember(known.get(&counter.key).copied().unwrap_or(none), now);
        let failures = left.failures + 1;
        let blocked_until = now.plus(counter.brake.delay(failures));
        (counter.clone(), Counted { failures, blocked_until, ..left })
    };
    Ok(counters.iter().map(count).collect())
}

/// The rows with one attempt taken back; none where nothing is left. A delay never ends later by it, and not at once
/// either: else whoever has one account could go on guessing at others.
pub fn forgive(counters: &[Counter], known: &Known, now: Timestamp) -> Vec<(Counter, Option<Counted>)> {
    let take_back = |counter: &Counter| {
        let left = counter.brake.remember(*known.get(&counter.key)?, now);
        let failures = left.failures - 1;
        let blocked_until = left.blocked_until.min(now.plus(counter.brake.delay(failures)));
        Some((counter.clone(), (failures > 0).then_some(Counted { failures, blocked_until, ..left })))
    };
    counters.iter().filter_map(take_back).collect()
}

/// One customer's network: an IPv6 user has 2^64 addresses of their own.
pub fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

    fn counters() -> Vec<Counter> {
        vec![Counter { key: "ann here".into(), brake: Brake::ACCOUNT }]
    }

    /// Begins `times` attempts at one moment; how many were let through, and what is known then.
    fn attempts(known: &mut Known, now: Timestamp, times: usize) -> usize {
        let tries = (0..times).filter_map(|_| {
            let rows = begin(&counters(), known, now).ok()?;
            known.extend(rows.into_iter().map(|(counter, counted)| (counter.key, counted)));
            Some(())
        });
        tries.count()
    }

    #[test]
    fn the_delay_doubles_up_to_a_quarter_of_an_hour() {
        let delays: Vec<_> = (4..=8).map(|n| Brake::ACCOUNT.delay(n).as_secs()).collect();
        assert_eq!(delays, [0, 1, 2, 4, 8]);
        for many in [16, 70, i64::MAX] {
            assert_eq!(Brake::ACCOUNT.delay(many), LONGEST_DELAY);
        }
    }

    #[test]
    fn a_thousand_at_once_get_the_free_ones_and_no_more() {
        let mut known = Known::new();
        assert_eq!(attempts(&mut known, NOW, 1_000), 5);
        assert_eq!(begin(&counters(), &known, NOW).unwrap_err(), Duration::from_secs(1));
        assert_eq!(
            attempts(&mut known, NOW.plus_secs(1), 1_000),
            1,
            "one after the delay, which has doubled"
        );
        assert_eq!(attempts(&mut known, NOW.plus_secs(2), 1_000), 0);
    }

    #[test]
    fn wrong_attempts_are_forgotten_one_by_one() {
        let mut known = Known::new();
        attempts(&mut known, NOW, 5);
        assert_eq!(attempts(&mut known, NOW.plus_secs(2 * 900), 1_000), 2, "two of five are forgotten");
        let row = known["ann here"];
        assert_eq!(row.expires_at(&Brake::ACCOUNT), NOW.plus_secs(2 * 900 + 5 * 900));
        assert_eq!(attempts(&mut known, NOW.plus_secs(100 * 900), 1_000), 5, "and all after a while");
    }

    #[test]
    fn a_good_attempt_does_not_count_and_ends_no_delay_of_others() {
        let mut known = Known::new();
        attempts(&mut known, NOW, 1);
        assert_eq!(forgive(&counters(), &known, NOW), [(counters().remove(0), None)]);
        let far = Counted { failures: 12, counted_at: NOW, blocked_until: NOW.plus_secs(128) };
        known.insert("ann here".into(), far);
        let left = forgive(&counters(), &known, NOW)[0].1.unwrap();
        assert_eq!((left.failures, left.blocked_until), (11, NOW.plus_secs(64)));
    }

    #[test]
    fn an_ipv6_user_cannot_change_address_to_try_more_often() {
        let network_of = |text: &str| network(text.parse().unwrap());
        assert_eq!(network_of("2001:db8:1:2::5"), network_of("2001:db8:1:2:ffff::9"));
        assert_ne!(network_of("2001:db8:1:2::5"), network_of("2001:db8:1:3::5"));
        assert_eq!(network_of("::ffff:10.0.0.1"), "10.0.0.1");
    }

    #[test]
    fn one_braked_counter_stops_the_attempt_and_the_other_counts_nothing() {
        let both = [counters().remove(0), Counter { key: "here".into(), brake: Brake::ADDRESS }];
        let blocked = Counted { failures: 60, counted_at: NOW, blocked_until: NOW.plus_secs(9) };
        let known = Known::from([("here".to_owned(), blocked)]);
        assert_eq!(begin(&both, &known, NOW).unwrap_err(), Duration::from_secs(9));
    }
}
