//! What a burst of jobs leaves behind in memory: it is given back, and the next burst needs no more than the first.

mod common;

use common::{House, Serving, remote::new_key};
use serde_json::{Value, json};
use std::{
    thread::sleep,
    time::{Duration, Instant},
};

const CALLS: usize = 8;
const JOBS_PER_CALL: usize = 1_000;
/// For a machine with much else to do; nothing is measured against it.
const PATIENCE: Duration = Duration::from_secs(240);

struct Loaded {
    server: Serving,
    key: String,
}

impl Loaded {
    /// What is the process's own, in KiB.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    fn unfinished(&self) -> i64 {
        let answer = self.server.get("/api/v1/jobs/summary", &[("x-api-key", &self.key)]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let counts: Value = serde_json::from_str(&answer.body).unwrap();
        ["ready", "scheduled", "running"].iter().map(|state| counts[*state].as_i64().unwrap()).sum()
    }

    /// Enqueues and runs as many jobs as every time; the memory afterwards.
    fn burst(&self) -> u64 {
        let job = json!({"definition_key": "leasehold.noop", "payload": {"text": "x".repeat(200)}});
        let body = json!({"jobs": vec![job; JOBS_PER_CALL]}).to_string();
        let headers = [("x-api-key", self.key.as_str()), ("content-type", "application/json")];
        for _ in 0..CALLS {
            let answer = self.server.request("POST", "/api/v1/jobs/bulk", &headers, &body);
            assert_eq!(answer.status, 201, "{}", answer.body);
        }
        wait("the jobs have run", || self.unfinished() == 0);
        self.memory()
    }
}

fn wait(what: &str, happened: impl Fn() -> bool) {
    let begin = Instant::now();
    while !happened() {
        assert!(begin.elapsed() < PATIENCE, "it never came to that: {what}");
        sleep(Duration::from_millis(500));
    }
}

#[test]
fn a_burst_gives_its_memory_back_and_the_next_needs_no_more() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let key = new_key(&house, "acme", "admin");
    let loaded = Loaded { server: house.serve(&[]), key };
    assert_eq!(loaded.unfinished(), 0);
    let idle = loaded.memory();
    let first = loaded.burst();
    assert!(first > idle + 8 * 1024, "the burst is large enough to be seen: {idle} to {first} KiB");
    // Of what came, two thirds go again; the rest is caches of a size of their own.
    let rested = idle + (first - idle) / 3;
    wait(&format!("from {first} below {rested} KiB, {idle} when idle"), || loaded.memory() < rested);
    let second = loaded.burst();
    assert!(second < first + first / 4, "{first} KiB after one burst, {second} after two");
    wait(&format!("from {second} below {rested} KiB again"), || loaded.memory() < rested);
}
