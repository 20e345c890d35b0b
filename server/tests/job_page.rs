//! A job's page: small whatever the job was given or printed, with the whole of it as downloads.

mod common;

use common::{House, PASSWORD, remote::Remote};
use serde_json::{Value, json};

on_both_databases! {
    a_page_stays_small_and_its_downloads_are_whole,
    downloads_are_for_whoever_sees_the_page,
    a_released_job_never_seems_to_use_more_attempts_than_it_has,
}

const LINES: usize = 1_200;

fn a_page_stays_small_and_its_downloads_are_whole(house: House) {
    let remote = Remote::new(house);
    let text = "long ".repeat(120_000);
    let number = remote.enqueue("acme", json!({"text": text, "api_key": "hush"}));
    let claim = remote.claim("w", 60);
    for start in (1..=LINES).step_by(400) {
        let line = |seq: usize| json!({"seq": seq, "text": format!("line {seq} {}", "x".repeat(1_000))});
        let lines: Vec<Value> = (start..start + 400).map(line).collect();
        assert_eq!(remote.tell(&claim, "logs", json!({"lines": lines})).0, 200);
    }
    let failure = json!({"message": "y".repeat(60_000), "error_code": "E", "retryable": false});
    assert_eq!(remote.tell(&claim, "fail", failure).0, 200);

    let page = remote.page(number);
    assert!(page.len() < 700_000, "the page has {} bytes", page.len());
    assert!(page.contains(&format!("line {LINES} ")), "the end of the log is on the page");

    let get = |file: &str| {
        let path = format!("/t/acme/jobs/{number}/{file}");
        remote.server.get(&path, &[("cookie", remote.cookie())])
    };
    let payload = get("payload.json");
    assert_eq!(payload.header("content-type"), Some("application/json"));
    assert!(payload.header("content-disposition").is_some_and(|name| name.starts_with("attachment;")));
    let payload: Value = serde_json::from_str(&payload.body).unwrap();
    assert_eq!(payload["text"], json!(text));
    assert!(!payload.to_string().contains("hush"), "secrets stay masked: {}", payload["api_key"]);
    let attempts: Value = serde_json::from_str(&get("attempts.json").body).unwrap();
    assert!(attempts["attempts"][0]["error_text"].as_str().unwrap().len() > 1_000, "errors are whole");
    let log = get("log-1.txt");
    assert_eq!((log.status, log.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    for seq in [1, LINES] {
        assert!(log.body.contains(&format!("line {seq} ")), "line {seq} is in the download");
    }
    for missing in ["result.json", "log-2.txt", "secrets.json"] {
        assert_eq!(get(missing).status, 404, "{missing}");
    }
}

fn downloads_are_for_whoever_sees_the_page(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({"text": "ours"}));
    for (email, tenant) in [("vic@example.org", "acme"), ("eve@example.org", "other")] {
        let user = ["user", "add", email, "--tenant", tenant, "--role", "viewer", "--password-stdin"];
        remote.house.json(&user, PASSWORD);
    }
    let path = format!("/t/acme/jobs/{number}/payload.json");
    let as_somebody = |email: &str| {
        let cookie = remote.server.sign_in(email);
        let answer = remote.server.get(&path, &[("cookie", &cookie)]);
        (answer.status, answer.body.contains("ours"))
    };
    assert_eq!(as_somebody("vic@example.org"), (200, true));
    assert_eq!(as_somebody("eve@example.org"), (404, false));
    assert_eq!(remote.server.get(&path, &[]).status, 303, "strangers sign in first");
    let under_another_name = format!("/t/other/jobs/{number}/payload.json");
    let cookie = remote.server.sign_in("eve@example.org");
    assert_eq!(remote.server.get(&under_another_name, &[("cookie", &cookie)]).status, 404);
}

fn a_released_job_never_seems_to_use_more_attempts_than_it_has(house: House) {
    let remote = Remote::new(house);
    let number = remote.enqueue("acme", json!({}));
    for _ in 0..7 {
        let claim = remote.claim("w", 60);
        assert_eq!(remote.tell(&claim, "release", json!({})).0, 200);
    }
    let page = remote.page(number);
    assert!(page.contains("7 in all; 0 of 5 used (released attempts do not count)"), "{page}");
    assert!(page.contains("Attempt 7 was released by its worker"));
    assert!(!page.contains("7 of 5"));
}
