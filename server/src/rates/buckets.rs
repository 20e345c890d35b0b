//! Token buckets, one per key, in bounded memory. A bucket is one moment: when it will be full again (GCRA).

use super::Rate;
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// A full bucket need not be remembered, so few are more than this for long.
const REMEMBERED: usize = 20_000;

pub struct Buckets<K> {
    /// What one request takes.
    each: Duration,
    /// What a full bucket holds.
    whole: Duration,
    full_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    /// None when there is no limit.
    pub fn new(rate: Rate) -> Option<Self> {
        if rate.per_second == 0 {
            return None;
        }
        let each = Duration::from_secs(1) / rate.per_second;
        Some(Self { each, whole: each * rate.burst.max(1), full_at: Mutex::default() })
    }

    /// Takes one, or says how long until there is one.
    pub fn take(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut all = self.all();
        if all.len() >= REMEMBERED && !all.contains_key(&key) {
            make_room(&mut all, now);
        }
        let full_at = all.entry(key).or_insert(now);
        let after = (*full_at).max(now) + self.each;
        match after.checked_duration_since(now + self.whole) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => {
                *full_at = after;
                Ok(())
            }
        }
    }

    /// How long until there is one; none when there is one now.
    pub fn wait(&self, key: &K, now: Instant) -> Option<Duration> {
        let after = (*self.all().get(key)?).max(now) + self.each;
        after.checked_duration_since(now + self.whole).filter(|wait| !wait.is_zero())
    }

    /// Something was taken for it, not long ago.
    pub fn knows(&self, key: &K) -> bool {
        self.all().contains_key(key)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Full buckets first; if all are in use, the fuller half of them.
fn make_room<K: Hash + Eq>(all: &mut HashMap<K, Instant>, now: Instant) {
    all.retain(|_, full_at| *full_at > now);
    if all.len() < REMEMBERED {
        return;
    }
    let mut moments: Vec<Instant> = all.values().copied().collect();
    let middle = moments.len() / 2;
    let (_, median, _) = moments.select_nth_unstable(middle);
    let median = *median;
    all.retain(|_, full_at| *full_at > median);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(per_second: u32, burst: u32) -> Buckets<u32> {
        Buckets::new(Rate { per_second, burst }).unwrap()
    }

    #[test]
    fn a_burst_then_the_rate() {
        let (buckets, now) = (buckets(10, 5), Instant::now());
        assert_eq!((0..20).filter(|_| buckets.take(1, now).is_ok()).count(), 5);
        assert_eq!(buckets.take(1, now), Err(Duration::from_millis(100)));
        assert_eq!(buckets.wait(&1, now), Some(Duration::from_millis(100)));
        assert!(buckets.take(2, now).is_ok(), "others have their own");
        let later = now + Duration::from_secs(1);
        assert_eq!(buckets.wait(&1, later), None);
        assert_eq!(
            (0..20).filter(|_| buckets.take(1, later).is_ok()).count(),
            5,
            "never more than the burst"
        );
        let mut taken = 0;
        for tenth in 1..=100 {
            taken += usize::from(buckets.take(1, later + Duration::from_millis(100) * tenth).is_ok());
        }
        assert_eq!(taken, 100, "ten per second go on");
    }

    #[test]
    fn memory_stays_bounded_and_those_who_owe_most_are_kept() {
        let (buckets, now) = (buckets(1, 100), Instant::now());
        for _ in 0..100 {
            buckets.take(0, now).unwrap();
        }
        for key in 1..60_000 {
            buckets.take(key, now).unwrap();
            assert!(buckets.all().len() <= REMEMBERED);
        }
        assert!(buckets.take(0, now).is_err(), "who used up all is not forgotten");
        let later = now + Duration::from_secs(200);
        for key in 60_000..60_000 + REMEMBERED as u32 {
            buckets.take(key, later).unwrap();
        }
        assert!(buckets.all().len() <= REMEMBERED && !buckets.knows(&0), "full buckets are forgotten");
    }
}
