//! A program that prints without end costs bounded memory. In a process of its own, because memory is measured.

#[expect(dead_code, reason = "the other tests use the rest of the house")]
#[path = "worker/house.rs"]
mod house;

use house::House;
use leasehold_types::{JobStatus, LogStream};
use serde_json::json;

const BOOK: &str = r#"
[commands.flood]
program = "/bin/sh"
args = ["-c", "yes 'a rather ordinary line of output' | head -c 200000000; printf '\\ndone\\n'"]
timeout_seconds = 120
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_output_stays_bounded() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let before = peak_memory();
    let job = house.finished(house.enqueue("flood", json!({})).await).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{:?}", job.error_message);
    let attempt = &job.attempts[0];
    assert!(
        attempt.stdout_tail.as_ref().is_some_and(|tail| tail.len() <= 16 * 1024 && tail.ends_with("done\n"))
    );
    let last = attempt.logs.last().unwrap();
    assert!(last.text == "done" && last.seq <= 5_000, "{last:?}");
    let store = house.engine.store();
    let scope = leasehold_queue::Scope::system("test");
    let all =
        store.logs(&scope, leasehold_types::JobRef::Number(job.row.number), 1, 0, 10_000).await.unwrap();
    assert!(all.len() <= 5_000);
    assert!(all.iter().any(|l| l.stream == LogStream::System && l.text.ends_with("lines not kept …")));
    let grown = peak_memory() - before;
    assert!(grown < 64 << 20, "the flood cost {grown} bytes");
    worker.stop().await;
}

/// The most memory this process has ever used.
fn peak_memory() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<i64>().unwrap() * 1024
}
