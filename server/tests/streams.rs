//! Live streams under strain: rights that end, readers that are slow, a server that stops.

mod common;

use common::{House, PASSWORD, Serving, read_until};
use nix::sys::signal::Signal;
use std::{
    io::{BufRead, BufReader, Read},
    net::TcpStream,
    time::{Duration, Instant},
};

fn house_with_ann(house: House) -> House {
    house.json(&["tenant", "add", "Acme"], "");
    let add = ["user", "add", "ann@example.org", "--role", "admin", "--tenant", "acme", "--password-stdin"];
    house.json(&add, PASSWORD);
    house
}

fn open(server: &Serving, cookie: &str) -> BufReader<TcpStream> {
    let mut live = server.stream("/t/acme/live", &[("cookie", cookie)]);
    read_until(&mut live, "event: hello");
    live
}

/// Reads on until the server ends the stream, which it does before the first sign of life would be due.
fn ends_soon(live: &mut impl Read) {
    let mut rest = String::new();
    live.read_to_string(&mut rest).expect("the server ends the stream by itself");
    assert!(!rest.lines().any(|line| line.starts_with(':')), "the stream went on: {rest}");
}

fn ends_in_time(house: House, change: impl FnOnce(&House, &Serving, &str)) {
    let house = house_with_ann(house);
    let server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    let mut live = open(&server, &cookie);
    change(&house, &server, &cookie);
    ends_soon(&mut live);
}

fn signing_out_ends_a_stream(house: House) {
    ends_in_time(house, |_, server, cookie| {
        server.post("/do/sign_out", &[], &[("cookie", cookie)]);
    });
}

fn deleting_the_session_ends_a_stream(house: House) {
    ends_in_time(house, |house, _, _| house.sql("DELETE FROM sessions"));
}

fn losing_the_membership_ends_a_stream(house: House) {
    ends_in_time(house, |house, _, _| house.sql("DELETE FROM memberships"));
}

fn a_lower_role_ends_a_stream_and_the_reader_may_come_back(house: House) {
    let house = house_with_ann(house);
    let server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    let mut live = open(&server, &cookie);
    house.sql("UPDATE memberships SET role = 'viewer'");
    ends_soon(&mut live);
    open(&server, &cookie);
}

fn streams_of_others_go_on(house: House) {
    let house = house_with_ann(house);
    let add = ["user", "add", "bob@example.org", "--role", "viewer", "--tenant", "acme", "--password-stdin"];
    house.json(&add, PASSWORD);
    let server = house.serve(&[]);
    let (ann, bob) = (server.sign_in("ann@example.org"), server.sign_in("bob@example.org"));
    let (mut anns, mut bobs) = (open(&server, &ann), open(&server, &bob));
    server.post("/do/sign_out", &[], &[("cookie", &ann)]);
    ends_soon(&mut anns);
    let form = [("slug", "acme"), ("definition_key", "demo-flaky"), ("payload_json", r#"{"fail_first":0}"#)];
    let cookie = server.sign_in("ann@example.org");
    server.post("/do/enqueue", &form, &[("cookie", &cookie)]);
    read_until(&mut bobs, "data: {\"id\"");
}

fn ending_the_server_ends_streams_at_once(house: House) {
    let house = house_with_ann(house);
    let mut server = house.serve(&[]);
    let cookie = server.sign_in("ann@example.org");
    let mut streams: Vec<_> = (0..15).map(|_| open(&server, &cookie)).collect();
    server.signal(Signal::SIGTERM);
    streams.iter_mut().for_each(ends_soon);
    assert!(server.ended(Duration::from_secs(5)).0.success());
}

on_both_databases!(
    signing_out_ends_a_stream,
    deleting_the_session_ends_a_stream,
    losing_the_membership_ends_a_stream,
    a_lower_role_ends_a_stream_and_the_reader_may_come_back,
    streams_of_others_go_on,
    ending_the_server_ends_streams_at_once,
);

const CHUNK: usize = 500;

/// Events of a kilobyte each, written as a busy tenant would.
fn write_events(house: &House) {
    house.sql(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {CHUNK})
         INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt, progress,
                                 attrs, created_at)
         SELECT (SELECT id FROM tenants), i, 'media', 'default', 'convert', 'job.progress', 'processing', 1, 5,
                json_object('message', printf('%.1000c', 'x')), '2026-01-01T00:00:00.000000Z' FROM n"
    ));
}

#[test]
fn a_reader_that_does_not_read_is_told_to_start_over_and_holds_nobody_up() {
    let house = house_with_ann(House::new());
    // However long this takes here.
    let server = house.serve(&[("JOBS_HTTP_WRITE_TIMEOUT_SECONDS", "600")]);
    let cookie = server.sign_in("ann@example.org");
    let (mut slow, mut quick) = (open(&server, &cookie), open(&server, &cookie));
    let mut last = 0;
    for _ in 0..40 {
        write_events(&house);
        last += CHUNK;
        // It hears everything while the other one has read nothing yet.
        while read_until(&mut quick, "id: ") != format!("id: {last}") {}
    }
    let mut seen = 0;
    let mut line = String::new();
    while slow.read_line(&mut line).unwrap() > 0 && line.trim() != "event: resync" {
        seen += usize::from(line.starts_with("id: "));
        line.clear();
    }
    assert_eq!(line.trim(), "event: resync");
    assert!(seen < last, "it was given all {seen} events after all");
}

#[test]
fn a_reader_that_never_reads_is_sent_away() {
    let house = house_with_ann(House::new());
    let server = house.serve(&[("JOBS_HTTP_WRITE_TIMEOUT_SECONDS", "2")]);
    let cookie = server.sign_in("ann@example.org");
    let unread = open(&server, &cookie);
    let began = Instant::now();
    while !server.get("/metrics", &[]).body.contains("leasehold_connections_closed_total{why=\"unread\"} 1") {
        assert!(began.elapsed() < Duration::from_secs(60), "it still has its connection");
        // More than the buffers on the way hold.
        write_events(&house);
    }
    drop(unread);
}
