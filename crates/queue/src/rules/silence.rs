//! Workers nobody hears of, and what that means for the jobs they hold.

use leasehold_types::{
    Timestamp,
    duration::whole_seconds,
    view::{Silence, WorkerView},
};
use std::time::Duration;

/// Three beats of five seconds.
pub const SILENT_AFTER: Duration = Duration::from_secs(15);
/// Then its row is removed.
pub const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);

pub fn is_silent(last_seen_at: Timestamp, now: Timestamp) -> bool {
    last_seen_at < now.minus(SILENT_AFTER)
}

/// Who holds a running job, and what happens should the lease run out.
#[derive(Clone, PartialEq, Debug)]
pub struct Hold {
    /// None: the worker is not known any more.
    pub last_seen_at: Option<Timestamp>,
    pub acquired_at: Timestamp,
    pub leased_until: Timestamp,
    pub cancel_requested: bool,
    /// Executions since the budget was last renewed, this one included.
    pub attempts_used: i32,
    pub max_attempts: i32,
}

/// Says when the worker of a running job is not heard of, and what becomes of the job.
pub fn of_job(hold: &Hold, now: Timestamp) -> Option<Silence> {
    let since = hold.last_seen_at.map_or(hold.acquired_at, |seen| seen.max(hold.acquired_at));
    if !is_silent(since, now) {
        return None;
    }
    let then = if hold.cancel_requested {
        "the job is cancelled"
    } else if hold.attempts_used >= hold.max_attempts {
        "the job ends as a dead letter: this is its last attempt"
    } else {
        "the job runs again"
    };
    let (seconds, left) = (whole(since, now), whole(now, hold.leased_until));
    let (silent, ends_in) = (whole_seconds(seconds), whole_seconds(left));
    let text = match left {
        0 => format!("No sign of life for {silent}; its lease has ended, {then}."),
        _ => format!("No sign of life for {silent}; its lease ends in {ends_in}, then {then}."),
    };
    Some(Silence { since, seconds, lease_left_seconds: Some(left), text })
}

/// The jobs a worker holds under leases that have not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leases {
    pub jobs: i32,
    pub last_ends_at: Option<Timestamp>,
}

/// A row of the list of workers, completed. A worker of this installation's own processes says itself how many jobs it
/// runs; for one over HTTP, and for one nobody hears of, its leases say it.
pub fn shown(worker: WorkerView, leases: Leases, counts_itself: bool, now: Timestamp) -> WorkerView {
    let silent = of_worker(worker.last_seen_at, leases, now);
    let stale = silent.is_some();
    let running_count = if counts_itself && !stale { worker.running_count } else { leases.jobs };
    WorkerView { running_count, stale, silent, ..worker }
}

fn of_worker(since: Timestamp, leases: Leases, now: Timestamp) -> Option<Silence> {
    if !is_silent(since, now) {
        return None;
    }
    let seconds = whole(since, now);
    let left = leases.last_ends_at.map(|at| whole(now, at));
    let silent = whole_seconds(seconds);
    let text = match (leases.jobs, left.map(whole_seconds)) {
        (1, Some(left)) => {
            format!("No sign of life for {silent}; its lease ends in {left}, then its job runs again.")
        }
        (jobs, Some(left)) => {
            format!(
                "No sign of life for {silent}; its {jobs} leases end within {left}, then its jobs run again."
            )
        }
        (_, None) => format!("No sign of life for {silent}; it holds no job."),
    };
    Some(Silence { since, seconds, lease_left_seconds: left, text })
}

/// Whole seconds between two moments, none when the second is the earlier.
fn whole(from: Timestamp, until: Timestamp) -> i64 {
    until.seconds_since(from).max(0.0).ceil() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_secs(1_000);

    fn hold() -> Hold {
        Hold {
            last_seen_at: Some(NOW.plus_secs(-25)),
            acquired_at: NOW.plus_secs(-300),
            leased_until: NOW.plus_secs(35),
            cancel_requested: false,
            attempts_used: 1,
            max_attempts: 3,
        }
    }

    fn text(hold: Hold) -> Option<String> {
        of_job(&hold, NOW).map(|silence| silence.text)
    }

    #[test]
    fn a_job_of_a_silent_worker_says_when_it_runs_again() {
        let silence = of_job(&hold(), NOW).unwrap();
        let words = "No sign of life for 25 s; its lease ends in 35 s, then the job runs again.";
        assert_eq!(
            (silence.text.as_str(), silence.seconds, silence.lease_left_seconds),
            (words, 25, Some(35))
        );
        let asked = text(Hold { cancel_requested: true, ..hold() }).unwrap();
        assert!(asked.ends_with("then the job is cancelled."), "{asked}");
        let last = text(Hold { attempts_used: 3, ..hold() }).unwrap();
        assert!(last.contains("dead letter"), "{last}");
        let over = text(Hold { leased_until: NOW, ..hold() }).unwrap();
        assert!(over.contains("its lease has ended, the job runs again"), "{over}");
    }

    #[test]
    fn a_worker_that_is_heard_of_or_has_just_begun_is_not_silent() {
        assert_eq!(text(Hold { last_seen_at: Some(NOW.plus_secs(-15)), ..hold() }), None);
        assert_eq!(text(Hold { last_seen_at: None, acquired_at: NOW.plus_secs(-3), ..hold() }), None);
        assert!(text(Hold { last_seen_at: None, ..hold() }).is_some(), "nobody knows it any more");
    }

    fn worker(seen: i64) -> WorkerView {
        WorkerView {
            worker_id: "w".into(),
            hostname: "w".into(),
            version: String::new(),
            queues: vec![],
            commands: vec![],
            running_count: 7,
            started_at: NOW,
            last_seen_at: NOW.plus_secs(-seen),
            metadata: json!({}),
            stale: false,
            silent: None,
        }
    }

    #[test]
    fn a_silent_worker_runs_what_its_leases_say() {
        let two = Leases { jobs: 2, last_ends_at: Some(NOW.plus_secs(35)) };
        assert_eq!(shown(worker(5), two, true, NOW).running_count, 7);
        assert_eq!(shown(worker(5), two, false, NOW).running_count, 2);
        let silent = shown(worker(25), two, true, NOW);
        assert_eq!((silent.running_count, silent.stale), (2, true));
        let words = "No sign of life for 25 s; its 2 leases end within 35 s, then its jobs run again.";
        assert_eq!(silent.silent.unwrap().text, words);
        let idle = shown(worker(25), Leases::default(), true, NOW);
        assert_eq!((idle.running_count, idle.silent.unwrap().lease_left_seconds), (0, None));
    }
}
