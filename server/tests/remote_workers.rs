//! Whole workers over HTTP: the Rust SDK in this process, and the Python example as a stranger would run it.

mod common;

use common::{House, remote::Remote};
use leasehold_sdk::{Error, JobError, Worker, WorkerConfig};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use std::{
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(40);

on_both_databases! {
    the_sdk_works_through_its_jobs,
    the_sdk_hears_of_a_cancellation,
    the_sdk_drops_a_job_whose_lease_it_cannot_keep,
    the_sdk_hands_back_what_it_cannot_finish,
    the_python_example_works_through_its_jobs,
}

/// Looks at the job's page until it says what is expected.
fn until(remote: &Remote, number: i64, word: &str) -> String {
    let began = Instant::now();
    loop {
        let page = remote.page(number);
        if page.contains(word) {
            return page;
        }
        assert!(began.elapsed() < PATIENCE, "“{word}” never stood on the page of job {number}: {page}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn config(remote: &Remote) -> WorkerConfig {
    let config = WorkerConfig::new(format!("http://{}", remote.server.addr), remote.key.clone());
    WorkerConfig { domain: Some("media".into()), concurrency: 2, retry_backoff_seconds: 0, ..config }
}

fn the_sdk_works_through_its_jobs(house: House) {
    let remote = Remote::new(house);
    let good = remote.enqueue("acme", json!({"name": "Ann"}));
    let bad = remote.enqueue("acme", json!({"name": "nobody"}));
    let panicking = remote.enqueue("acme", json!({"name": "panic"}));
    let worker = Worker::new(config(&remote)).unwrap();
    let stop = worker.stop_token();
    let runtime = Runtime::new().unwrap();
    let running = runtime.spawn(async move {
        worker
            .run(|job| async move {
                let name = job.payload()["name"].as_str().unwrap_or_default().to_owned();
                job.log(format!("greeting {name}"));
                job.progress(None, Some(50.0), Some("half way")).await?;
                match name.as_str() {
                    "nobody" => Err(JobError::new("no_such_person", "There is nobody.").permanent()),
                    "panic" if job.claimed().attempt == 1 => panic!("a bug"),
                    _ => Ok(json!({"greeting": format!("Hello, {name}!")})),
                }
            })
            .await
    });
    let page = until(&remote, good, "Completed");
    assert!(
        page.contains("greeting Ann") && page.contains("Hello, Ann!") && page.contains("half way"),
        "{page}"
    );
    let page = until(&remote, bad, "no_such_person");
    assert!(page.contains("Failed"), "{page}");
    let page = until(&remote, panicking, "Completed");
    assert!(page.contains("panic"), "its first attempt ended with the panic: {page}");
    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
}

fn the_sdk_hears_of_a_cancellation(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let worker = Worker::new(config(&remote)).unwrap();
    let stop = worker.stop_token();
    let (started, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let runtime = Runtime::new().unwrap();
    let running = runtime.spawn(async move {
        worker
            .run(move |job| {
                let started = started.clone();
                async move {
                    let _ = started.send(());
                    job.cancelled().await;
                    Err(JobError::new("stopped", "told to stop"))
                }
            })
            .await
    });
    runtime.block_on(begun.recv()).unwrap();
    remote.cancel(number);
    // Its next renewal tells it, the handler returns, and the server judges: cancelled.
    until(&remote, number, "Cancelled");
    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
}

/// Tells when the handler that holds it is dropped.
struct Dropped(tokio::sync::mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

fn the_sdk_drops_a_job_whose_lease_it_cannot_keep(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let short = WorkerConfig {
        lease_seconds: 3,
        renew_threshold_seconds: 1,
        renew_jitter_seconds: 0,
        concurrency: 1,
        ..config(&remote)
    };
    let worker = Worker::new(short).unwrap();
    let stop = worker.stop_token();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let runtime = Runtime::new().unwrap();
    let running = runtime.spawn(async move {
        worker
            .run(move |_| {
                let held = Dropped(tell.clone());
                async move {
                    let _ = held.0.send("begun");
                    std::future::pending().await
                }
            })
            .await
    });
    assert_eq!(runtime.block_on(told.recv()), Some("begun"));
    remote.server.signal(Signal::SIGSTOP);
    let dropped = runtime.block_on(async { tokio::time::timeout(PATIENCE, told.recv()).await });
    stop.cancel();
    remote.server.signal(Signal::SIGCONT);
    assert_eq!(dropped.unwrap(), Some("dropped"), "nobody answers, so somebody else may have it");
    runtime.block_on(running).unwrap().unwrap();
    let next = remote.claim("w2", 30);
    assert_eq!(next.number(), number);
    assert!(next.job["attempt"].as_i64() >= Some(2));
    assert!(remote.page(number).contains("Lost"));
}

fn the_sdk_hands_back_what_it_cannot_finish(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let worker = Worker::new(WorkerConfig { shutdown_seconds: 0, ..config(&remote) }).unwrap();
    let stop = worker.stop_token();
    let runtime = Runtime::new().unwrap();
    let running = runtime.spawn(async move {
        worker
            .run(move |job| async move {
                job.cancelled().await;
                Err(JobError::new("stopped", "told to stop"))
            })
            .await
    });
    until(&remote, number, "Running");
    stop.cancel();
    runtime.block_on(running).unwrap().unwrap();
    let next = remote.claim("w2", 30);
    assert_eq!(next.number(), number);
    assert!(next.job["attempt"].as_i64() >= Some(2));
    assert!(remote.page(number).contains("Released"));
}

#[test]
fn a_wrong_key_ends_the_worker() {
    let remote = Remote::new(House::new());
    let worker = Worker::new(WorkerConfig { api_key: "lh_no_key".into(), ..config(&remote) }).unwrap();
    let ended = Runtime::new().unwrap().block_on(worker.run(|_| async { Ok(json!(null)) }));
    assert!(matches!(ended, Err(Error::Refused { status: 401, .. })), "{ended:?}");
}

struct Python(Child);

impl Drop for Python {
    fn drop(&mut self) {
        // Ended already is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn the_python_example_works_through_its_jobs(house: House) {
    let remote = Remote::new(house);
    let good = remote.enqueue("acme", json!({"steps": 2}));
    let bad = remote.enqueue("acme", json!({"fail": "asked to"}));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/python/leasehold_worker.py");
    let child = Command::new("python3")
        .arg(script)
        .env("LEASEHOLD_URL", format!("http://{}", remote.server.addr))
        .env("LEASEHOLD_API_KEY", &remote.key)
        .stderr(Stdio::null())
        .spawn()
        .expect("python3 is installed");
    let mut python = Python(child);
    let page = until(&remote, good, "Completed");
    assert!(page.contains("step 2 of 2") && page.contains("2 of 2 done"), "{page}");
    let page = until(&remote, bad, "told_to_fail");
    assert!(page.contains("Failed") && page.contains("asked to"), "{page}");

    let long = remote.enqueue("acme", json!({"steps": 600}));
    until(&remote, long, "Running");
    remote.cancel(long);
    until(&remote, long, "Cancelled");

    let interrupted = remote.enqueue("acme", json!({"steps": 600}));
    until(&remote, interrupted, "step 1 of 600");
    kill(Pid::from_raw(i32::try_from(python.0.id()).unwrap()), Signal::SIGTERM).unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = python.0.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "it does not stop");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "{status}");
    let next = remote.claim("w2", 30);
    assert_eq!((next.number(), next.job["attempt"].as_i64()), (interrupted, Some(2)));
    assert!(remote.page(interrupted).contains("Released"));
}
