//! A program that prints a gigabyte, half of it to either stream, costs bounded memory. In a process of its own, because memory is measured.

#[expect(dead_code, reason = "the other tests use the rest of the house")]
#[path = "worker/house.rs"]
mod house;

use house::House;
use leasehold_types::{JobStatus, LogStream};
use serde_json::json;
use std::time::Duration;

const BOOK: &str = r#"
[commands.flood]
program = "/bin/sh"
args = ["-c", "yes 'a rather ordinary line of output, only somewhat longer than most, because it is the bytes that count and not the lines' | head -c 536870912 & yes 'and one of complaint, which is no shorter either, as complaints go, and goes on and on until nobody listens any more' | head -c 536870912 >&2; wait; printf '\\ndone\\n'; printf '\\nalas\\n' >&2"]
timeout_seconds = 300
"#;

/// A gigabyte takes a while where tests run side by side.
const PATIENCE: Duration = Duration::from_secs(280);

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_output_stays_bounded() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let before = peak_memory();
    let number = house.enqueue("flood", json!({})).await;
    let job = house.until_within(PATIENCE, number, |job| job.row.status.is_finished()).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{:?}", job.error_message);
    let attempt = &job.attempts[0];
    for (tail, end) in [(&attempt.stdout_tail, "done\n"), (&attempt.stderr_tail, "alas\n")] {
        assert!(tail.as_ref().is_some_and(|tail| tail.len() <= 16 * 1024 && tail.ends_with(end)), "{tail:?}");
    }
    let last: Vec<_> = attempt.logs.iter().rev().take(4).map(|line| line.text.as_str()).collect();
    assert!(last.contains(&"done") && last.contains(&"alas"), "the end of either stream is kept: {last:?}");
    assert!(attempt.logs.iter().all(|line| line.seq <= 5_000));
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
