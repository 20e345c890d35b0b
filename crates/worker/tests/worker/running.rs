//! Commands, run by a real pool on a real store.

use crate::house::{House, lines};
use leasehold_queue::engine::EnqueueRequest;
use leasehold_types::{AttemptOutcome, JobStatus, LogStream, Source};
use leasehold_worker::PoolConfig;
use serde_json::json;
use std::time::Duration;

const BOOK: &str = r#"
[commands.greet]
program = "/bin/sh"
args = ["-c", 'echo "hello $1"; echo "password=hunter2" >&2; env; echo "::progress stage=talking percent=30 message=so far"; echo "::result {\"said\": \"$1\"}"', "greet", "name={{payload.name}}"]
env = { inherit = ["PATH"], WHO = "{{tenant.slug}}" }
stages = [{ name = "talking", from = 10, to = 90 }]
schema = { required = ["name"], additionalProperties = false, properties = { name = { type = "string" } } }

[commands.fail]
program = "/bin/sh"
args = ["-c", "echo one >&2; echo two >&2; exit 3"]
max_attempts = 2
retry = { base_seconds = 0, cap_seconds = 0, jitter = "none" }

[commands.give-up]
program = "/bin/sh"
args = ["-c", "echo '::error code=source_gone class=rate_limited retryable=false message=The source is gone'; exit 1"]

[commands.too-much]
program = "/bin/sh"
args = ["-c", "echo before; head -c 2000000 /dev/zero | tr '\\0' y | sed 's/^/::result \"/; s/$/\"/'; echo; echo after"]

[commands.missing]
program = "/nowhere/at/all"
max_attempts = 1
"#;

/// Looking for jobs once a minute would take minutes for these.
#[tokio::test(flavor = "multi_thread")]
async fn a_place_freed_under_a_limit_is_taken_at_once() {
    let house = House::with_commands(BOOK).await;
    house.limit_tenant(1).await;
    let mut numbers = Vec::new();
    for name in ["a", "b", "c", "d"] {
        numbers.push(house.enqueue("greet", json!({ "name": name })).await);
    }
    let worker = house.start(PoolConfig { poll: Duration::from_secs(60), ..House::config() });
    for number in numbers {
        assert_eq!(house.finished(number).await.row.status, JobStatus::Completed);
    }
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_bound_to_a_queue_takes_nothing_else() {
    let house = House::with_commands(BOOK).await;
    let mut numbers = Vec::new();
    // What it must leave alone comes first and is more urgent.
    for (queue, priority) in [("low", 1), ("high", 900)] {
        let request = EnqueueRequest {
            queue: Some(queue.into()),
            priority: Some(priority),
            ..EnqueueRequest::new("greet", json!({"name": queue}), Source::Manual)
        };
        numbers.push(house.engine.enqueue(&house.scope, house.tenant, request).await.unwrap().job.number);
    }
    let worker = house.start(PoolConfig { queues: vec!["high".into()], ..House::config() });
    assert_eq!(house.finished(numbers[1]).await.row.status, JobStatus::Completed);
    assert_eq!(house.job(numbers[0]).await.row.status, JobStatus::Queued);
    let workers = house.engine.store().workers(10).await.unwrap().workers;
    assert!(workers[0].queues.iter().all(|queue| queue.ends_with("/high")), "{:?}", workers[0].queues);
    // Stopping one would shut the claims of this whole process.
    let other = house.start(PoolConfig { domains: vec!["elsewhere".into()], ..House::config() });
    let all = house.start(House::config());
    assert_eq!(house.finished(numbers[0]).await.attempts[0].worker_id, all.id);
    worker.stop().await;
    other.stop().await;
    all.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_completes_with_log_progress_and_result() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let number = house.enqueue("greet", json!({"name": "a b; exit 9"})).await;
    let job = house.finished(number).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{job:#?}");
    assert_eq!(job.result, Some(json!({"said": "name=a b; exit 9"})));
    assert_eq!((job.row.progress, job.row.progress_message.as_deref()), (100, Some("so far")));
    let attempt = &job.attempts[0];
    assert_eq!((attempt.outcome, attempt.exit_code), (AttemptOutcome::Succeeded, Some(0)));
    assert!(attempt.pid.is_some_and(|pid| pid > 0));
    assert_eq!(attempt.worker_id, worker.id);
    let said = lines(attempt, LogStream::Stdout);
    assert_eq!(said[0], "hello name=a b; exit 9");
    assert_eq!(lines(attempt, LogStream::Stderr), ["password=***REDACTED***"]);
    assert_eq!(attempt.stderr_tail.as_deref(), Some("password=***REDACTED***\n"));
    let mut names: Vec<_> =
        said[1..].iter().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.retain(|name| !matches!(*name, "PWD" | "_" | "OLDPWD" | "SHLVL"));
    assert_eq!(names, ["PATH", "WHO"], "the environment is empty but for what the book allows");
    worker.stop().await;
    assert!(house.engine.store().workers(10).await.unwrap().workers.is_empty(), "it said good-bye");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_is_too_large_fails_the_job_and_is_not_tried_again() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let job = house.finished(house.enqueue("too-much", json!({})).await).await;
    assert_eq!(
        (job.row.status, job.row.error_code.as_deref()),
        (JobStatus::Failed, Some("result_too_large"))
    );
    let message = job.error_message.unwrap_or_default();
    assert!(message.contains("1048576 bytes"), "{message}");
    assert_eq!((job.result, job.attempts.len()), (None, 1));
    assert_eq!(lines(&job.attempts[0], LogStream::Stdout), ["before", "after"]);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_command_is_retried_and_then_given_up() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let job = house.finished(house.enqueue("fail", json!({})).await).await;
    assert_eq!(job.row.status, JobStatus::DeadLetter);
    assert_eq!(job.attempts.len(), 2);
    assert_eq!(job.row.error_code.as_deref(), Some("exit_3"));
    assert_eq!(job.error_class.as_deref(), Some("command_failed"));
    assert_eq!(job.error_message.as_deref(), Some("two"));
    assert!(job.attempts.iter().all(|attempt| attempt.exit_code == Some(3)));
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_may_name_its_failure_and_forbid_a_retry() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let job = house.finished(house.enqueue("give-up", json!({})).await).await;
    assert_eq!((job.row.status, job.attempts.len()), (JobStatus::Failed, 1));
    assert_eq!(job.row.error_code.as_deref(), Some("source_gone"));
    assert_eq!(job.error_message.as_deref(), Some("The source is gone"));
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_there_is_a_plain_failure() {
    let house = House::with_commands(BOOK).await;
    let worker = house.start(House::config());
    let job = house.finished(house.enqueue("missing", json!({})).await).await;
    assert_eq!(job.row.status, JobStatus::DeadLetter);
    assert_eq!(job.row.error_code.as_deref(), Some("spawn_failed"));
    assert!(job.error_message.unwrap().contains("No such file"));
    worker.stop().await;
}
