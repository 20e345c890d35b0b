//! What a worker over HTTP keeps beyond its attempt, and what people see when it falls silent.

mod common;

use common::{
    House,
    remote::{Remote, new_key},
};
use serde_json::{Value, json};

on_both_databases! {
    a_checkpoint_reaches_the_next_attempt,
    files_are_kept_under_the_lease,
    a_silent_worker_is_told_everywhere,
}

fn a_checkpoint_reaches_the_next_attempt(house: House) {
    let remote = Remote::new(house);
    remote.enqueue("acme", json!({}));
    let first = remote.claim("w1", 30);
    assert_eq!(first.job["checkpoint"], Value::Null);
    for page in [3, 7] {
        let (status, held) = remote.tell(&first, "checkpoint", json!({"checkpoint": {"page": page}}));
        assert_eq!((status, &held["cancel_requested"]), (200, &json!(false)), "{held}");
    }
    let (status, problem) = remote.tell(&first, "checkpoint", json!({"checkpoint": "x".repeat(1_100_000)}));
    assert_eq!((status, &problem["code"]), (413, &json!("PAYLOAD_TOO_LARGE")));
    let (status, problem) = remote.tell(&first, "checkpoint", json!({"checkpoint": "a\u{0}b"}));
    assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!("checkpoint")));
    assert_eq!(remote.tell(&first, "fail", json!({"message": "crashed", "retry_after": 0})).0, 200);
    let second = remote.claim("w2", 30);
    assert_eq!((second.number(), &second.job["checkpoint"]), (first.number(), &json!({"page": 7})));
    let (status, problem) = remote.tell(&first, "checkpoint", json!({"checkpoint": {"page": 1}}));
    assert_eq!((status, &problem["code"]), (409, &json!("STALE_LEASE")), "{problem}");
}

fn files_are_kept_under_the_lease(house: House) {
    let remote = Remote::new(house);
    remote.enqueue("acme", json!({"api_key": "hidden-value-1"}));
    let first = remote.claim("w1", 30);
    let kept = json!({"name": "notes.txt", "text": "key hidden-value-1\n"});
    let (status, file) = remote.tell(&first, "attachments", kept.clone());
    assert_eq!((status, &file["name"], &file["attempt"]), (201, &json!("notes.txt"), &json!(1)), "{file}");
    let (status, problem) = remote.tell(&first, "attachments", json!({"name": "../x", "text": "no"}));
    assert_eq!((status, &problem["errors"][0]["field"]), (422, &json!("name")));
    let (status, _) = remote.tell(&first, "attachments", json!({"name": "x", "text": "a", "base64": "YQ=="}));
    assert_eq!(status, 422, "one or the other");
    assert_eq!(remote.tell(&first, "fail", json!({"message": "crashed", "retry_after": 0})).0, 200);

    let second = remote.claim("w2", 30);
    let files = |claim: &common::remote::Claim| {
        let lease = claim.job["lease_id"].as_str().unwrap();
        let path = format!(
            "/api/v1/worker/jobs/{}/attachments?worker_id={}&lease_id={lease}",
            claim.number(),
            claim.worker
        );
        remote.server.get(&path, &[("x-api-key", &remote.key)])
    };
    let listed: Value = serde_json::from_str(&files(&second).body).unwrap();
    let url = listed["attachments"][0]["url"].as_str().unwrap_or_else(|| panic!("{listed}"));
    let content = remote.server.get(url, &[]).body;
    assert!(content.starts_with("key ") && !content.contains("hidden-value-1"), "{content}");
    assert_eq!(files(&first).status, 409, "whose lease is over reads nothing");
    assert_eq!(remote.tell(&first, "attachments", kept).0, 409);
}

fn a_silent_worker_is_told_everywhere(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    let claim = remote.claim("w1", 600);
    let (reader, governor) = (new_key(&remote.house, "acme", "read"), governor(&remote));
    let job = remote.read(&reader, &format!("jobs/{number}"));
    assert_eq!(job["silent"], Value::Null, "it was heard of just now: {job}");

    let long_ago = "2020-01-01T00:00:00.000000Z";
    remote
        .house
        .sql(&format!("UPDATE job_workers SET last_seen_at = '{long_ago}' WHERE key_prefix IS NOT NULL"));
    remote.house.sql(&format!("UPDATE jobs SET acquired_at = '{long_ago}' WHERE number = {number}"));
    let job = remote.read(&reader, &format!("jobs/{number}"));
    let text = job["silent"]["text"].as_str().unwrap_or_else(|| panic!("{job}"));
    assert!(text.starts_with("No sign of life for ") && text.ends_with("then the job runs again."), "{text}");
    let diagnosis = remote.read(&reader, &format!("jobs/{number}/diagnosis"));
    assert_eq!(diagnosis["causes"][0]["code"], "worker_silent", "{diagnosis}");
    assert!(remote.page(number).contains("No sign of life for "), "the page says it too");
    // Not heard of for an hour it would not be listed at all.
    let lately = "strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', '-60 seconds')";
    let lately =
        if remote.house.db_url().starts_with("postgres") { "now() - interval '60 seconds'" } else { lately };
    remote.house.sql(&format!("UPDATE job_workers SET last_seen_at = {lately} WHERE key_prefix IS NOT NULL"));
    let list = remote.read(&governor, "admin/workers");
    let silent = list["workers"].as_array().unwrap().iter().find(|worker| worker["stale"] == true);
    let silent = silent.unwrap_or_else(|| panic!("{list}"));
    assert_eq!((&silent["running_count"], &list["stale"]), (&json!(1), &json!(1)), "{list}");
    assert!(silent["silent"]["text"].as_str().unwrap().contains("then its job runs again"), "{list}");

    assert_eq!(remote.tell(&claim, "complete", json!({})).0, 200);
    let list = remote.read(&governor, "admin/workers");
    let counts: Vec<_> = list["workers"].as_array().unwrap().iter().map(|w| &w["running_count"]).collect();
    assert!(counts.iter().all(|count| **count == json!(0)), "what it held is over: {list}");
}

fn governor(remote: &Remote) -> String {
    let key =
        remote.house.json(&["key", "add", "--installation", "--name", "governor", "--scope", "admin"], "");
    key["key"].as_str().unwrap_or_else(|| panic!("{key}")).to_owned()
}
