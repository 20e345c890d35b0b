//! Bad input is the caller's fault, never ours.

use crate::{common::House, office::Office, on_both_databases};
use serde_json::{Value, json};

on_both_databases!(nothing_a_caller_sends_is_our_fault);

const PATHS: [&str; 8] = [
    "/jobs/prune",
    "/jobs/ttl/sweep",
    "/jobs/integrity/sweep",
    "/jobs/batch/cancel",
    "/jobs/batch/reschedule",
    "/jobs/batch/requeue_quarantined",
    "/jobs/queue/control",
    "/admin/jobs/definitions",
];

const FIELDS: [&str; 22] = [
    "domain",
    "queue",
    "job_type",
    "statuses",
    "older_than_days",
    "detail_top_k",
    "age_seconds",
    "runtime_seconds",
    "action",
    "delay_seconds",
    "at",
    "error_code",
    "reason",
    "key",
    "arg_schema",
    "description",
    "retry",
    "limits",
    "stages",
    "fix",
    "dry_run",
    "no_such_field",
];

fn nothing_a_caller_sends_is_our_fault(house: House) {
    let office = Office::new(house);
    let strange = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!("a\u{0}b"),
        json!("x".repeat(3_000)),
        json!([[]]),
        json!({"a": 1}),
    ];
    let base = |path: &str| -> Value {
        match path {
            "/jobs/prune" => json!({"statuses": ["failed"], "older_than_days": 1, "dry_run": true}),
            "/jobs/ttl/sweep" => json!({"age_seconds": 86_400}),
            "/jobs/batch/reschedule" => json!({"delay_seconds": 1}),
            "/jobs/queue/control" => json!({"domain": "d", "queue": "q", "action": "resume"}),
            "/admin/jobs/definitions" => json!({"key": "k"}),
            _ => json!({}),
        }
    };
    for path in PATHS {
        for field in FIELDS {
            for value in &strange {
                let mut body = base(path);
                body[field] = value.clone();
                let (status, answer) = office.confirm(&office.governor, path, &body);
                assert!(status < 500, "{path} {field}={value}: {status} {answer}");
            }
        }
        let headers = [("x-api-key", office.governor.as_str()), ("x-confirm", "true")];
        for text in ["", "[]", "{", "\"x\"", "{}{}", "\u{0}"] {
            let status = office.server.request("POST", &format!("/api/v1{path}"), &headers, text).status;
            assert!(status < 500, "{path} {text:?}: {status}");
        }
        assert_eq!(office.server.request("POST", &format!("/api/v1{path}"), &[], "{}").status, 401, "{path}");
    }
    for path in [
        "/jobs/queue/status?domain=%00&queue=x",
        "/jobs/queue/status?domain=a&queue=b&more=c",
        "/jobs/archive/meta?job_id=99999999999999999999999",
        "/jobs/archive/meta?job_id=%00",
        "/admin/jobs/definitions?x=%ff",
    ] {
        let status = office.get(&office.governor, path).0;
        assert!(status < 500, "{path}: {status}");
    }
}
