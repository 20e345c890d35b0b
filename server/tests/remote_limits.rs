//! A worker key takes up only so much: names, claims that wait, and other people's time.

mod common;

use common::{
    House,
    remote::{Remote, new_key},
};
use serde_json::{Value, json};
use std::{
    io::Read,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(30);

on_both_databases! {
    a_key_is_known_under_so_many_names,
    a_key_keeps_so_many_claims_waiting,
    who_waits_longest_is_served_first,
    a_crowd_that_waits_does_not_slow_down_others,
}

#[test]
fn a_claim_names_only_so_much() {
    let remote = Remote::new(House::new());
    let many: Vec<String> = (0..51).map(|n| format!("media/q{n}")).collect();
    let long = format!("media/{}", "x".repeat(200));
    for (body, field) in [
        (json!({"kinds": many}), "kinds"),
        (json!({"queues": many}), "queues"),
        (json!({"queues": [long]}), "queues[0]"),
        (json!({"kinds": [long]}), "kinds[0]"),
        (json!({"queues": ["media/a\u{7}"]}), "queues[0]"),
        (json!({"worker_id": "x".repeat(129)}), "worker_id"),
    ] {
        let (status, problem) = remote.ask("claim", &body);
        assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!(field)), "{problem}");
    }
}

fn a_key_is_known_under_so_many_names(house: House) {
    let remote = Remote::with(house, &[("JOBS_WORKER_MAX_PER_KEY", "3")]);
    let claim = |name: &str| remote.ask("claim", &json!({ "worker_id": name }));
    for name in ["w1", "w2", "w3", "w1"] {
        assert_eq!(claim(name).0, 200, "{name}");
    }
    let (status, problem) = claim("w4");
    assert_eq!((status, &problem["code"]), (429, &json!("QUOTA_EXCEEDED")), "{problem}");
    assert_eq!(problem["retry_after_seconds"], 15, "{problem}");
    assert_eq!(claim("w3").0, 200, "who is known goes on");
}

fn until_there_is_room(remote: &Remote) {
    let began = Instant::now();
    while remote.ask("claim", &json!({"worker_id": "w0"})).0 != 200 {
        assert!(began.elapsed() < PATIENCE, "who hung up still takes up room");
    }
}

fn caller(remote: &Remote, n: usize) -> TcpStream {
    let caller = remote.waiting(&json!({"worker_id": format!("w{n}"), "wait_seconds": 30}));
    caller.set_nonblocking(true).unwrap();
    caller
}

/// As many as there is room for: whoever comes now is refused. While they come in, one that only looks may have taken
/// the seat of one that waits, which then has its refusal and comes again.
fn crowd(remote: &Remote, size: usize) -> Vec<TcpStream> {
    let mut callers: Vec<TcpStream> = (0..size).map(|n| caller(remote, n)).collect();
    let began = Instant::now();
    loop {
        let mut refused = 0;
        for (n, waiting) in callers.iter_mut().enumerate() {
            if waiting.peek(&mut [0; 1]).is_ok() {
                refused += 1;
                *waiting = caller(remote, n);
            }
        }
        let (status, answer) = remote.ask("claim", &json!({"worker_id": "w0"}));
        if refused == 0 && status == 429 {
            return callers;
        }
        assert!(began.elapsed() < PATIENCE, "{refused} refused, then {status} {answer}");
        thread::sleep(Duration::from_millis(100));
    }
}

fn a_key_keeps_so_many_claims_waiting(house: House) {
    let remote = Remote::with(house, &[("JOBS_WORKER_MAX_WAITING_PER_KEY", "4")]);
    let waiting = crowd(&remote, 4);
    let answer = remote.ask_with(&[("x-api-key", &remote.key)], "claim", r#"{"worker_id": "w0"}"#);
    assert!(
        answer.status == 429 && answer.header("retry-after").is_some(),
        "{} {}",
        answer.head,
        answer.body
    );
    let other = new_key(&remote.house, "acme", "worker");
    let other = remote.ask_with(&[("x-api-key", &other)], "claim", r#"{"worker_id": "w0"}"#);
    assert_eq!(other.status, 200, "another key has room of its own: {}", other.body);
    drop(waiting);
    until_there_is_room(&remote);
}

/// The jobs in an answer, as soon as it comes.
fn jobs_in(mut caller: TcpStream) -> Vec<Value> {
    let mut text = String::new();
    caller.read_to_string(&mut text).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let answer: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{text}"));
    answer["jobs"].as_array().cloned().unwrap_or_default()
}

fn who_waits_longest_is_served_first(house: House) {
    let remote = Remote::new(house);
    let mut callers = Vec::new();
    for n in 0..3 {
        // One after the other: each is known before the next one comes.
        callers.push(remote.waiting(&json!({"worker_id": format!("w{n}"), "wait_seconds": 15})));
        let began = Instant::now();
        while !workers(&remote).contains(&format!("w{n}")) {
            assert!(began.elapsed() < PATIENCE, "w{n} never came in");
        }
    }
    for caller in callers {
        let number = remote.enqueue("acme", json!({}));
        let jobs = jobs_in(caller);
        assert_eq!(jobs.iter().map(|job| job["number"].as_i64()).collect::<Vec<_>>(), [Some(number)]);
    }
}

fn workers(remote: &Remote) -> String {
    remote.server.get("/admin/workers", &[("cookie", remote.cookie()), ("accept", "text/html")]).body
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// A ratio within one run: alone and beside the crowd in turns, so that whatever else this machine does meets both.
fn a_crowd_that_waits_does_not_slow_down_others(house: House) {
    let env = [("JOBS_WORKER_MAX_WAITING_PER_KEY", "300"), ("JOBS_WORKER_MAX_PER_KEY", "400")];
    let remote = Remote::with(house, &env);
    let other = new_key(&remote.house, "other", "write");
    let body = json!({"definition_key": "steps", "payload": {}}).to_string();
    let enqueue = || {
        let began = Instant::now();
        let answer = remote.server.request("POST", "/api/v1/jobs", &[("x-api-key", &other)], &body);
        assert!((200..300).contains(&answer.status), "{}", answer.body);
        began.elapsed()
    };
    let sample = || -> Vec<Duration> { (0..40).map(|_| enqueue()).collect() };
    sample();
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        until_there_is_room(&remote);
        alone.extend(sample());
        let waiting = crowd(&remote, 300);
        beside.extend(sample());
        drop(waiting);
    }
    let (alone, beside) = (median(alone), median(beside));
    println!("enqueue: {alone:?} alone, {beside:?} beside 300 waiting claims");
    assert!(beside <= alone.mul_f64(1.5), "{beside:?} beside 300 waiting claims, {alone:?} alone");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| remote.claim("last", 30).number());
        let number = remote.enqueue("acme", json!({}));
        assert_eq!(waiting.join().unwrap(), number, "and the crowd's own tenant is served");
    });
}
