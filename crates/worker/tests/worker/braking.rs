//! A kind of job that fails too often runs fewer at a time, and comes back.

use crate::house::House;
use leasehold_queue::{params::ClaimedJob, transition::Failure};
use leasehold_types::JobStatus;
use leasehold_worker::{Ctx, Executor, Outcome, PoolConfig, Registry};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

const BOOK: &str = r#"
[commands.moody]
program = "/bin/true"
max_attempts = 1
[commands.calm]
program = "/bin/true"
max_attempts = 1
"#;

/// Fails when it is in the mood, and counts how many of it run at a time.
#[derive(Default)]
struct Moody {
    fails: AtomicBool,
    running: AtomicUsize,
    peak: AtomicUsize,
}

#[async_trait::async_trait]
impl Executor for Moody {
    async fn run(&self, _: &ClaimedJob, _: &Ctx) -> Outcome {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(running, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(60)).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        match self.fails.load(Ordering::SeqCst) {
            true => Outcome::failed(Failure { message: "a mood".into(), ..Failure::default() }),
            false => Outcome::completed(None),
        }
    }
}

async fn run_all(house: &House, key: &str, n: usize) -> Vec<JobStatus> {
    let mut numbers = Vec::new();
    for _ in 0..n {
        numbers.push(house.enqueue(key, json!({})).await);
    }
    let mut statuses = Vec::new();
    for number in numbers {
        statuses.push(house.finished(number).await.row.status);
    }
    statuses
}

/// Waits until the worker tells of itself what is expected.
async fn until_reduced(house: &House, wanted: impl Fn(&Value) -> bool) -> Value {
    let looking = async {
        loop {
            let workers = house.engine.store().workers(10).await.unwrap().workers;
            let reduced =
                workers.first().map(|worker| worker.metadata["reduced"].clone()).unwrap_or_default();
            if wanted(&reduced) {
                return reduced;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looking).await.expect("the worker tells of it")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_fails_runs_fewer_at_a_time_and_comes_back() {
    let house = House::with_commands(BOOK).await;
    let (moody, calm) = (Arc::new(Moody::default()), Arc::new(Moody::default()));
    let mut registry = Registry::default();
    registry.register("commands", "moody", moody.clone());
    registry.register("commands", "calm", calm.clone());
    let beat = Duration::from_millis(50);
    let worker =
        house.start_with(registry, PoolConfig { concurrency: 8, heartbeat: beat, ..House::config() });
    until_reduced(&house, |reduced| *reduced == json!([])).await;

    moody.fails.store(true, Ordering::SeqCst);
    let failed = run_all(&house, "moody", 30).await;
    assert!(failed.iter().all(|status| *status == JobStatus::DeadLetter), "{failed:?}");
    let expected = json!([{"domain": "commands", "job_type": "moody", "to": 2, "of": 8}]);
    assert_eq!(until_reduced(&house, |reduced| *reduced == expected).await, expected);

    moody.fails.store(false, Ordering::SeqCst);
    moody.peak.store(0, Ordering::SeqCst);
    let (few, many) = tokio::join!(run_all(&house, "moody", 8), run_all(&house, "calm", 24));
    assert!(few.iter().chain(&many).all(|status| *status == JobStatus::Completed));
    assert!(moody.peak.load(Ordering::SeqCst) <= 2, "no more than its cap");
    assert!(calm.peak.load(Ordering::SeqCst) > 2, "other kinds are not held up");

    run_all(&house, "moody", 80).await;
    until_reduced(&house, |reduced| *reduced == json!([])).await;
    worker.stop().await;
}
