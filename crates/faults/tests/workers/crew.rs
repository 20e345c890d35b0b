//! The workers, and what their commands wrote outside of the database.

use crate::{Ground, scope};
use leasehold_queue::params::NewJob;
use leasehold_types::view::{Definition, JobDetail};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;
use std::{
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

pub struct Member(Child);

impl Member {
    pub fn start(ground: &Ground, lease: Duration) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_fault-worker"))
            .arg(&ground.url)
            .arg(ground.folder.path())
            .arg(lease.as_secs().to_string())
            .stdin(Stdio::piped())
            .spawn()
            .expect("the worker starts");
        Self(child)
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.pid()).unwrap()), signal).unwrap();
    }

    /// `kill -9`, and the body removed.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command that has begun, as the ledger tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    pub job: i64,
    pub attempt: i32,
    pub pid: i32,
    pub worker: u32,
}

pub struct Ledger {
    pub starts: Vec<Start>,
    pub ends: Vec<(i64, i32)>,
}

impl Ledger {
    pub fn read(ground: &Ground) -> Self {
        let text = std::fs::read_to_string(ground.ledger()).unwrap_or_default();
        let mut ledger = Self { starts: Vec::new(), ends: Vec::new() };
        for line in text.lines() {
            let words: Vec<_> = line.split(' ').collect();
            match words.as_slice() {
                ["start", job, attempt, pid, worker] => ledger.starts.push(Start {
                    job: job.parse().unwrap(),
                    attempt: attempt.parse().unwrap(),
                    pid: pid.parse().unwrap(),
                    worker: worker.parse().unwrap(),
                }),
                ["end", job, attempt] => ledger.ends.push((job.parse().unwrap(), attempt.parse().unwrap())),
                other => panic!("a torn ledger line: {other:?}"),
            }
        }
        ledger
    }

    /// What a worker has begun and not ended.
    pub fn open_of(&self, worker: u32) -> Vec<Start> {
        let open = |s: &&Start| s.worker == worker && !self.ends.contains(&(s.job, s.attempt));
        self.starts.iter().filter(open).cloned().collect()
    }
}

/// Waits until a worker has told the database what it can run.
pub async fn definition(ground: &Ground, key: &str) -> Definition {
    let began = Instant::now();
    loop {
        let known = ground.store.definitions().await.unwrap_or_default();
        if let Some(found) = known.into_iter().find(|d| d.key == key) {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "no worker came up");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

pub async fn enqueue(ground: &Ground, definition: &Definition, payload: Value, n: usize) -> Vec<i64> {
    let job = || NewJob {
        definition_id: Some(definition.id),
        max_attempts: 100,
        requested_by: "faults".into(),
        ..NewJob::new(ground.tenant, &definition.domain, &definition.job_type, payload.clone())
    };
    let jobs = (0..n).map(|_| job()).collect();
    let made = ground.store.create_jobs(&scope(), jobs).await.unwrap();
    made.into_iter().map(|job| job.unwrap().number).collect()
}

pub async fn job(ground: &Ground, number: i64) -> JobDetail {
    let named = leasehold_types::JobRef::Number(number);
    ground.store.job(&scope(), named, 500).await.unwrap().unwrap()
}

/// Whether a process of that id exists (a zombie does not count).
pub fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
