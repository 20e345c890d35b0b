//! Streams for browsers: opened by somebody signed in, or with a token made for one stream.

mod common;

use common::{Answer, House, PASSWORD, Serving, program::Programs, read_until, remote::new_key};
use serde_json::{Value, json};
use std::{
    io::{BufRead, Read},
    time::{Duration, Instant},
};

on_both_databases! {
    somebody_signed_in_reads_the_streams_of_their_tenants,
    a_token_opens_the_stream_it_was_made_for,
    a_stream_ends_with_the_right_behind_its_token,
}

const STREAM: &str = "/api/v1/jobs/events/stream";
const TOKENS: &str = "/jobs/events/token";

fn status(server: &Serving, path: &str, headers: &[(&str, &str)]) -> u16 {
    let mut stream = server.stream(path, headers);
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    line.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status")
}

fn json_of(answer: &Answer) -> Value {
    serde_json::from_str(&answer.body).unwrap_or_default()
}

fn somebody_signed_in_reads_the_streams_of_their_tenants(house: House) {
    let programs = Programs::new(house);
    let user = ["user", "add", "vic@example.org", "--role", "viewer", "--tenant", "acme", "--password-stdin"];
    programs.house.json(&user, PASSWORD);
    let cookie = programs.server.sign_in("vic@example.org");
    let number = programs.enqueue(json!({}));
    let own = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
    let server = &programs.server;
    let mut live = server.stream(&format!("{STREAM}?tenant=acme&after_id=0"), &own);
    read_until(&mut live, "event: hello");
    assert!(read_until(&mut live, "data: {\"id\"").contains("job.created"));
    let mut one = server.stream(&format!("/api/v1/jobs/{number}/events?tenant=acme"), &own);
    read_until(&mut one, "event: snapshot");
    for (path, headers, expected) in [
        (format!("{STREAM}?tenant=other"), own, 404),
        (STREAM.to_owned(), own, 422),
        (format!("{STREAM}?tenant=acme&color=red"), own, 422),
        (format!("{STREAM}?tenant=acme"), [own[0], ("sec-fetch-site", "cross-site")], 403),
        (format!("{STREAM}?tenant=acme"), [own[0], ("origin", "https://evil.example")], 403),
        (format!("{STREAM}?tenant=acme"), [("cookie", "leasehold=AAAAAAAAAAAAAAAAAAAAAA"), own[1]], 401),
        ("/api/v1/jobs?tenant=acme".to_owned(), own, 401),
    ] {
        assert_eq!(status(server, &path, &headers), expected, "{path} {headers:?}");
    }
    let another = server.request("POST", "/api/v1/jobs", &own, r#"{"definition_key": "steps"}"#);
    assert_eq!(another.status, 401, "a session changes nothing over the API");
    assert!(server.post("/do/sign_out", &[], &[("cookie", &cookie)]).status < 400);
    let began = Instant::now();
    let mut rest = String::new();
    live.read_to_string(&mut rest).expect("the stream ends with the session");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

fn token(programs: &Programs, body: &Value) -> String {
    let (status, made) = programs.post(TOKENS, body);
    assert_eq!(status, 201, "{made}");
    made["url"].as_str().unwrap().to_owned()
}

fn a_token_opens_the_stream_it_was_made_for(house: House) {
    let mut programs = Programs::new(house);
    programs.server = programs.house.serve(&[("RUST_LOG", "debug")]);
    let number = programs.enqueue(json!({}));
    let other = programs.enqueue(json!({}));
    let (all, high, job) = (
        token(&programs, &json!({})),
        token(&programs, &json!({"queue": "high"})),
        token(&programs, &json!({"job_id": number.to_string()})),
    );
    let server = &programs.server;
    let mut live = server.stream(&format!("{all}&after_id=0"), &[("origin", "https://elsewhere.example")]);
    read_until(&mut live, "access-control-allow-origin: *");
    read_until(&mut live, "event: hello");
    read_until(&mut live, "data: {\"id\"");
    let mut narrow = server.stream(&format!("{high}&after_id=0"), &[]);
    read_until(&mut narrow, "event: hello");
    let made = programs.post("/jobs", &json!({"definition_key": "steps", "queue": "high"})).1;
    let told = read_until(&mut narrow, "data: {\"id\"");
    assert!(told.contains(&format!("\"number\":{}", made["number"])), "only what it was made for: {told}");
    read_until(&mut server.stream(&job, &[]), "event: snapshot");
    let value = job.split("token=").nth(1).unwrap();
    let cut = &all[..all.len() - 2];
    for (path, expected) in [
        (format!("/api/v1/jobs/{other}/events?token={value}"), 403),
        (format!("{STREAM}?token={value}"), 403),
        (format!("{high}&queue=low"), 422),
        (format!("{cut}zz"), 401),
        (format!("{STREAM}?token=e30.00"), 401),
        (format!("/api/v1/jobs?token={value}"), 401),
    ] {
        assert_eq!(status(server, &path, &[]), expected, "{path}");
    }
    let again = server.request("POST", &format!("/api/v1{TOKENS}?token={value}"), &[], "{}");
    assert_eq!(again.status, 403, "a token makes no tokens: {}", again.body);
    assert_eq!(programs.post(TOKENS, &json!({"job_id": "999999"})).0, 404);
    assert_eq!(programs.post(TOKENS, &json!({"job_id": "1", "queue": "high"})).0, 422);
    let log = std::fs::read_to_string(programs.house.dir.path().join("serve.log")).unwrap();
    assert!(log.contains("/api/v1/jobs/events/stream"), "the log names the requests: {log}");
    assert!(!log.contains("token=") && !log.contains(value), "and no token");
}

fn a_stream_ends_with_the_right_behind_its_token(house: House) {
    let programs = Programs::new(house);
    let key = new_key(&programs.house, "acme", "read");
    let (status_of, made) = programs.post_as(&key, TOKENS, &json!({}));
    assert_eq!(status_of, 201, "{made}");
    let url = made["url"].as_str().unwrap();
    let mut live = programs.server.stream(url, &[]);
    read_until(&mut live, "event: hello");
    let prefix = key["lh_".len()..].split('_').next().unwrap();
    programs.house.json(&["key", "revoke", prefix], "");
    let mut rest = String::new();
    live.read_to_string(&mut rest).expect("the stream ends with the key");
    assert_eq!(status(&programs.server, url, &[]), 401, "nor is it opened again");
}

/// The clock stands still for the server, and is moved by starting it anew.
#[test]
fn a_token_opens_nothing_after_a_minute() {
    let mut programs = Programs::new(House::new());
    programs.server = programs.house.serve(&[("JOBS_TEST_NOW_EPOCH", "1900000000")]);
    let url = token(&programs, &json!({}));
    assert_eq!(status(&programs.server, &url, &[]), 200);
    programs.server = programs.house.serve(&[("JOBS_TEST_NOW_EPOCH", "1900000061")]);
    let late = programs.server.get(&url, &[]);
    assert_eq!((late.status, &json_of(&late)["code"]), (401, &json!("UNAUTHENTICATED")));
}

#[test]
fn somebody_signed_in_makes_a_token_on_this_site_only() {
    let programs = Programs::new(House::new());
    let cookie = programs.server.sign_in("ann@example.org");
    let ask = |site: &str| {
        let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", site)];
        programs.server.request("POST", &format!("/api/v1{TOKENS}?tenant=acme"), &headers, "{}")
    };
    assert_eq!(ask("cross-site").status, 403);
    let made = ask("same-origin");
    assert_eq!(made.status, 201, "{}", made.body);
    let url = json_of(&made)["url"].as_str().unwrap().to_owned();
    read_until(&mut programs.server.stream(&url, &[]), "event: hello");
    programs.server.post("/do/sign_out", &[], &[("cookie", &cookie)]);
    assert_eq!(status(&programs.server, &url, &[]), 401, "it is worth no more than its session");
}
