//! Timeouts, cancellations, lost leases, shutdowns: whatever ends a command ends everything it started.

use crate::house::{House, eventually, lives, number_in};
use leasehold_queue::params::ClaimedJob;
use leasehold_types::{AttemptOutcome, JobStatus};
use leasehold_worker::{Ctx, Executor, Outcome, Registry};
use serde_json::json;
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

/// A program that ignores SIGTERM, with a child in its group and a grandchild in a session of its own; each writes
/// its process id into the folder it is given.
const STUBBORN: &str = r#"
[commands.stubborn]
program = "/bin/sh"
args = ["-c", '''
trap "" TERM
sleep 300 & echo $! > "$1/child.new"; mv "$1/child.new" "$1/child"
setsid sh -c 'echo $$ > "$0/escaped.new"; mv "$0/escaped.new" "$0/escaped"; exec sleep 300' "$1" &
echo $$ > "$1/self.new"; mv "$1/self.new" "$1/self"
wait; wait; sleep 300
''', "stubborn", "{{payload.folder}}"]
env = { inherit = ["PATH"] }
timeout_seconds = TIMEOUT
grace_seconds = 1
max_attempts = 1
schema = { required = ["folder"], properties = { folder = { type = "string" } } }

[commands.polite]
program = "/bin/sleep"
args = ["300"]
"#;

async fn house(timeout: &str) -> House {
    House::with_commands(&STUBBORN.replace("TIMEOUT", timeout)).await
}

/// Starts the stubborn program and waits until the whole family lives.
async fn family(house: &House) -> (i64, Vec<i32>) {
    let folder: PathBuf = house.folder.path().into();
    let number = house.enqueue("stubborn", json!({"folder": folder})).await;
    let mut pids = Vec::new();
    for name in ["self", "child", "escaped"] {
        pids.push(number_in(&folder.join(name)).await);
    }
    assert!(pids.iter().all(|pid| lives(*pid)), "{pids:?}");
    (number, pids)
}

async fn all_gone(pids: &[i32]) {
    eventually("the end of the whole family", || pids.iter().all(|pid| !lives(*pid))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_ends_grandchildren_too() {
    let house = house("2").await;
    let worker = house.start(House::config());
    let (number, pids) = family(&house).await;
    let job = house.finished(number).await;
    assert_eq!(job.row.status, JobStatus::DeadLetter);
    assert_eq!(job.attempts[0].outcome, AttemptOutcome::Timeout);
    assert_eq!(job.row.error_code.as_deref(), Some("timeout"));
    assert_eq!(job.attempts[0].pid, Some(pids[0]), "the attempt shows the program's own process id");
    all_gone(&pids).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_is_honoured_soon() {
    let house = house("300").await;
    let worker = house.start(House::config());
    let began = Instant::now();
    let number = house.enqueue("polite", json!({})).await;
    house.until(number, |job| job.attempts.last().is_some_and(|attempt| attempt.pid.is_some())).await;
    // On a machine that is busy, starting takes its time as well.
    let started = began.elapsed();
    let asked = Instant::now();
    house.cancel(number).await;
    let job = house.finished(number).await;
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(2).max(started * 10), "{took:?}, starting took {started:?}");
    assert_eq!(job.row.status, JobStatus::Cancelled);
    assert_eq!(job.attempts[0].outcome, AttemptOutcome::Cancelled);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_ignores_a_cancellation_is_killed_after_its_grace() {
    let house = house("300").await;
    let worker = house.start(House::config());
    let (number, pids) = family(&house).await;
    house.cancel(number).await;
    assert_eq!(house.finished(number).await.row.status, JobStatus::Cancelled);
    all_gone(&pids).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_hands_running_jobs_back_without_costing_an_attempt() {
    let house = house("300").await;
    let worker = house.start(House::config());
    let (number, pids) = family(&house).await;
    worker.stop().await;
    all_gone(&pids).await;
    let job = house.job(number).await;
    assert_eq!(job.row.status, JobStatus::Queued);
    assert_eq!(job.attempts[0].outcome, AttemptOutcome::Released);
    assert!(house.engine.claims_frozen(), "an ending process takes nothing new");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_kills_at_once_and_its_result_is_dropped() {
    let house = house("300").await;
    let mut config = House::config();
    config.lease = Duration::from_secs(30);
    config.renewal.every = Duration::from_secs(1);
    let worker = house.start(config);
    let (number, pids) = family(&house).await;
    // Another hand takes the job away: as if this worker had not been heard of for too long.
    take_away(&house, number).await;
    all_gone(&pids).await;
    let job = house.job(number).await;
    assert_eq!(job.attempts[0].outcome, AttemptOutcome::Lost, "{:?}", job.row);
    worker.stop().await;
}

/// Moves the lease into the past behind the worker's back and has it reclaimed.
async fn take_away(house: &House, number: i64) {
    let url = format!("sqlite:{}", house.folder.path().join("jobs.db").display());
    let clock = leasehold_queue::Clock::system();
    clock.freeze(house.engine.now().plus_secs(600));
    let later = leasehold_store_sqlite::SqliteStore::connect(&url, clock, Default::default()).await.unwrap();
    let lost =
        leasehold_queue::ReclaimLeases::reclaim_expired(later.as_ref(), &house.engine.config().rules, 10)
            .await
            .unwrap();
    assert_eq!(lost[0].number, number);
}

/// A handler with a bug.
struct Panics;

#[async_trait::async_trait]
impl Executor for Panics {
    async fn run(&self, job: &ClaimedJob, _: &Ctx) -> Outcome {
        panic!("nobody thought of {}", job.job_type)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_an_outcome_and_the_pool_goes_on() {
    let house = house("300").await;
    let mut registry = Registry::default();
    registry.register("commands", "polite", Arc::new(Panics));
    let worker = house.start_with(registry, House::config());
    for _ in 0..2 {
        let job = house.finished(house.enqueue("polite", json!({})).await).await;
        assert_eq!(job.row.status, JobStatus::Failed);
        assert_eq!(job.error_class.as_deref(), Some("internal_bug"));
        assert_eq!(job.error_message.as_deref(), Some("The handler panicked: nobody thought of polite"));
    }
    worker.stop().await;
}
