//! The door of the worker protocol: who may come in, and which requests are turned away.

mod common;

use common::{
    House,
    remote::{Remote, new_key},
};
use serde_json::json;

on_both_databases! {
    a_key_revoked_while_its_worker_waits_gets_nothing_more,
    only_a_valid_worker_key_opens_the_door,
    another_tenants_job_does_not_exist,
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
    let now = leasehold_queue::clock::process_time().micros() / 1_000_000;
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

/// How long the claim would wait, in seconds.
const WAIT: u64 = 15;

fn a_key_revoked_while_its_worker_waits_gets_nothing_more(house: House) {
    let remote = Remote::new(house);
    let (prefix, _) = remote.key["lh_".len()..].split_once('_').unwrap();
    let used = || {
        let listed = remote.house.json(&["key", "list", "--tenant", "acme"], "");
        listed
            .as_array()
            .unwrap()
            .iter()
            .any(|key| key["prefix"] == prefix && key["last_used_at"].is_string())
    };
    std::thread::scope(|scope| {
        let began = std::time::Instant::now();
        let waiting = scope.spawn(|| remote.ask("claim", &json!({"wait_seconds": WAIT})));
        while !used() {
            assert!(began.elapsed().as_secs() < 10, "the worker never came in");
        }
        remote.house.json(&["key", "revoke", prefix], "");
        let (status, refused) = waiting.join().unwrap();
        assert_eq!((status, &refused["code"]), (401, &json!("UNAUTHENTICATED")), "{refused}");
        assert!(began.elapsed().as_secs() < WAIT, "it waited to the end: {:?}", began.elapsed());
    });
}
