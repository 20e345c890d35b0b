//! When a schedule is due: a cron expression read on the clock of an IANA time zone.
//!
//! When that clock jumps forward, a time inside the gap is due once, at the moment the gap ends. When it goes back,
//! a time that comes twice is due the first time only; a schedule that runs every hour just goes on, because it
//! speaks of minutes that pass and not of times of day.

use super::cron::Cron;
use jiff::{
    Span, Timestamp as Moment,
    civil::DateTime,
    tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase},
};
use leasehold_types::{Problem, Timestamp};
use std::sync::OnceLock;

const LONGEST_ZONE: usize = 64;
/// Minutes looked at in a row that lie behind the moment asked from: more than any clock was ever put back by.
const MOST_STEPS: usize = 3 * 24 * 60;
/// Clock changes passed on the way to the next time due: two a year, over the years [`Cron`] looks ahead.
const MOST_CHANGES: usize = 400;

#[derive(Clone, Debug)]
pub struct Schedule {
    cron: Cron,
    zone: TimeZone,
}

/// How a change of the clock bears on one time due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shift {
    /// The time asked for does not exist that day: this is where the gap ends.
    Gap,
    /// The clock shows this time twice that day.
    Fold,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    pub at: Timestamp,
    pub shift: Option<Shift>,
}

/// One line of a preview.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upcoming {
    pub due_at: Timestamp,
    /// On the zone's clock, with its offset.
    pub local: String,
    /// What a change of the clock does to it, in words.
    pub note: Option<String>,
}

/// The zones come with the binary, so that every machine agrees on them.
fn zones() -> &'static TimeZoneDatabase {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

/// The zone's own spelling of its name.
pub fn zone_name(name: &str) -> Result<String, Problem> {
    let zone = zone(name)?;
    Ok(zone.iana_name().unwrap_or(name).to_owned())
}

/// The names of all zones, sorted.
pub fn zone_names() -> Vec<String> {
    zones().available().map(|zone| zone.to_string()).collect()
}

/// A moment on a zone's clock: `16 Nov 2026, 04:31:23 Europe/Berlin`.
pub fn on_the_clock(at: Timestamp, timezone: &str) -> Option<String> {
    let there = Moment::from_microsecond(at.micros()).ok()?.to_zoned(zone(timezone).ok()?);
    Some(format!("{} {timezone}", there.strftime("%-d %b %Y, %H:%M:%S")))
}

fn zone(name: &str) -> Result<TimeZone, Problem> {
    let known = (name.len() <= LONGEST_ZONE && !name.eq_ignore_ascii_case("Etc/Unknown"))
        .then(|| zones().get(name).ok())
        .flatten();
    known.ok_or_else(|| {
        let shown: String = name.chars().take(LONGEST_ZONE).collect();
        let message = format!("“{shown}” is not a time zone such as Europe/Berlin or UTC.");
        Problem::invalid("timezone", message)
    })
}

impl Schedule {
    pub fn parse(cron_expr: &str, timezone: &str) -> Result<Self, Problem> {
        Ok(Self { cron: Cron::parse(cron_expr)?, zone: zone(timezone)? })
    }

    /// The first time due after this moment. None: there is none in the next fifty years.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.next_occurrence(after).map(|occurrence| occurrence.at)
    }

    pub fn next_occurrence(&self, after: Timestamp) -> Option<Occurrence> {
        let after = Moment::from_microsecond(after.micros()).ok()?;
        let found = if self.cron.every_hour() { self.by_minutes(after) } else { self.by_clock(after) };
        let (at, shift) = found?;
        Some(Occurrence { at: Timestamp::from_micros(at.as_microsecond()), shift })
    }

    /// Times of day: each is due once. Later times on the clock are never due earlier, so the first that lies after
    /// the moment is the next.
    fn by_clock(&self, after: Moment) -> Option<(Moment, Option<Shift>)> {
        let mut from = minute_after(self.zone.to_datetime(after))?;
        for _ in 0..MOST_STEPS {
            let asked = self.cron.next_minute(from)?;
            let (at, shift) = self.moment_of(asked)?;
            if at > after {
                return Some((at, shift));
            }
            from = minute_after(asked)?;
        }
        None
    }

    fn moment_of(&self, asked: DateTime) -> Option<(Moment, Option<Shift>)> {
        match self.zone.to_ambiguous_timestamp(asked).offset() {
            AmbiguousOffset::Unambiguous { offset } => Some((moment(offset, asked)?, None)),
            AmbiguousOffset::Fold { before, .. } => Some((moment(before, asked)?, Some(Shift::Fold))),
            AmbiguousOffset::Gap { before, .. } => {
                // On the old clock the time asked for lies behind the change, by less than the gap is long.
                let behind = moment(before, asked)?.checked_add(Span::new().seconds(1)).ok()?;
                let change = self.zone.preceding(behind).next()?;
                Some((change.timestamp(), Some(Shift::Gap)))
            }
        }
    }

    /// Minutes that pass: from one change of the clock to the next the offset is fixed.
    fn by_minutes(&self, after: Moment) -> Option<(Moment, Option<Shift>)> {
        let (mut since, mut from) = (after, minute_after(self.zone.to_datetime(after))?);
        for _ in 0..MOST_CHANGES {
            let offset = self.zone.to_offset(since);
            let asked = self.cron.next_minute(from)?;
            let at = moment(offset, asked)?;
            let change = match self.zone.following(since).next() {
                Some(change) if change.timestamp() <= at => change,
                _ => return Some((at, self.shift_of(asked))),
            };
            let resumes = change.offset().to_datetime(change.timestamp());
            if change.offset() > offset && asked < resumes {
                return Some((change.timestamp(), Some(Shift::Gap)));
            }
            (since, from) = (change.timestamp(), resumes);
        }
        None
    }

    fn shift_of(&self, shown: DateTime) -> Option<Shift> {
        let fold = matches!(self.zone.to_ambiguous_timestamp(shown).offset(), AmbiguousOffset::Fold { .. });
        fold.then_some(Shift::Fold)
    }

    /// The next times due, at most `n`, with what changes of the clock do to them.
    pub fn upcoming(&self, after: Timestamp, n: usize) -> Vec<Upcoming> {
        let mut lines = Vec::new();
        let Ok(start) = Moment::from_microsecond(after.micros()) else { return lines };
        let (mut after, mut offset) = (after, self.zone.to_offset(start));
        while lines.len() < n
            && let Some(occurrence) = self.next_occurrence(after)
            && let Ok(at) = Moment::from_microsecond(occurrence.at.micros())
        {
            let zoned = at.to_zoned(self.zone.clone());
            let note = self.note(occurrence.shift, offset, zoned.offset());
            let local = zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string();
            lines.push(Upcoming { due_at: occurrence.at, local, note });
            (after, offset) = (occurrence.at, zoned.offset());
        }
        lines
    }

    fn note(&self, shift: Option<Shift>, before: Offset, now: Offset) -> Option<String> {
        match shift {
            Some(Shift::Gap) => {
                Some("The clock skips this time that day: it fires when the gap ends.".into())
            }
            Some(Shift::Fold) if self.cron.every_hour() => {
                Some("The clock shows this time twice that day: it goes on through both.".into())
            }
            Some(Shift::Fold) => {
                Some("The clock shows this time twice that day: it fires the first time only.".into())
            }
            None if before != now => Some(format!("The clock has changed from UTC{before} to UTC{now}.")),
            None => None,
        }
    }
}

fn moment(offset: Offset, local: DateTime) -> Option<Moment> {
    offset.to_timestamp(local).ok()
}

/// The minute that begins after the one this moment is in.
fn minute_after(at: DateTime) -> Option<DateTime> {
    at.date().at(at.hour(), at.minute(), 0, 0).checked_add(Span::new().minutes(1)).ok()
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
