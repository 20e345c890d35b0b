//! Bodies as large as their address needs, and not larger.

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
