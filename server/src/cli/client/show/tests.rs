use super::*;
use crate::cli::text::Paint;
use serde_json::json;

fn style() -> Style {
    Style { paint: Paint::new(false), now: "2026-02-16T10:40:00Z".parse().unwrap() }
}

fn a_job() -> Value {
    json!({
        "id": "0192f3c4-7f1e-7c3a-9d55-1b2c3d4e5f60", "number": 48213, "domain": "training", "queue": "default",
        "job_type": "recompute-tags", "status": "processing", "priority": 100, "attempt_count": 1, "max_attempts": 3,
        "created_at": "2026-02-16T10:30:01Z", "started_at": "2026-02-16T10:38:00Z", "scheduled_for": null,
        "stage": "reading", "progress_percent": 40, "progress_message": "4 of 10", "worker_id": "worker-1",
        "error_code": null, "cancel_requested_at": null, "requested_by": "key cli", "trace_id": "0af7",
        "payload": {"model": "siglip"}, "result": null, "metadata": {}, "children": [], "parent": {"number": 7, "status": "failed"}
    })
}

#[test]
fn a_list_has_a_head_and_the_words_of_the_dashboard() {
    let mut dead = a_job();
    for (name, value) in
        [("number", json!(7)), ("status", json!("dead_letter")), ("error_code", json!("exit_1"))]
    {
        dead[name] = value;
    }
    let mut later = a_job();
    for (name, value) in [
        ("status", json!("queued")),
        ("attempt_count", json!(0)),
        ("scheduled_for", json!("2026-02-16T12:00:00Z")),
    ] {
        later[name] = value;
    }
    let answer = json!({"jobs": [a_job(), dead, later], "next_cursor": "abc"});
    let expected = "\
NUMBER  STATUS        DOMAIN    QUEUE    TYPE            ATTEMPTS  CREATED    ERROR
48213   Running 40 %  training  default  recompute-tags  1 of 3    9 min ago  -
7       Dead letter   training  default  recompute-tags  1 of 3    9 min ago  exit_1
48213   Scheduled     training  default  recompute-tags  0 of 3    9 min ago  -

More: --cursor abc";
    assert_eq!(jobs(&answer, style()), expected);
    assert_eq!(jobs(&json!({"jobs": []}), style()), "No jobs match.");
}

#[test]
fn a_job_is_a_sheet() {
    let expected = "\
Job 48213  Running
  Kind          training/recompute-tags in queue default
  Id            0192f3c4-7f1e-7c3a-9d55-1b2c3d4e5f60
  Attempts      1 of 3
  Priority      100
  Progress      40 %, reading, 4 of 10
  Requested by  key cli
  Created       9 min ago (16 Feb 2026, 10:30:01 UTC)
  Started       2 min ago (16 Feb 2026, 10:38:00 UTC)
  Worker        worker-1
  Retry of      job 7
  Trace id      0af7

Payload
  {
    \"model\": \"siglip\"
  }";
    assert_eq!(job(&a_job(), style()), expected);
}

#[test]
fn a_failed_job_says_why() {
    let mut failed = a_job();
    for (name, value) in [
        ("status", json!("failed")),
        ("error_code", json!("exit_1")),
        ("error_message", json!("no such\nmodel")),
        ("completed_at", json!("2026-02-16T10:38:12Z")),
        ("error_stack", json!("a\n  b")),
    ] {
        failed[name] = value;
    }
    let text = job(&failed, style());
    assert!(text.starts_with("Job 48213  Failed\n"), "{text}");
    assert!(
        text.contains("  Error         exit_1: no such model\n") && text.contains("  Took          12 s\n"),
        "{text}"
    );
    assert!(text.ends_with("\nStack\n  a\n    b"), "{text}");
}

#[test]
fn what_became_of_a_request_is_a_sentence() {
    let made = json!({"number": 7, "definition_key": "export", "replayed": false, "deduplicated": false});
    assert_eq!(enqueued(&made, style()), "Job 7 (export) is queued.");
    let again = json!({"number": 7, "definition_key": "export", "deduplicated": true});
    assert_eq!(enqueued(&again, style()), "Job 7 (export) exists already: it holds the dedupe key.");
    assert_eq!(cancelled(&json!({"number": 7, "outcome": "cancelled"}), style()), "Job 7 is cancelled.");
    assert!(cancelled(&json!({"number": 7, "outcome": "requested"}), style()).contains("asked to stop"));
    assert_eq!(retried(&json!({"number": 8, "parent_number": 7}), style()), "Job 8 repeats job 7.");
}

#[test]
fn other_answers_are_fields_and_a_table_of_groups() {
    let answer = json!({"deleted": 3, "state": "planned", "groups": [
        {"domain": "a", "queue": "b", "job_type": "c", "status": "completed", "count": 1200}]});
    let expected = "  Deleted  3\n  State    planned\n\nDOMAIN  QUEUE  TYPE  STATUS     JOBS\na       b      c     Completed  1,200";
    assert_eq!(fields(&answer, style()), expected);
}
