//! Spans of time as people read them.

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `0.4 s`, `42 s`, `3 min 12 s`, `2 h 5 min`, `3 d 4 h`: two units at most.
pub fn duration(seconds: f64) -> String {
    if seconds < 0.05 {
        return "0 s".into();
    }
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    whole_seconds(seconds.round() as i64)
}

/// The same of whole seconds: `5 s`, `3 min 12 s`.
pub fn whole_seconds(seconds: i64) -> String {
    match seconds {
        ..MINUTE => format!("{} s", seconds.max(0)),
        MINUTE..HOUR => two(seconds / MINUTE, "min", seconds % MINUTE, "s"),
        HOUR..DAY => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "min"),
        _ => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
    }
}

fn two(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_at_most_two_units() {
        for (seconds, text) in [
            (-1.0, "0 s"),
            (0.42, "0.4 s"),
            (6.24, "6.2 s"),
            (9.96, "10 s"),
            (59.0, "59 s"),
            (60.0, "1 min"),
            (192.0, "3 min 12 s"),
            (7_500.0, "2 h 5 min"),
            (273_600.0, "3 d 4 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!((whole_seconds(5), whole_seconds(1_050)), ("5 s".into(), "17 min 30 s".into()));
    }
}
