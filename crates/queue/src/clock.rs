//! The one clock. Leases, availability and expiries compare against the database's time, never a worker's:
//! a store measures how far the database is ahead of this process and corrects by that. Tests freeze it.

use leasehold_types::Timestamp;
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const RUNNING: i64 = i64::MIN;

/// Clones share the same setting.
#[derive(Clone, Debug)]
pub struct Clock {
    frozen_at: Arc<AtomicI64>,
    database_ahead: Arc<AtomicI64>,
}

impl Clock {
    pub fn system() -> Self {
        Self { frozen_at: Arc::new(AtomicI64::new(RUNNING)), database_ahead: Arc::new(AtomicI64::new(0)) }
    }

    pub fn frozen(at: Timestamp) -> Self {
        let clock = Self::system();
        clock.freeze(at);
        clock
    }

    pub fn now(&self) -> Timestamp {
        match self.frozen_at.load(Ordering::Relaxed) {
            RUNNING => {
                Timestamp::from_micros(process_time().micros() + self.database_ahead.load(Ordering::Relaxed))
            }
            at => Timestamp::from_micros(at),
        }
    }

    pub fn is_frozen(&self) -> bool {
        self.frozen_at.load(Ordering::Relaxed) != RUNNING
    }

    pub fn freeze(&self, at: Timestamp) {
        self.frozen_at.store(at.micros(), Ordering::Relaxed);
    }

    /// Moves a frozen clock forward.
    pub fn advance(&self, by: Duration) {
        self.freeze(self.now().plus(by));
    }

    /// Tells the clock what the database said the time was, half-way between asking and hearing.
    pub fn measured(&self, database: Timestamp, asked: Timestamp, heard: Timestamp) {
        let middle = i64::midpoint(asked.micros(), heard.micros());
        self.database_ahead.store(database.micros() - middle, Ordering::Relaxed);
    }
}

/// This process's own clock; only for measuring how far off it is.
#[expect(clippy::disallowed_methods, reason = "the one place that may read the machine's clock")]
pub fn process_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(since.as_micros() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_clock_moves_only_when_told() {
        let clock = Clock::frozen(Timestamp::from_secs(1_700_000_000));
        let other = clock.clone();
        other.advance(Duration::from_millis(1_500));
        assert_eq!(clock.now(), Timestamp::from_micros(1_700_000_001_500_000));
    }

    #[test]
    fn the_database_wins_over_this_machine() {
        let clock = Clock::system();
        let here = process_time();
        clock.measured(here.plus_secs(3_600), here, here);
        assert!(clock.now().seconds_since(process_time()) > 3_590.0);
    }
}
