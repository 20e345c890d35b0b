//! Numbers and moments as people read them. Pure, so the server and the browser say the same.

use leasehold_types::Timestamp;
pub use leasehold_types::duration::duration;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `just now`, `12 s ago`, `in 3 min`; older than a month: the date.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.seconds_since(at);
    let distance = seconds.abs() as i64;
    let text = match distance {
        0..2 => return "just now".into(),
        2..MINUTE => format!("{distance} s"),
        MINUTE..HOUR => format!("{} min", distance / MINUTE),
        HOUR..DAY => format!("{} h", distance / HOUR),
        _ if distance < 31 * DAY => format!("{} d", distance / DAY),
        _ => return date(at),
    };
    if seconds < 0.0 { format!("in {text}") } else { format!("{text} ago") }
}

fn date(at: Timestamp) -> String {
    let day = at.datetime();
    format!("{} {} {}", day.day(), MONTHS[day.month() as usize - 1], day.year())
}

/// `16 Nov 2026, 03:31:23 UTC`
pub fn utc(at: Timestamp) -> String {
    format!("{}, {} UTC", date(at), wall_clock(at, 0))
}

/// `03:31:23` in the zone that many minutes east of UTC.
pub fn wall_clock(at: Timestamp, minutes_east: i64) -> String {
    let there = at.plus_secs(minutes_east * MINUTE).datetime();
    format!("{:02}:{:02}:{:02}", there.hour(), there.minute(), there.second())
}

/// `03:31:23.118`, for log lines.
pub fn wall_clock_millis(at: Timestamp, minutes_east: i64) -> String {
    format!("{}.{:03}", wall_clock(at, minutes_east), at.millis().rem_euclid(1_000))
}

/// For `datetime` attributes, which allow three digits after the second.
pub fn iso(at: Timestamp) -> String {
    let full = at.to_string();
    format!("{}Z", full.get(..23).unwrap_or(&full))
}

/// `12,345`
pub fn count(n: i64) -> String {
    let digits = n.unsigned_abs().to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if n < 0 {
        grouped.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `417 bytes`, `36 kB`, `2.4 MB`: thousands, as file managers count.
pub fn size(bytes: i64) -> String {
    match bytes {
        ..1_000 => plural(bytes, "byte", "bytes"),
        1_000..10_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        10_000..999_500 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// `1 job`, `3 jobs`
pub fn plural(n: i64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_from_here() {
        let now = Timestamp::from_secs(1_700_000_000);
        for (ago, text) in [
            (0, "just now"),
            (12, "12 s ago"),
            (-12, "in 12 s"),
            (185, "3 min ago"),
            (-7_300, "in 2 h"),
            (3 * DAY, "3 d ago"),
            (400 * DAY, "10 Oct 2022"),
        ] {
            assert_eq!(relative(now.plus_secs(-ago), now), text);
        }
    }

    #[test]
    fn clocks_follow_the_zone_and_keep_milliseconds() {
        let at = Timestamp::from_micros(1_700_000_000_118_900);
        assert_eq!(wall_clock_millis(at, 0), "22:13:20.118");
        assert_eq!(wall_clock(at, 120), "00:13:20");
        assert_eq!(utc(at), "14 Nov 2023, 22:13:20 UTC");
        assert_eq!(iso(at), "2023-11-14T22:13:20.118Z");
    }

    #[test]
    fn sizes_are_counted_in_thousands() {
        for (bytes, text) in [
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_500, "1.5 kB"),
            (36_400, "36 kB"),
            (999_600, "1.0 MB"),
            (26_214_400, "26.2 MB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn thousands_are_grouped() {
        for (n, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (-12_345_678, "-12,345,678")] {
            assert_eq!(count(n), text);
        }
        assert_eq!((plural(1, "job", "jobs"), plural(2, "job", "jobs")), ("1 job".into(), "2 jobs".into()));
    }
}
