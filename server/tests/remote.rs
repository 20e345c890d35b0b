//! The worker protocol over HTTP, request by request.

mod common;

use common::{
    House,
    remote::{Remote, enqueue, new_key},
};
use serde_json::json;
use std::{
    thread,
    time::{Duration, Instant},
};

on_both_databases! {
    a_job_is_claimed_reported_on_and_completed,
    a_claim_waits_until_a_job_arrives,
    a_stale_lease_is_refused_everywhere,
    only_a_valid_worker_key_opens_the_door,
    another_tenants_job_does_not_exist,
    failures_are_judged_like_any_workers,
    a_cancellation_reaches_the_worker,
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
        assert!(at.saturating_duration_since(enqueued) < Duration::from_secs(5));
    });
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

fn only_a_valid_worker_key_opens_the_door(house: House) {
    let remote = Remote::new(house);
    let (read, worker) = (new_key(&remote.house, "acme", "read"), new_key(&remote.house, "acme", "worker"));
    let ask = |headers: &[(&str, &str)]| {
        let answer = remote.ask_with(headers, "claim", "{}");
        let problem: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        (answer.status, problem["code"].as_str().unwrap_or_default().to_owned())
    };
    let refused = |code: u16, name: &str| (code, name.to_owned());
    assert_eq!(ask(&[]), refused(401, "UNAUTHENTICATED"));
    assert_eq!(
        ask(&[("cookie", remote.cookie())]),
        refused(401, "UNAUTHENTICATED"),
        "cookies open nothing here"
    );
    let (prefix, _) = worker["lh_".len()..].split_once('_').unwrap();
    for wrong in ["", "nonsense", "lh_0000_x", &format!("lh_{prefix}_wrong"), &worker[..worker.len() - 1]] {
        assert_eq!(ask(&[("x-api-key", wrong)]), refused(401, "UNAUTHENTICATED"), "{wrong}");
    }
    assert_eq!(ask(&[("x-api-key", &read)]), refused(403, "FORBIDDEN"));
    assert_eq!(ask(&[("authorization", &format!("Bearer {worker}"))]).0, 200);
    // Keys are no cookies: no other site can borrow one, so where the request comes from does not matter.
    assert_eq!(ask(&[("x-api-key", &worker), ("origin", "https://elsewhere.example")]).0, 200);
    let listed = remote.house.json(&["key", "list", "--tenant", "acme"], "");
    let key = listed.as_array().unwrap().iter().find(|key| key["prefix"] == prefix).unwrap();
    assert!(key["last_used_at"].is_string() && key.get("secret_hash").is_none(), "{key}");
    remote.house.json(&["key", "revoke", prefix], "");
    assert_eq!(ask(&[("x-api-key", &worker)]), refused(401, "UNAUTHENTICATED"));
    let missing = remote.ask_with(&[], "claim", "{}");
    assert!(missing.header("www-authenticate").is_some_and(|scheme| scheme.starts_with("Bearer")));
    assert_eq!(missing.header("content-type"), Some("application/problem+json"));
}

fn another_tenants_job_does_not_exist(house: House) {
    let remote = Remote::new(house);
    let foreign = remote.enqueue("other", json!({}));
    let (status, answer) = remote.ask("claim", &json!({"wait_seconds": 1}));
    assert_eq!((status, &answer["jobs"]), (200, &json!([])), "a key claims its own tenant's jobs only");
    let lease = json!({"worker_id": "w", "lease_id": "01890000-0000-7000-8000-000000000000"});
    for job in
        [foreign.to_string(), "99999".into(), "summary".into(), "01890000-0000-7000-8000-000000000000".into()]
    {
        for what in ["heartbeat", "progress", "complete", "fail", "release"] {
            let (status, problem) = remote.ask(&format!("{job}/{what}"), &lease);
            assert_eq!((status, &problem["code"]), (404, &json!("NOT_FOUND")), "{job} {what}");
        }
    }
    let key = new_key(&remote.house, "other", "worker");
    let answer = remote.ask_with(&[("x-api-key", &key)], "claim", r#"{"worker_id": "w"}"#);
    assert!(answer.body.contains(&format!("\"number\":{foreign}")), "{}", answer.body);
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
        std::io::Write::write_all(&mut caller, head.as_bytes()).unwrap();
        callers.push(caller);
    }
    thread::sleep(Duration::from_millis(500));
    drop(callers);
    thread::sleep(Duration::from_millis(500));
    let number = enqueue(&remote.server, remote.cookie(), "acme", json!({}));
    assert_eq!(remote.claim("w2", 30).number(), number, "well before the lease of whoever hung up would end");
}

#[test]
fn bad_requests_name_the_field_and_change_nothing() {
    let remote = Remote::new(House::new());
    remote.enqueue("acme", json!({}));
    for (body, field) in [
        (json!({"limit": 0}), "limit"),
        (json!({"limit": 101}), "limit"),
        (json!({"limit": "many"}), "limit"),
        (json!({"wait_seconds": 31}), "wait_seconds"),
        (json!({"lease_seconds": 0}), "lease_seconds"),
        (json!({"kinds": ["media/steps", "steps"]}), "kinds[1]"),
        (json!({"kinds": ["media/dance"]}), "kinds[0]"),
        (json!({"queues": ["/x"]}), "queues[0]"),
        (json!({"worker": "w"}), "worker"),
        (json!({"worker_id": "two words"}), "worker_id"),
        (json!([]), "body"),
    ] {
        let (status, problem) = remote.ask("claim", &body);
        assert_eq!((status, &problem["code"]), (422, &json!("INVALID_INPUT")), "{body}: {problem}");
        assert_eq!(problem["errors"][0]["field"], field, "{body}: {problem}");
    }
    let claim = remote.claim("w1", 30);
    for (what, body, field) in [
        ("logs", json!({"lines": [{"seq": 1, "text": "a"}, {"seq": 2}]}), "lines[1]"),
        ("logs", json!({"lines": [{"seq": 0, "text": "a"}]}), "lines[0].seq"),
        ("progress", json!({"percent": 101}), "percent"),
        ("fail", json!({"error_class": "bad luck"}), "error_class"),
        ("fail", json!({"retry_after": -1}), "retry_after"),
        ("complete", json!({"completion_token": ""}), "completion_token"),
        ("complete", json!({"result": "a\u{0}b"}), "result"),
        ("heartbeat", json!({"lease_id": "nonsense"}), "lease_id"),
    ] {
        let mut full = claim.showing(json!({}));
        full.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        let (status, problem) = remote.ask(&format!("{}/{what}", claim.number()), &full);
        assert_eq!(
            (status, &problem["errors"][0]["field"]),
            (422, &json!(field)),
            "{what} {body}: {problem}"
        );
    }
    let large = json!({"result": "x".repeat(1_100_000)});
    let (status, problem) = remote.tell(&claim, "complete", large);
    assert_eq!((status, &problem["code"]), (413, &json!("PAYLOAD_TOO_LARGE")));
    assert_eq!(remote.ask_with(&[("x-api-key", &remote.key)], "claim", &" ".repeat(2_100_000)).status, 413);
    let wrong = remote.server.get("/api/v1/worker/jobs/claim", &[("x-api-key", &remote.key)]);
    assert_eq!((wrong.status, wrong.header("content-type")), (405, Some("application/problem+json")));
    assert_eq!(remote.tell(&claim, "complete", json!({})).0, 200, "none of this cost the job");
}

#[test]
fn an_expired_key_opens_nothing() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let add = ["key", "add", "--tenant", "acme", "--name", "x", "--scopes", "worker", "--expires-days", "1"];
    let key = house.json(&add, "")["key"].as_str().unwrap().to_owned();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for (days, status) in [(0, 200), (2, 401)] {
        let server = house.serve(&[("JOBS_TEST_NOW_EPOCH", &(now + days * 86_400).to_string())]);
        let answer = server.request("POST", "/api/v1/worker/jobs/claim", &[("x-api-key", &key)], "{}");
        assert_eq!(answer.status, status, "after {days} days: {}", answer.body);
    }
}

#[test]
fn kinds_run_over_http_are_made_once_and_kept_from_commands() {
    let house = House::new();
    let made = house.json(&["definition", "add", "steps", "--domain", "media"], "");
    assert_eq!((&made["executor"], &made["job_type"]), (&json!("remote"), &json!("steps")));
    let again = house.run(&["definition", "add", "steps", "--json"], "");
    let problem: serde_json::Value = serde_json::from_slice(&again.stderr).unwrap();
    assert_eq!(problem["code"], "ALREADY_EXISTS");
    let book = "[commands.steps]\nprogram = \"/bin/true\"\ndomain = \"media\"\n";
    std::fs::write(house.dir.path().join("commands.toml"), book).unwrap();
    let refused = house.run(&["serve", "--addr", "127.0.0.1:0"], "");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another name"), "{refused:?}");
}
