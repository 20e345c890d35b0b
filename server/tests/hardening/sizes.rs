//! Bodies as large as their address needs, and not larger.

use super::{exchange, runtime, status_of};
use crate::common::{House, program::Programs};
use serde_json::{Value, json};

const MIB: usize = 1024 * 1024;

#[test]
fn a_large_file_and_a_large_payload_come_through() {
    let house = House::new();
    let programs = Programs::with(house, &[("JOBS_MAX_JSON_BYTES", "5242880")]);
    let number = programs.enqueue(json!({"text": "x".repeat(4 * MIB)}));
    let file = json!({"name": "large.txt", "text": "y".repeat(24 * MIB)});
    let (status, kept) = programs.post(&format!("/jobs/{number}/attachments"), &file);
    assert_eq!((status, kept["size"].as_u64()), (201, Some(24 * MIB as u64)));
}

#[test]
fn what_is_larger_is_refused_with_the_limit_that_holds() {
    let house = House::new();
    let programs = Programs::with(
        house,
        &[("JOBS_MAX_JSON_BYTES", "3145728"), ("JOBS_MAX_ATTACHMENT_BYTES", "6291456")],
    );
    let refused = |path: &str, megabytes: usize| {
        let body = "x".repeat(megabytes * MIB);
        let answer = programs.server.request("POST", path, &[("x-api-key", &programs.key)], &body);
        let problem: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, problem["code"].as_str()), (413, Some("PAYLOAD_TOO_LARGE")), "{path}");
        problem["detail"].as_str().unwrap().to_owned()
    };
    for (path, megabytes, limit) in [
        ("/api/v1/jobs", 4, "at most 3 MiB"),
        ("/api/v1/jobs/1/attachments", 9, "at most 8 MiB"),
        ("/api/v1/jobs/bulk", 17, "at most 16 MiB"),
        ("/do/sign_in", 3, "at most 2 MiB"),
    ] {
        let said = refused(path, megabytes);
        assert!(said.contains(limit), "{path}: {said}");
    }
}

/// Chunks announce nothing: what is too much is noticed while it is read.
#[test]
fn what_is_not_announced_is_counted() {
    let programs = Programs::with(House::new(), &[]);
    let address = programs.server.addr;
    let mebibyte = format!("100000\r\n{}\r\n", "x".repeat(MIB));
    let head = format!(
        "POST /api/v1/jobs HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-api-key: {}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
        programs.key
    );
    let one_byte_too_many = format!("{head}{mebibyte}{mebibyte}1\r\nx\r\n0\r\n\r\n");
    let answer = runtime().block_on(exchange(address, one_byte_too_many.as_bytes())).unwrap();
    assert_eq!(status_of(&answer), 413, "{answer}");
    assert!(answer.contains("at most 2 MiB"), "{answer}");
}
