use super::*;

fn times(cron: &str, zone: &str, after: &str, n: usize) -> Vec<String> {
    let schedule = Schedule::parse(cron, zone).unwrap();
    schedule.upcoming(after.parse().unwrap(), n).into_iter().map(|line| line.local).collect()
}

#[test]
fn a_time_in_the_gap_fires_once_when_the_gap_ends() {
    let new_york = times("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", 3);
    assert_eq!(
        new_york,
        ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00", "2026-03-10T02:30:00-04:00"]
    );
    let berlin = times("15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2);
    assert_eq!(berlin, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:15:00+02:00"]);
    // Half an hour only.
    let lord_howe = times("15 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00:00Z", 2);
    assert_eq!(lord_howe, ["2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"]);
    // A whole day that never was.
    let apia = times("0 12 30 12 *", "Pacific/Apia", "2011-12-29T12:00:00Z", 1);
    assert_eq!(apia, ["2011-12-31T00:00:00+14:00"]);
}

#[test]
fn several_times_in_one_gap_fire_once_together() {
    let twice = times("0,30 2,3 * * *", "America/New_York", "2026-03-08T06:30:00Z", 3);
    assert_eq!(
        twice,
        ["2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00", "2026-03-09T02:00:00-04:00"]
    );
}

#[test]
fn a_time_that_comes_twice_fires_the_first_time_only() {
    let new_york = times("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z", 2);
    assert_eq!(new_york, ["2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"]);
    // Asked from the second pass of the hour.
    let later = times("30 1 * * *", "America/New_York", "2026-11-01T06:10:00Z", 1);
    assert_eq!(later, ["2026-11-02T01:30:00-05:00"]);
    let berlin = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2);
    assert_eq!(berlin, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]);
    let lord_howe = times("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", 2);
    assert_eq!(lord_howe, ["2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"]);
}

#[test]
fn an_hourly_schedule_goes_on_through_both_changes() {
    let back = times("0 * * * *", "America/New_York", "2026-11-01T04:30:00Z", 4);
    assert_eq!(
        back,
        [
            "2026-11-01T01:00:00-04:00",
            "2026-11-01T01:00:00-05:00",
            "2026-11-01T02:00:00-05:00",
            "2026-11-01T03:00:00-05:00"
        ]
    );
    let forward = times("*/30 * * * *", "America/New_York", "2026-03-08T06:20:00Z", 3);
    assert_eq!(
        forward,
        ["2026-03-08T01:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:30:00-04:00"]
    );
    // The gap swallows the only minute of its hour, which then is due at its end.
    let lord_howe = times("15 * * * *", "Australia/Lord_Howe", "2026-10-03T15:00:00Z", 3);
    assert_eq!(
        lord_howe,
        ["2026-10-04T02:30:00+11:00", "2026-10-04T03:15:00+11:00", "2026-10-04T04:15:00+11:00"]
    );
}

#[test]
fn zones_of_odd_offsets_and_none_at_all() {
    assert_eq!(
        times("0 6 * * *", "Asia/Kathmandu", "2026-01-01T00:00:00Z", 1),
        ["2026-01-01T06:00:00+05:45"]
    );
    assert_eq!(times("@daily", "UTC", "2026-12-31T00:00:00Z", 1), ["2027-01-01T00:00:00+00:00"]);
    assert_eq!(
        times("0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", 2),
        ["2028-02-29T00:00:00+00:00", "2032-02-29T00:00:00+00:00"]
    );
}

#[test]
fn a_schedule_that_never_comes_is_none_soon() {
    for zone in ["UTC", "America/New_York"] {
        for cron in ["0 0 31 2 *", "* * 31 2 *"] {
            let started = std::time::Instant::now();
            assert_eq!(
                Schedule::parse(cron, zone).unwrap().next("2026-01-01T00:00:00Z".parse().unwrap()),
                None
            );
            assert!(started.elapsed().as_millis() < 500, "{cron}");
        }
    }
}

#[test]
fn changes_of_the_clock_are_marked() {
    let schedule = Schedule::parse("30 2 * * *", "America/New_York").unwrap();
    let lines = schedule.upcoming("2026-03-07T00:00:00Z".parse().unwrap(), 3);
    assert_eq!(lines[0].note, None);
    assert!(lines[1].note.as_ref().unwrap().contains("skips this time"));
    assert_eq!(lines[2].note, None);
    let schedule = Schedule::parse("30 1 * * *", "America/New_York").unwrap();
    let lines = schedule.upcoming("2026-10-31T12:00:00Z".parse().unwrap(), 2);
    assert!(lines[0].note.as_ref().unwrap().contains("first time only"));
    assert!(lines[1].note.as_ref().unwrap().contains("from UTC-04 to UTC-05"), "{:?}", lines[1].note);
}

#[test]
fn zones_are_checked_and_spelt_right() {
    assert_eq!(zone_name("america/new_york").unwrap(), "America/New_York");
    for wrong in ["", "Mars/Olympus", "EST5EDT,M3.2.0,M11.1.0", "../etc/passwd", "Etc/Unknown", "+02:00"] {
        assert_eq!(zone_name(wrong).unwrap_err().errors[0].field, "timezone", "{wrong}");
    }
    assert!(zone_name(&"x".repeat(10_000)).unwrap_err().detail.len() < 200);
}

/// Over years and zones: strictly later each time, never the same local time of day twice, never a day without.
#[test]
fn a_daily_time_fires_once_on_every_day_of_twelve_years() {
    for zone in ["America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"] {
        for time in ["30 1 * * *", "15 2 * * *", "0 0 * * *", "59 23 * * *"] {
            let schedule = Schedule::parse(time, zone).unwrap();
            let mut at: Timestamp = "2024-01-01T12:00:00Z".parse().unwrap();
            let mut day = None;
            for _ in 0..(12 * 365) {
                let next = schedule.next(at).unwrap();
                assert!(next > at);
                let moment = Moment::from_microsecond(next.micros()).unwrap();
                let date = schedule.zone.to_datetime(moment).date();
                if let Some(day) = day {
                    assert_eq!(date, jiff::civil::Date::tomorrow(day).unwrap(), "{time} in {zone}");
                }
                (at, day) = (next, Some(date));
            }
        }
    }
}

/// Asking from any moment gives the same times as walking from one to the next.
#[test]
fn the_next_time_does_not_depend_on_where_one_asks_from() {
    for (cron, zone) in [
        ("*/20 * * * *", "America/New_York"),
        ("30 1,2,3 * * *", "America/New_York"),
        ("10,40 1,2 * * *", "Australia/Lord_Howe"),
        ("*/10 * * * *", "Australia/Lord_Howe"),
    ] {
        let schedule = Schedule::parse(cron, zone).unwrap();
        for start in
            ["2026-03-07T12:00:00Z", "2026-04-04T00:00:00Z", "2026-10-03T00:00:00Z", "2026-10-31T12:00:00Z"]
        {
            let start: Timestamp = start.parse().unwrap();
            let mut next = schedule.next(start).unwrap();
            for minute in 0..(48 * 60) {
                let asked = start.plus_secs(minute * 60 + 30);
                if asked >= next {
                    next = schedule.next(next).unwrap();
                }
                assert_eq!(schedule.next(asked), Some(next), "{cron} in {zone} at {asked}");
            }
        }
    }
}
