//! Five-field cron expressions, as sets of minutes, hours, days, months and weekdays.
//!
//! Lists, ranges, steps, names of months and weekdays, and `@daily` and its kin. When both days are restricted,
//! either may match, as cron has always done it; a field that begins with `*` restricts nothing in this sense.

use jiff::civil::{Date, DateTime};
use leasehold_types::Problem;

const LONGEST: usize = 200;
/// The rarest dates that come at all come within this many years: 29 February over a century without a leap year,
/// first days of a month on a given weekday.
const YEARS_AHEAD: i16 = 50;
const ALL_HOURS: u64 = (1 << 24) - 1;

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A field's name, bounds, and names for its values, the first of which means `low`.
struct Field {
    name: &'static str,
    low: u32,
    high: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field { name: "minute", low: 0, high: 59, names: &[] },
    Field { name: "hour", low: 0, high: 23, names: &[] },
    Field { name: "day of the month", low: 1, high: 31, names: &[] },
    Field { name: "month", low: 1, high: 12, names: &MONTHS },
    // Sunday has two numbers.
    Field { name: "day of the week", low: 0, high: 7, names: &WEEKDAYS },
];

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Both days are restricted: one that matches is enough.
    either_day: bool,
}

impl Cron {
    pub fn parse(text: &str) -> Result<Self, Problem> {
        parse(text).map_err(|message| Problem::invalid("cron_expr", message))
    }

    /// It speaks of minutes only: such a schedule runs on through an hour that comes twice.
    pub fn every_hour(&self) -> bool {
        self.hours == ALL_HOURS
    }

    /// The first minute at or after `from` that matches, on a clock that nobody changes. None: not in fifty years.
    pub fn next_minute(&self, from: DateTime) -> Option<DateTime> {
        let last_year = from.year().saturating_add(YEARS_AHEAD);
        let (mut date, mut from_minute) = (from.date(), from.hour() as u32 * 60 + from.minute() as u32);
        while date.year() <= last_year {
            if !has(self.months, date.month() as u32) {
                date = first_of_next_month(date)?;
                from_minute = 0;
                continue;
            }
            if self.day_matches(date)
                && let Some((hour, minute)) = self.minute_of_day(from_minute)
            {
                return Some(date.at(hour as i8, minute as i8, 0, 0));
            }
            date = date.tomorrow().ok()?;
            from_minute = 0;
        }
        None
    }

    fn day_matches(&self, date: Date) -> bool {
        let day = has(self.days, date.day() as u32);
        let weekday = has(self.weekdays, date.weekday().to_sunday_zero_offset() as u32);
        if self.either_day { day || weekday } else { day && weekday }
    }

    fn minute_of_day(&self, from: u32) -> Option<(u32, u32)> {
        let (from_hour, from_minute) = (from / 60, from % 60);
        if has(self.hours, from_hour)
            && let Some(minute) = next_in(self.minutes, from_minute)
        {
            return Some((from_hour, minute));
        }
        Some((next_in(self.hours, from_hour + 1)?, next_in(self.minutes, 0)?))
    }
}

fn first_of_next_month(date: Date) -> Option<Date> {
    date.last_of_month().tomorrow().ok()
}

fn has(set: u64, value: u32) -> bool {
    set & (1 << value) != 0
}

/// The smallest member that is not below `from`.
fn next_in(set: u64, from: u32) -> Option<u32> {
    let rest = set.checked_shr(from)?;
    (rest != 0).then(|| from + rest.trailing_zeros())
}

fn parse(text: &str) -> Result<Cron, String> {
    if text.len() > LONGEST {
        return Err(format!("A schedule may have at most {LONGEST} characters."));
    }
    let text = match text.trim() {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        other if other.starts_with('@') => {
            return Err(format!(
                "“{other}” is not known; there are @yearly, @monthly, @weekly, @daily and @hourly."
            ));
        }
        fields => fields,
    };
    let parts: Vec<&str> = text.split_whitespace().collect();
    if parts.len() != FIELDS.len() {
        return Err(format!(
            "A schedule has five fields (minute, hour, day of the month, month, day of the week), not {}.",
            parts.len()
        ));
    }
    let mut sets = [0; 5];
    for ((set, part), field) in sets.iter_mut().zip(&parts).zip(&FIELDS) {
        *set = field.set(part)?;
    }
    let [minutes, hours, days, months, weekdays] = sets;
    // Sunday as 7 is Sunday as 0.
    let weekdays = (weekdays | (weekdays >> 7)) & 0b111_1111;
    let either_day = !parts[2].starts_with('*') && !parts[4].starts_with('*');
    Ok(Cron { minutes, hours, days, months, weekdays, either_day })
}

impl Field {
    fn set(&self, part: &str) -> Result<u64, String> {
        part.split(',').try_fold(0, |set, item| Ok(set | self.item(item)?))
    }

    /// `*`, `7`, `1-5`, each with `/step` behind it.
    fn item(&self, item: &str) -> Result<u64, String> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step)?)),
            None => (item, None),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (self.value(from)?, self.value(to)?),
            // Sunday once is enough.
            None if range == "*" => (self.low, if self.high == 7 { 6 } else { self.high }),
            None if step.is_some() => (self.value(range)?, self.high),
            None => (self.value(range)?, self.value(range)?),
        };
        if from > to {
            return Err(format!("The {} “{item}” ends before it begins.", self.name));
        }
        Ok((from..=to).step_by(step.unwrap_or(1)).fold(0, |set, value| set | (1 << value)))
    }

    fn step(&self, text: &str) -> Result<usize, String> {
        number(text).filter(|step| (1..=self.high).contains(step)).map(|step| step as usize).ok_or_else(
            || format!("The step “{text}” of the {} must be between 1 and {}.", self.name, self.high),
        )
    }

    fn value(&self, text: &str) -> Result<u32, String> {
        let named = self.names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let value = named.map(|place| place as u32 + self.low).or_else(|| number(text));
        value.filter(|value| (self.low..=self.high).contains(value)).ok_or_else(|| {
            format!("The {} must be between {} and {}, not “{text}”.", self.name, self.low, self.high)
        })
    }
}

/// Digits alone: no sign, no more than any field needs.
fn number(text: &str) -> Option<u32> {
    let plain = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
