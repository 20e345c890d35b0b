use super::*;

fn next(cron: &str, from: &str) -> Option<String> {
    let found = Cron::parse(cron).unwrap().next_minute(from.parse().unwrap());
    found.map(|at| at.strftime("%Y-%m-%d %H:%M %a").to_string())
}

#[test]
fn expressions_find_their_next_minute() {
    let cases = [
        ("* * * * *", "2026-01-01T00:00", "2026-01-01 00:00 Thu"),
        ("0 2 * * *", "2026-01-01T02:01", "2026-01-02 02:00 Fri"),
        ("*/15 * * * *", "2026-01-01T10:46", "2026-01-01 11:00 Thu"),
        ("5/20 * * * *", "2026-01-01T10:26", "2026-01-01 10:45 Thu"),
        ("10-20/5 * * * *", "2026-01-01T10:16", "2026-01-01 10:20 Thu"),
        ("0 9-17 * * MON-FRI", "2026-01-02T17:01", "2026-01-05 09:00 Mon"),
        ("0 0 * * sun", "2026-01-01T00:00", "2026-01-04 00:00 Sun"),
        ("0 0 * * 7", "2026-01-01T00:00", "2026-01-04 00:00 Sun"),
        ("0 0 * * 5-7", "2026-01-03T00:01", "2026-01-04 00:00 Sun"),
        ("0 0 1 jan,Jul *", "2026-01-01T00:01", "2026-07-01 00:00 Wed"),
        ("59 23 31 12 *", "2026-12-31T23:59", "2026-12-31 23:59 Thu"),
        // Either day is enough when both are named …
        ("0 0 13 * 5", "2026-01-01T00:00", "2026-01-02 00:00 Fri"),
        // … and both must match when one is only a star with a step.
        ("0 0 */2 * 1", "2026-01-01T00:00", "2026-01-05 00:00 Mon"),
        ("0 0 29 2 *", "2026-01-01T00:00", "2028-02-29 00:00 Tue"),
        ("0 0 29 2 *", "2096-03-01T00:00", "2104-02-29 00:00 Fri"),
        ("0 0 31 * *", "2026-02-01T00:00", "2026-03-31 00:00 Tue"),
        ("@yearly", "2026-01-01T00:01", "2027-01-01 00:00 Fri"),
        ("@monthly", "2026-01-31T12:00", "2026-02-01 00:00 Sun"),
        ("@weekly", "2026-01-01T00:00", "2026-01-04 00:00 Sun"),
        ("@daily", "2026-02-28T00:01", "2026-03-01 00:00 Sun"),
        ("@hourly", "2026-01-01T23:01", "2026-01-02 00:00 Fri"),
    ];
    for (cron, from, expected) in cases {
        assert_eq!(next(cron, from).as_deref(), Some(expected), "{cron} from {from}");
    }
}

#[test]
fn a_date_that_never_comes_is_found_out() {
    for never in ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
        assert_eq!(next(never, "2026-01-01T00:00"), None, "{never}");
    }
}

#[test]
fn the_calendar_ends_without_a_panic() {
    assert_eq!(next("0 0 1 1 *", "9999-12-31T23:59"), None);
}

#[test]
fn what_is_not_a_schedule_is_refused_with_its_field() {
    let cases = [
        ("", "five fields"),
        ("* * * *", "five fields"),
        ("0 0 2 * * *", "five fields"),
        ("60 * * * *", "minute must be between 0 and 59"),
        ("* 24 * * *", "hour must be"),
        ("* * 0 * *", "day of the month must be between 1"),
        ("* * 32 * *", "day of the month must be"),
        ("* * * 13 *", "month must be"),
        ("* * * * 8", "day of the week must be"),
        ("* * * foo *", "not “foo”"),
        ("*/0 * * * *", "step “0”"),
        ("*/60 * * * *", "step “60”"),
        ("*/-1 * * * *", "step"),
        ("5-1 * * * *", "ends before it begins"),
        ("1,,2 * * * *", "minute"),
        ("+1 * * * *", "minute"),
        ("0000000000001 * * * *", "minute"),
        ("? * * * *", "minute"),
        ("* * L * *", "day of the month"),
        ("@reboot", "@daily"),
        ("1-2-3 * * * *", "minute"),
        ("1/2/3 * * * *", "step"),
    ];
    for (cron, expected) in cases {
        let problem = Cron::parse(cron).unwrap_err();
        assert_eq!(problem.errors[0].field, "cron_expr");
        assert!(problem.detail.contains(expected), "{cron}: {}", problem.detail);
    }
    assert!(Cron::parse(&"1,".repeat(500)).is_err());
}

/// Every minute of three months, leap day included, held against the plain meaning of the fields.
#[test]
fn a_plain_walk_over_the_minutes_agrees() {
    for text in ["*/7 3,4 * * *", "30 2 1-7 * 1", "0 12 */10 2 2", "15 0 28-31 * *"] {
        let cron = Cron::parse(text).unwrap();
        // Backwards, so that each minute's answer is itself, or that of the one after it.
        let mut at: DateTime = "2028-06-01T00:00".parse().unwrap();
        let mut answer = cron.next_minute(at);
        for _ in 0..(100 * 24 * 60) {
            let minute = has(cron.minutes, at.minute() as u32) && has(cron.hours, at.hour() as u32);
            let day = has(cron.months, at.month() as u32) && cron.day_matches(at.date());
            if minute && day {
                answer = Some(at);
            }
            assert_eq!(cron.next_minute(at), answer, "{text} at {at}");
            at = at.checked_sub(jiff::Span::new().minutes(1)).unwrap();
        }
    }
}
