//! One moment in UTC, counted in microseconds: what Postgres keeps, and what SQLite can sort as text.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr, time::Duration};
use time::{OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description};

/// Microseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * 1_000_000)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Seconds from `earlier` to `self`, negative when it is the other way round.
    pub fn seconds_since(self, earlier: Self) -> f64 {
        (self.0 - earlier.0) as f64 / 1e6
    }

    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_micros().min(i64::MAX as u128) as i64))
    }

    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.as_micros().min(i64::MAX as u128) as i64))
    }

    pub fn plus_secs(self, secs: i64) -> Self {
        Self(self.0.saturating_add(secs.saturating_mul(1_000_000)))
    }

    pub fn from_datetime(at: OffsetDateTime) -> Self {
        Self((at.unix_timestamp_nanos() / 1_000) as i64)
    }

    /// The same moment for drivers and formatters; moments outside year ±9999 are clamped to the epoch.
    pub fn datetime(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

/// Fixed width (`2026-11-16T03:07:25.000000Z`), so that text order is time order.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format =
            format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
        f.write_str(&self.datetime().format(&format).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Timestamp {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        OffsetDateTime::parse(s, &Rfc3339)
            .map(Self::from_datetime)
            .map_err(|_| format!("“{s}” is not a time such as 2026-11-16T03:07:25Z"))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_order_is_time_order() {
        let moments = [0, 1, 999_999, 1_000_000, 1_700_000_000_000_000, 1_700_000_000_500_000];
        let texts: Vec<_> = moments.map(|m| Timestamp::from_micros(m).to_string()).into();
        let mut sorted = texts.clone();
        sorted.sort();
        assert_eq!(texts, sorted);
        assert!(texts.iter().all(|t| t.len() == 27));
    }

    #[test]
    fn it_reads_what_it_writes_and_other_zones() {
        let at = Timestamp::from_micros(1_700_000_000_123_456);
        assert_eq!(at.to_string().parse(), Ok(at));
        assert_eq!("2026-02-16T10:30:00+02:00".parse::<Timestamp>(), "2026-02-16T08:30:00Z".parse());
        assert!("yesterday".parse::<Timestamp>().is_err());
    }
}
