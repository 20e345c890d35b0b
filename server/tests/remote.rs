//! The worker protocol over HTTP, request by request.

mod common;

use common::{
    House,
    remote::{Remote, enqueue, new_key},
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    thread,
    time::{Duration, Instant},
};

on_both_databases! {
    a_job_is_claimed_reported_on_and_completed,
    a_claim_waits_until_a_job_arrives,
    a_claim_that_waits_is_woken_by_its_job,
    a_stale_lease_is_refused_everywhere,
    failures_are_judged_like_any_workers,
    a_cancellation_reaches_the_worker,
    a_worker_acknowledges_a_cancellation,
    what_is_done_stands_although_it_was_asked_to_stop,
    a_stack_is_kept_and_shown,
    a_released_job_costs_no_attempt,
    a_caller_that_hangs_up_takes_nothing_with_it,
}

fn a_job_is_claimed_reported_on_and_completed(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({"password": "hunter22", "rows": 3}));
    let claim = remote.claim("w1", 30);
    let job = &claim.job;
    assert_eq!(
        (claim.number(), job["attempt"].as_i64(), job["domain"].as_str()),
        (number, Some(1), Some("media"))
    );
    assert_eq!(
        (&job["payload"]["rows"], &job["tenant"], &job["timeout_seconds"]),
        (&json!(3), &json!("acme"), &json!(3600))
    );

    let (status, held) = remote.tell(&claim, "heartbeat", json!({"lease_seconds": 120}));
    assert_eq!((status, &held["cancel_requested"]), (200, &json!(false)), "{held}");
    assert!(held["leased_until"].as_str() > job["leased_until"].as_str(), "{held} {job}");
    let (status, _) =
        remote.tell(&claim, "progress", json!({"stage": "halfway", "percent": 50.9, "message": "half"}));
    assert_eq!(status, 200);
    let lines = json!({"lines": [
        {"seq": 1, "text": "first words"},
        {"seq": 2, "text": "the secret is hunter22", "stream": "stderr"},
        {"seq": 5001, "text": "too much"},
    ]});
    for _ in 0..2 {
        let (status, written) = remote.tell(&claim, "logs", lines.clone());
        assert_eq!((status, written), (200, json!({"kept": 2, "dropped": 1})));
    }
    let page = remote.page(number);
    assert!(page.contains("halfway") && page.contains("50"), "{page}");
    assert_eq!(page.matches("first words").count(), 1);
    assert!(!page.contains("the secret is hunter22"), "secrets of the payload are blotted out of the log");

    // By its id as well as by its number; and once, however often it is said.
    let by_id = format!("{}/complete", job["id"].as_str().unwrap());
    for already_done in [false, true] {
        let (status, ended) = remote.ask(&by_id, &claim.showing(json!({"result": {"ok": true}})));
        assert_eq!((status, ended), (200, json!({"status": "completed", "already_done": already_done})));
    }
    assert!(remote.page(number).contains("Completed"));
    let workers =
        remote.server.get("/admin/workers", &[("cookie", remote.cookie()), ("accept", "text/html")]);
    assert!(workers.body.contains("over HTTP"), "{}", workers.body);
}

fn a_claim_waits_until_a_job_arrives(house: House) {
    let remote = Remote::new(house);
    let began = Instant::now();
    let (status, answer) = remote.ask("claim", &json!({"wait_seconds": 1}));
    assert_eq!((status, &answer["jobs"]), (200, &json!([])));
    assert!(answer["worker_id"].as_str().is_some_and(|name| name.starts_with("worker:")), "a name is made");
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let claim = remote.claim("w1", 30);
            (claim.number(), Instant::now())
        });
        thread::sleep(Duration::from_millis(700));
        let number = remote.enqueue("acme", json!({}));
        let enqueued = Instant::now();
        let (claimed, at) = waiting.join().unwrap();
        assert_eq!(claimed, number);
        // It was woken before its wait was over.
        assert!(at.saturating_duration_since(enqueued) < Duration::from_secs(15));
    });
}

/// A claim is looked after when it comes and once a second from then on. Only a wake-up can be quicker; of five rounds
/// one that is will do, however busy this machine is.
fn a_claim_that_waits_is_woken_by_its_job(house: House) {
    let remote = &Remote::new(house);
    let round = |_| {
        thread::scope(|scope| {
            let began = Instant::now();
            let waiting = scope.spawn(move || {
                let claim = remote.claim("w1", 30);
                (claim.number(), began.elapsed())
            });
            thread::sleep(Duration::from_millis(300));
            let number = remote.enqueue("acme", json!({}));
            let (claimed, took) = waiting.join().unwrap();
            assert_eq!(claimed, number);
            took
        })
    };
    let took: Vec<Duration> = (0..5).map(round).collect();
    assert!(took.iter().any(|took| *took < Duration::from_secs(1)), "nobody was woken: {took:?}");
}

fn a_stale_lease_is_refused_everywhere(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let late = remote.claim("late", 1);
    // The lease runs out, the watchdog takes the job back, and another worker gets it.
    let holder = remote.claim("holder", 60);
    assert_eq!((holder.number(), holder.job["attempt"].as_i64()), (number, Some(2)));
    for (what, body) in [
        ("heartbeat", json!({})),
        ("progress", json!({"percent": 99, "message": "late progress"})),
        ("logs", json!({"lines": [{"seq": 1, "text": "late words"}]})),
        ("complete", json!({"result": "late"})),
        ("fail", json!({"message": "late"})),
        ("release", json!({})),
    ] {
        let (status, problem) = remote.tell(&late, what, body.clone());
        assert_eq!((status, &problem["code"]), (409, &json!("STALE_LEASE")), "{what}: {problem}");
        // The right lease under another name, and a name behind another key, are no better.
        let (status, _) = remote.ask(&format!("{number}/{what}"), &{
            let mut stolen = holder.showing(body);
            stolen["worker_id"] = json!("late");
            stolen
        });
        assert_eq!(status, 409, "{what}");
    }
    let page = remote.page(number);
    assert!(!page.contains("late words") && !page.contains("late progress"));
    assert!(page.contains("Lost"), "the dead attempt says what became of it");
    assert_eq!(remote.tell(&holder, "complete", json!({})).0, 200);
}

fn failures_are_judged_like_any_workers(house: House) {
    let remote = Remote::new(house);
    remote.enqueue("acme", json!({}));
    let first = remote.claim("w1", 30);
    let (status, ended) = remote.tell(
        &first,
        "fail",
        json!({
            "error_code": "source_gone", "error_class": "dependency_unavailable", "message": "nobody home",
            "retryable": true, "retry_after": 0.2,
        }),
    );
    assert_eq!((status, ended), (200, json!({"status": "queued", "already_done": false})));
    let second = remote.claim("w1", 30);
    assert_eq!((second.number(), second.job["attempt"].as_i64()), (first.number(), Some(2)));
    let (status, ended) =
        remote.tell(&second, "fail", json!({"error_class": "validation_error", "message": "never"}));
    assert_eq!((status, &ended["status"]), (200, &json!("failed")));
    let page = remote.page(first.number());
    assert!(page.contains("source_gone") && page.contains("never"), "{page}");
}

fn a_cancellation_reaches_the_worker(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let claim = remote.claim("w1", 30);
    remote.cancel(number);
    for what in ["heartbeat", "progress"] {
        let (status, held) = remote.tell(&claim, what, json!({}));
        assert_eq!((status, &held["cancel_requested"]), (200, &json!(true)), "{what}");
    }
    let (status, ended) =
        remote.tell(&claim, "fail", json!({"error_code": "cancelled", "message": "stopped"}));
    assert_eq!((status, &ended["status"]), (200, &json!("cancelled")));
    let reader = new_key(&remote.house, "acme", "read");
    let attempts = remote.read(&reader, &format!("jobs/{number}/attempts"));
    assert_eq!(attempts["attempts"][0]["status"], "cancelled", "{attempts}");
    let job = remote.read(&reader, &format!("jobs/{number}"));
    assert_eq!((&job["error_code"], &job["error_message"]), (&Value::Null, &Value::Null), "no error: {job}");
}

fn a_worker_acknowledges_a_cancellation(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let claim = remote.claim("w1", 30);
    let (status, problem) = remote.tell(&claim, "cancelled", json!({}));
    assert_eq!((status, &problem["code"]), (409, &json!("WRONG_STATE")), "nobody asked for it: {problem}");
    remote.cancel(number);
    for already_done in [false, true] {
        let (status, ended) = remote.tell(&claim, "cancelled", json!({}));
        assert_eq!((status, ended), (200, json!({"status": "cancelled", "already_done": already_done})));
    }
    let page = remote.page(number);
    assert!(page.contains("Attempt 1 was cancelled"), "{page}");
}

fn what_is_done_stands_although_it_was_asked_to_stop(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let claim = remote.claim("w1", 30);
    remote.cancel(number);
    let (status, ended) = remote.tell(&claim, "complete", json!({"result": 1}));
    assert_eq!((status, &ended["status"]), (200, &json!("completed")));
    let description = remote.server.get("/api/openapi.json", &[]).body;
    assert!(description.contains("such a job ends as `completed`"), "and the description says so");
}

fn a_stack_is_kept_and_shown(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let claim = remote.claim("w1", 30);
    let failure = json!({"error_code": "broken", "message": "it broke", "stack": "at step 3 <here>", "retryable": false});
    assert_eq!(remote.tell(&claim, "fail", failure).0, 200);
    let reader = new_key(&remote.house, "acme", "read");
    let attempts = remote.read(&reader, &format!("jobs/{number}/attempts"));
    assert_eq!(attempts["attempts"][0]["error_stack"], "at step 3 <here>", "{attempts}");
    let page = remote.page(number);
    assert!(page.contains("at step 3 &lt;here&gt;") && page.contains("<summary>Stack"), "{page}");
}

fn a_released_job_costs_no_attempt(house: House) {
    let remote = Remote::new(house);
    remote.enqueue("acme", json!({}));
    for attempt in 1..=7 {
        let claim = remote.claim("w1", 30);
        assert_eq!(claim.job["attempt"].as_i64(), Some(attempt), "more often than its budget of five");
        let (status, ended) = remote.tell(&claim, "release", json!({}));
        assert_eq!((status, &ended["status"]), (200, &json!("queued")));
    }
}

fn a_caller_that_hangs_up_takes_nothing_with_it(house: House) {
    let remote = Remote::new(house);
    let body = r#"{"wait_seconds": 30, "lease_seconds": 600}"#;
    let head = format!(
        "POST /api/v1/worker/jobs/claim HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-length: {}\r\n\r\n{body}",
        remote.key,
        body.len()
    );
    let mut callers = Vec::new();
    for _ in 0..3 {
        let mut caller = std::net::TcpStream::connect(remote.server.addr).unwrap();
        caller.write_all(head.as_bytes()).unwrap();
        callers.push(caller);
    }
    thread::sleep(Duration::from_millis(500));
    drop(callers);
    thread::sleep(Duration::from_millis(500));
    let number = enqueue(&remote.server, remote.cookie(), "acme", json!({}));
    assert_eq!(remote.claim("w2", 30).number(), number, "well before the lease of whoever hung up would end");
}

#[test]
fn a_waiting_claim_does_not_keep_the_server_from_ending() {
    let mut remote = Remote::new(House::new());
    let (addr, key) = (remote.server.addr, remote.key.clone());
    let waiting = thread::spawn(move || {
        let body = r#"{"wait_seconds": 30}"#;
        let request = format!(
            "POST /api/v1/worker/jobs/claim HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: {key}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut caller = std::net::TcpStream::connect(addr).unwrap();
        caller.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        caller.read_to_string(&mut answer).unwrap();
        answer
    });
    thread::sleep(Duration::from_millis(500));
    remote.server.signal(Signal::SIGTERM);
    let (status, took) = remote.server.ended(Duration::from_secs(5));
    assert!(status.success(), "{status} after {took:?}");
    let answer = waiting.join().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"jobs\":[]"), "{answer}");
}
