//! Live streams, and how the server ends while some are open.

mod common;

use common::{House, PASSWORD, Serving, read_until};
use nix::sys::signal::Signal;
use std::{io::Read, time::Duration};

fn house_with_ann() -> House {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    house.json(&["tenant", "add", "Other"], "");
    let add = ["user", "add", "ann@example.org", "--role", "admin", "--tenant", "acme", "--password-stdin"];
    house.json(&add, PASSWORD);
    house
}

fn enqueue(server: &Serving, cookie: &str) {
    let form = [("slug", "acme"), ("definition_key", "demo-flaky"), ("payload_json", r#"{"fail_first":0}"#)];
    let answer = server.post("/do/enqueue", &form, &[("cookie", cookie)]);
    let location = answer.header("location").unwrap_or_default();
    assert!(location.starts_with("/t/acme/jobs/"), "{} {}", answer.head, answer.body);
}

#[test]
fn events_arrive_live_and_are_replayed_without_repeats() {
    let house = house_with_ann();
    let server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    let mut live = server.stream("/t/acme/live?after=0", &[("cookie", &cookie)]);
    read_until(&mut live, "HTTP/1.1 200");
    read_until(&mut live, "event: hello");
    enqueue(&server, &cookie);
    let mut ids = Vec::new();
    loop {
        let data = read_until(&mut live, "data: {\"id\"");
        let event: serde_json::Value = serde_json::from_str(&data["data: ".len()..]).unwrap();
        ids.push(event["id"].as_i64().unwrap());
        if event["kind"] == "job.completed" {
            break;
        }
    }
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");

    let first = ids[0].to_string();
    let headers = [("cookie", cookie.as_str()), ("last-event-id", first.as_str())];
    let mut resumed = server.stream("/t/acme/live?after=0", &headers);
    assert_eq!(read_until(&mut resumed, "id: "), format!("id: {}", ids[1]));
}

#[test]
fn a_tenant_one_is_not_in_does_not_exist() {
    let house = house_with_ann();
    let server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    for slug in ["other", "nowhere"] {
        let answer = server.get(&format!("/t/{slug}/live"), &[("cookie", &cookie)]);
        assert_eq!(answer.status, 404);
        assert!(answer.body.contains("NOT_FOUND"));
    }
}

#[test]
fn a_stream_ends_when_its_session_does() {
    let house = house_with_ann();
    let server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    let mut live = server.stream("/t/acme/live", &[("cookie", &cookie)]);
    read_until(&mut live, "event: hello");
    server.post("/do/sign_out", &[], &[("cookie", &cookie)]);
    let mut rest = String::new();
    live.read_to_string(&mut rest).expect("the server ends the stream by itself");
    assert_eq!(server.get("/t/acme", &[("cookie", &cookie)]).status, 303);
}

#[test]
fn an_open_stream_does_not_keep_the_server_from_ending() {
    let house = house_with_ann();
    let mut server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    let mut live = server.stream("/t/acme/live", &[("cookie", &cookie)]);
    read_until(&mut live, "event: hello");
    server.signal(Signal::SIGTERM);
    let (status, _) = server.ended(Duration::from_secs(20));
    assert!(status.success(), "{status}");
}
