//! Programs that ask too often.

use crate::common::{House, program::Programs};
use serde_json::Value;

fn retry_after(head: &str) -> Option<u32> {
    let head = head.to_ascii_lowercase();
    head.lines().find_map(|line| line.strip_prefix("retry-after: ")).and_then(|n| n.trim().parse().ok())
}

#[test]
fn a_key_that_is_used_too_often_has_to_wait_and_another_does_not() {
    let house = House::new();
    let limits = [("JOBS_API_RATE_PER_KEY", "1"), ("JOBS_API_BURST_PER_KEY", "5")];
    let programs = Programs::with(house, &limits);
    let other = crate::common::remote::new_key(&programs.house, "acme", "read");
    let mut refused = None;
    for _ in 0..50 {
        let answer = programs.server.get("/api/v1/jobs", &[("x-api-key", &programs.key)]);
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("fifty at once are too many");
    let problem: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!((refused.status, problem["code"].as_str()), (429, Some("RATE_LIMITED")));
    assert!(retry_after(&refused.head).is_some_and(|seconds| (1..=5).contains(&seconds)), "{}", refused.head);
    assert_eq!(programs.get_as(&other, "/jobs").0, 200);
    let figures = programs.server.get("/metrics", &[]).body;
    assert!(figures.contains("leasehold_rate_limited_total{by=\"key\"} 1"), "{figures}");
}

#[test]
fn failures_count_against_the_address_and_spare_keys_that_work() {
    let house = House::new();
    let limits = [("JOBS_API_RATE_PER_ADDRESS", "1"), ("JOBS_API_BURST_PER_ADDRESS", "5")];
    let programs = Programs::with(house, &limits);
    assert_eq!(programs.get("/jobs").0, 200);
    let statuses: Vec<u16> = (0..50).map(|_| programs.get_as("lh_wrong_key", "/jobs").0).collect();
    assert_eq!(statuses[..5], [401; 5]);
    assert!(statuses.contains(&429), "{statuses:?}");
    assert_eq!(programs.server.get("/api/v1/jobs", &[]).status, 429, "and so do those without a key");
    assert_eq!(programs.get("/jobs").0, 200, "a key that worked a moment ago goes on");
    assert_eq!(programs.server.get("/health", &[]).status, 200);
    assert_eq!(programs.server.get("/login", &[]).status, 200, "pages are not the API");
}

#[test]
fn every_route_describes_it() {
    let house = House::new();
    let server = house.serve(&[]);
    let description: Value = serde_json::from_str(&server.get("/api/openapi.json", &[]).body).unwrap();
    let paths = description["paths"].as_object().unwrap();
    let mut operations = 0;
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let named = operation["responses"]["429"]["$ref"].as_str().unwrap_or_default();
            let response = description.pointer(named.trim_start_matches('#')).unwrap_or(&Value::Null);
            let said = response["description"].as_str().unwrap_or_default();
            assert!(said.contains("RATE_LIMITED"), "{method} {path}: {said}");
            operations += 1;
        }
    }
    assert!(operations > 20, "{operations}");
}
