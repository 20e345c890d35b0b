//! A worker frozen beyond its lease while its command runs on: whatever it says afterwards comes too late.

use crate::{
    Ground,
    crew::{Ledger, Member, definition, enqueue, job},
};
use leasehold_types::{AttemptOutcome, JobStatus, view::JobDetail};
use nix::sys::signal::Signal;
use serde_json::json;
use std::time::{Duration, Instant};

/// Half of what the command takes: the heir begins while it still runs.
const LEASE: Duration = Duration::from_secs(4);

pub async fn ordeal(ground: Ground) {
    let sleeper = Member::start(&ground, LEASE);
    let linger = definition(&ground, "linger").await;
    let number = enqueue(&ground, &linger, json!({}), 1).await[0];
    until(&ground, number, |job| says(job, 1, "early words of attempt 1")).await;
    assert_eq!(Ledger::read(&ground).starts[0].worker, sleeper.pid());
    sleeper.signal(Signal::SIGSTOP);
    // Its command runs on and has its say; nobody listens until the worker wakes up.
    let _heir = Member::start(&ground, LEASE);
    until(&ground, number, |job| says(job, 2, "early words of attempt 2")).await;
    let began = Instant::now();
    while !Ledger::read(&ground).ends.contains(&(number, 1)) {
        assert!(began.elapsed() < Duration::from_secs(30), "the frozen worker's command must end by itself");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    sleeper.signal(Signal::SIGCONT);
    let done = until(&ground, number, |job| job.row.status.is_finished()).await;
    // Time enough for whatever the sleeper still wants to say.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let job = job(&ground, number).await;
    assert_eq!((job.row.status, job.attempts[0].outcome), (JobStatus::Completed, AttemptOutcome::Lost));
    let done_by: Vec<_> =
        job.attempts.iter().filter(|a| a.outcome == AttemptOutcome::Succeeded).map(|a| a.attempt).collect();
    let [attempt] = done_by[..] else { panic!("one completion, not {done_by:?}") };
    assert!(attempt > 1, "a late completion is refused");
    assert_eq!(job.result, Some(json!({ "attempt": attempt })));
    assert_eq!(job.row.progress_message, done.row.progress_message, "late progress is refused");
    assert_eq!(job.row.progress_message, Some(format!("late-{attempt}")));
    assert!(
        !says(&job, 1, "late words of attempt 1"),
        "late log lines are refused: {:?}",
        job.attempts[0].logs
    );
    assert!(says(&job, attempt, &format!("late words of attempt {attempt}")));
}

fn says(job: &JobDetail, attempt: i32, words: &str) -> bool {
    let attempt = job.attempts.iter().find(|a| a.attempt == attempt);
    attempt.is_some_and(|a| a.logs.iter().any(|line| line.text == words))
}

async fn until(ground: &Ground, number: i64, wanted: impl Fn(&JobDetail) -> bool) -> JobDetail {
    let began = Instant::now();
    loop {
        let now = job(ground, number).await;
        if wanted(&now) {
            return now;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it never came to that: {now:#?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
