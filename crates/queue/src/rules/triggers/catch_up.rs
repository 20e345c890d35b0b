//! What fires now: times that have just come, and what the policy makes of those nobody looked at in time.

use super::schedule::Schedule;
use leasehold_types::{CatchUp, Timestamp};

/// A time due is on time for so long; after that it was missed.
const ON_TIME_SECONDS: i64 = 60;
/// Missed times that fire one by one.
pub const MOST_CAUGHT_UP: usize = 100;
const FIRST_LOOK_BACK: i64 = 3_600;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Due {
    /// Oldest first.
    pub fire: Vec<Timestamp>,
    /// The newest time that is dropped; there may be older ones.
    pub dropped: Option<Timestamp>,
    pub next: Option<Timestamp>,
}

/// `first` is the oldest time that has not been dealt with.
pub fn due(schedule: &Schedule, policy: CatchUp, first: Timestamp, now: Timestamp) -> Due {
    let mut times = newest(schedule, first, now, MOST_CAUGHT_UP + 1);
    let older = (times.len() > MOST_CAUGHT_UP).then(|| times.remove(0));
    let missed = times.partition_point(|at| *at < now.plus_secs(-ON_TIME_SECONDS));
    let kept_from = match policy {
        CatchUp::All => 0,
        CatchUp::Once if missed == times.len() => missed.saturating_sub(1),
        // What is on time stands for what was missed.
        CatchUp::Once | CatchUp::Skip => missed,
    };
    let fire = times.split_off(kept_from);
    Due { fire, dropped: times.pop().or(older), next: schedule.next(now) }
}

/// At least the newest `n` times from `first` to `now`, oldest first, cut to `n`. Looks back further and further, so
/// that a year of minutes costs no more than a year of months.
fn newest(schedule: &Schedule, first: Timestamp, now: Timestamp, n: usize) -> Vec<Timestamp> {
    let mut look_back = FIRST_LOOK_BACK;
    loop {
        let start = now.plus_secs(-look_back).max(first);
        let before_start = Timestamp::from_micros(start.micros() - 1);
        let times = std::iter::successors(schedule.next(before_start), |at| schedule.next(*at));
        let mut times: Vec<_> = times.take_while(|at| *at <= now).collect();
        if start == first || times.len() >= n {
            return times.split_off(times.len().saturating_sub(n));
        }
        look_back *= 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cron: &str, policy: CatchUp, first: &str, now: &str) -> (Vec<String>, Option<String>, String) {
        let schedule = Schedule::parse(cron, "UTC").unwrap();
        let due = due(&schedule, policy, first.parse().unwrap(), now.parse().unwrap());
        let short = |at: Timestamp| at.to_string()[5..16].to_owned();
        (due.fire.into_iter().map(short).collect(), due.dropped.map(short), short(due.next.unwrap()))
    }

    #[test]
    fn on_time_every_policy_fires() {
        for policy in [CatchUp::Skip, CatchUp::Once, CatchUp::All] {
            let now = run("0 2 * * *", policy, "2026-01-05T02:00:00Z", "2026-01-05T02:00:00Z");
            assert_eq!(now, (vec!["01-05T02:00".into()], None, "01-06T02:00".into()));
            let a_slow_look = run("* * * * *", policy, "2026-01-05T02:00:00Z", "2026-01-05T02:01:00Z");
            assert_eq!(a_slow_look.0, ["01-05T02:00", "01-05T02:01"], "nothing is lost to a slow look");
        }
    }

    #[test]
    fn after_downtime_the_policy_decides() {
        let run = |policy| run("0 2 * * *", policy, "2026-01-05T02:00:00Z", "2026-01-08T12:00:00Z");
        let next = || "01-09T02:00".to_owned();
        assert_eq!(run(CatchUp::Skip), (vec![], Some("01-08T02:00".into()), next()));
        assert_eq!(run(CatchUp::Once), (vec!["01-08T02:00".into()], Some("01-07T02:00".into()), next()));
        let all = ["01-05T02:00", "01-06T02:00", "01-07T02:00", "01-08T02:00"].map(String::from).to_vec();
        assert_eq!(run(CatchUp::All), (all, None, next()));
    }

    #[test]
    fn what_is_on_time_stands_for_what_was_missed() {
        let (fire, dropped, _) =
            run("* * * * *", CatchUp::Once, "2026-01-05T02:00:00Z", "2026-01-05T03:00:30Z");
        assert_eq!((fire, dropped), (vec!["01-05T03:00".into()], Some("01-05T02:59".into())));
    }

    #[test]
    fn one_missed_time_fires_once_and_nothing_is_dropped() {
        let (fire, dropped, _) =
            run("0 2 * * *", CatchUp::Once, "2026-01-05T02:00:00Z", "2026-01-05T09:00:00Z");
        assert_eq!((fire, dropped), (vec!["01-05T02:00".into()], None));
    }

    #[test]
    fn a_year_of_minutes_is_a_hundred_firings_and_quickly_found() {
        let started = std::time::Instant::now();
        let (fire, dropped, next) =
            run("* * * * *", CatchUp::All, "2025-01-05T02:00:00Z", "2026-01-05T02:00:00Z");
        assert_eq!((fire.len(), fire[99].as_str()), (100, "01-05T02:00"));
        assert_eq!((dropped.as_deref(), next.as_str()), (Some("01-05T00:20"), "01-05T02:01"));
        assert!(started.elapsed().as_millis() < 500, "{:?}", started.elapsed());
    }

    #[test]
    fn a_clock_that_went_back_fires_nothing() {
        let (fire, dropped, _) =
            run("0 2 * * *", CatchUp::All, "2026-01-05T02:00:00Z", "2026-01-04T23:00:00Z");
        assert_eq!((fire.len(), dropped), (0, None));
    }
}
