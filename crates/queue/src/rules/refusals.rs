//! Those who were not let in, for the audit log. The first refusal of its kind is written at once, its repetitions are
//! counted and written once a minute: whoever knocks a million times must not bury everything else, nor cost a write
//! each time. So the counting is in memory, bounded, and what a process counted when it is killed is lost.

use crate::gate::minute_of;
use leasehold_types::{TenantId, Timestamp};
use std::collections::{HashMap, hash_map::Entry};

/// Kinds of refusals told apart within one minute; the rest is counted together.
const MOST_KINDS: usize = 60;
const SEVERAL: &str = "several";

/// What was refused. Equal ones of one minute are counted together.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Refusal {
    pub tenant: Option<TenantId>,
    pub actor: String,
    pub action: &'static str,
    pub object_type: &'static str,
    pub object_id: String,
    pub why: String,
    pub address: Option<String>,
}

impl Refusal {
    /// What is said of those that come after too many.
    fn of_several(&self) -> Self {
        Self {
            tenant: None,
            actor: SEVERAL.into(),
            object_id: SEVERAL.into(),
            why: "too many to tell apart".into(),
            address: None,
            ..self.clone()
        }
    }
}

/// A row to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub refusal: Refusal,
    pub reason: String,
    pub at: Timestamp,
}

#[derive(Debug)]
struct Tally {
    first_at: Timestamp,
    unwritten: u64,
    written: bool,
}

#[derive(Debug, Default)]
pub struct Refusals(HashMap<(i64, Refusal), Tally>);

impl Refusals {
    pub fn note(&mut self, refusal: Refusal, now: Timestamp) {
        let minute = minute_of(now);
        let crowded = self.0.len() >= MOST_KINDS && !self.0.contains_key(&(minute, refusal.clone()));
        let refusal = if crowded { refusal.of_several() } else { refusal };
        match self.0.entry((minute, refusal)) {
            Entry::Occupied(known) => known.into_mut().unwritten += 1,
            Entry::Vacant(place) => {
                place.insert(Tally { first_at: now, unwritten: 1, written: false });
            }
        }
    }

    /// What is to be written by now; with `all` also what the current minute would still wait for.
    pub fn take(&mut self, now: Timestamp, all: bool) -> Vec<Refused> {
        let this_minute = minute_of(now);
        let mut rows = Vec::new();
        for ((minute, refusal), tally) in &mut self.0 {
            let over = all || *minute < this_minute;
            if tally.unwritten > 0 && (over || !tally.written) {
                let reason = match (tally.unwritten, tally.written) {
                    (1, false) => refusal.why.clone(),
                    (n, false) => format!("{}, {n} times", refusal.why),
                    (n, true) => format!("{}, {n} more times in this minute", refusal.why),
                };
                rows.push(Refused { refusal: refusal.clone(), reason, at: tally.first_at });
                (tally.unwritten, tally.written) = (0, true);
            }
        }
        self.0.retain(|(minute, _), _| *minute >= this_minute);
        rows.sort_by_key(|row| row.at);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

    fn refusal(address: &str) -> Refusal {
        Refusal {
            tenant: None,
            actor: "not signed in".into(),
            action: "user.sign_in_failed",
            object_type: "user",
            object_id: "ann@example.org".into(),
            why: "wrong password".into(),
            address: Some(address.into()),
        }
    }

    fn reasons(rows: Vec<Refused>) -> Vec<String> {
        rows.into_iter().map(|row| row.reason).collect()
    }

    #[test]
    fn the_first_is_written_at_once_and_repetitions_once_a_minute() {
        let mut refusals = Refusals::default();
        refusals.note(refusal("10.0.0.1"), NOW);
        assert_eq!(reasons(refusals.take(NOW, false)), ["wrong password"]);
        for _ in 0..1_000 {
            refusals.note(refusal("10.0.0.1"), NOW.plus_secs(1));
        }
        assert!(refusals.take(NOW.plus_secs(2), false).is_empty(), "counted, not written");
        let later = refusals.take(NOW.plus_secs(60), false);
        assert_eq!(reasons(later), ["wrong password, 1000 more times in this minute"]);
        assert!(refusals.0.is_empty());
        refusals.note(refusal("10.0.0.1"), NOW.plus_secs(61));
        refusals.note(refusal("10.0.0.1"), NOW.plus_secs(61));
        assert_eq!(reasons(refusals.take(NOW.plus_secs(61), true)), ["wrong password, 2 times"]);
    }

    #[test]
    fn however_many_addresses_knock_the_rows_are_bounded() {
        let mut refusals = Refusals::default();
        for nth in 0..10_000 {
            refusals.note(refusal(&format!("10.0.{}.{}", nth / 250, nth % 250)), NOW);
        }
        let rows = refusals.take(NOW, false);
        assert_eq!(rows.len(), MOST_KINDS + 1);
        assert!(rows.iter().any(|row| row.reason == "too many to tell apart, 9940 times"));
    }
}
