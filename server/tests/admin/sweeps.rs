//! Prune, time to live, integrity, bulk changes and the archive.

use crate::{
    common::House,
    office::{DAY, Office, code},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    the_printed_prune_counts_and_then_removes,
    a_pruned_job_is_found_in_the_archive,
    the_printed_requeue_brings_quarantined_jobs_back,
    jobs_that_waited_or_ran_too_long_are_ended,
    an_integrity_sweep_answers_in_three_numbers,
    many_jobs_are_cancelled_or_moved_at_once,
    another_tenant_is_out_of_reach,
);

/// As the documentation prints it.
fn printed_prune(dry_run: bool) -> Value {
    let mut body: Value = serde_json::from_str(
        r#"{
              "statuses": ["completed","failed"],
              "older_than_days": 14,
              "domain": "chatbooks",
              "queue": "default",
              "job_type": "export",
              "dry_run": true
            }"#,
    )
    .unwrap();
    body["dry_run"] = json!(dry_run);
    body
}

fn the_printed_prune_counts_and_then_removes(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 3);
    office.enqueue("evaluate", 1);
    for job in office.claim() {
        match job["number"].as_i64() {
            Some(1) => office.tell(&job, "fail", json!({"message": "no", "retryable": false})),
            _ => office.tell(&job, "complete", json!({})),
        };
    }
    let young = office.post(&office.admin, "/jobs/prune", &printed_prune(true));
    assert_eq!((young.0, &young.1["deleted"]), (200, &json!(0)), "{}", young.1);

    let office = office.later(15 * DAY, &[]);
    let (status, dry) = office.post(&office.admin, "/jobs/prune", &printed_prune(true));
    assert_eq!((status, &dry["deleted"], &dry["state"]), (200, &json!(3), &json!("planned")), "{dry}");
    assert!(dry.get("groups").is_none());
    let mut detailed = printed_prune(true);
    detailed["detail_top_k"] = json!(1);
    let groups = office.post(&office.admin, "/jobs/prune", &detailed).1["groups"].clone();
    assert_eq!((groups.as_array().unwrap().len(), &groups[0]["count"]), (1, &json!(2)), "{groups}");

    for word in [None, Some("TRUE"), Some("yes"), Some("true, true")] {
        let (status, refused) =
            office.ask(&office.admin, "POST", "/jobs/prune", Some(&printed_prune(false)), word);
        assert_eq!((status, code(&refused)), (400, "CONFIRMATION_REQUIRED"), "{word:?}");
    }
    let (status, done) = office.confirm(&office.admin, "/jobs/prune", &printed_prune(false));
    assert_eq!((status, &done["deleted"], &done["state"]), (200, &json!(3), &json!("done")), "{done}");
    let again = office.confirm(&office.admin, "/jobs/prune", &printed_prune(false));
    assert_eq!(again.1["deleted"], 0);
    let rest = json!({"statuses": ["succeeded"], "older_than_days": 1, "dry_run": true});
    let rest = office.post(&office.admin, "/jobs/prune", &rest);
    assert_eq!((rest.0, &rest.1["deleted"]), (200, &json!(1)), "the other domain's is left, by any word");
}

fn a_pruned_job_is_found_in_the_archive(house: House) {
    let office = Office::new(house);
    let number = office.enqueue("export", 1)[0];
    let job = office.claim().remove(0);
    office.tell(&job, "complete", json!({"result": {"rows": 3}}));
    let meta = format!("/jobs/archive/meta?job_id={number}");
    assert_eq!(office.get(&office.admin, &meta).0, 404, "it is no archived job yet");
    let office = office.later(2 * DAY, &[("JOBS_ARCHIVE_BEFORE_DELETE", "true")]);
    let body = json!({"statuses": ["completed"], "older_than_days": 1});
    assert_eq!(office.confirm(&office.admin, "/jobs/prune", &body).1["deleted"], 1);
    let (status, kept) = office.get(&office.admin, &meta);
    assert_eq!((status, &kept["number"], &kept["status"]), (200, &json!(number), &json!("completed")));
    let present = ["has_payload_json", "has_result_json", "has_payload_compressed", "has_result_compressed"];
    assert_eq!(present.map(|name| kept[name].clone()), [true, true, false, false].map(Value::from));
    let by_id = format!("/jobs/archive/meta?job_id={}", job["id"].as_str().unwrap());
    assert_eq!(office.get(&office.admin, &by_id).0, 200);
    for path in ["/jobs/archive/meta?job_id=999", "/jobs/archive/meta?job_id=x"] {
        assert_eq!(office.get(&office.admin, path).0, 404, "{path}");
    }
    assert_eq!(office.get(&office.admin, "/jobs/archive/meta").0, 422);
}

fn the_printed_requeue_brings_quarantined_jobs_back(house: House) {
    let office = Office::with(house, &[("JOBS_QUARANTINE_THRESHOLD", "1")]);
    office.enqueue("export", 2);
    for job in office.claim() {
        let ended = office.tell(&job, "fail", json!({"error_code": "E_DISK", "message": "full"}));
        assert_eq!(ended["status"], "quarantined");
    }
    let printed = |dry_run: bool| json!({"domain": "chatbooks", "queue": "default", "job_type": "export", "dry_run": dry_run});
    let path = "/jobs/batch/requeue_quarantined";
    let (status, dry) = office.post(&office.admin, path, &printed(true));
    assert_eq!((status, &dry["affected"]), (200, &json!(2)), "{dry}");
    assert_eq!(office.post(&office.admin, path, &printed(false)).0, 400);
    let other_error = json!({"error_code": "E_NET", "dry_run": true});
    assert_eq!(office.post(&office.admin, path, &other_error).1["affected"], 0);
    let (status, done) = office.confirm(&office.admin, path, &printed(false));
    assert_eq!((status, &done["affected"]), (200, &json!(2)), "{done}");
    assert!(done["plan_id"].is_string());
    assert_eq!(office.claim().len(), 2);
}

fn jobs_that_waited_or_ran_too_long_are_ended(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 2);
    let running = office.claim().len();
    office.enqueue("export", 3);
    office.enqueue("evaluate", 1);
    assert_eq!(running, 2);
    let office = office.later(600, &[]);
    let path = "/jobs/ttl/sweep";
    let old = json!({"age_seconds": 60, "action": "cancel", "domain": "chatbooks"});
    assert_eq!(code(&office.post(&office.admin, path, &old).1), "CONFIRMATION_REQUIRED");
    let young = json!({"age_seconds": 6_000, "runtime_seconds": 6_000, "action": "fail"});
    assert_eq!(office.confirm(&office.admin, path, &young).1["affected"], 0);
    let (status, swept) = office.confirm(&office.admin, path, &old);
    assert_eq!((status, &swept["affected"], &swept["more"]), (200, &json!(3), &json!(false)), "{swept}");
    let ran = json!({"runtime_seconds": 60, "action": "fail"});
    assert_eq!(office.confirm(&office.admin, path, &ran).1["affected"], 2);
    assert_eq!(office.claim().len(), 1, "only the other domain's job is left");
}

fn an_integrity_sweep_answers_in_three_numbers(house: House) {
    let office = Office::new(house);
    let path = "/jobs/integrity/sweep";
    let sound = json!({"non_processing_with_lease": 0, "processing_expired": 0, "fixed": 0});
    let (status, found) = office.post(&office.governor, path, &json!({"fix": false, "domain": "chatbooks"}));
    assert_eq!((status, &found), (200, &sound));
    assert_eq!(office.post(&office.governor, path, &json!({"fix": true})).0, 400);
    assert_eq!(office.confirm(&office.governor, path, &json!({"fix": true})), (200, sound));
    assert_eq!(office.post(&office.admin, path, &json!({"fix": false})).0, 403);
}

fn many_jobs_are_cancelled_or_moved_at_once(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 4);
    let later = json!({"domain": "chatbooks", "delay_seconds": 3_600});
    let path = "/jobs/batch/reschedule";
    assert_eq!(office.post(&office.admin, path, &later).0, 400);
    assert_eq!(office.confirm(&office.admin, path, &later).1["affected"], 4);
    assert_eq!(office.claim().len(), 0, "they wait for their time");
    let now = json!({"domain": "chatbooks", "set_now": true});
    assert_eq!(office.confirm(&office.admin, path, &now).1["affected"], 4);
    let at = json!({"at": "2099-01-01T00:00:00Z", "queue": "elsewhere"});
    assert_eq!(office.confirm(&office.admin, path, &at).1["affected"], 0);
    for wrong in [
        json!({}),
        json!({"set_now": true, "delay_seconds": 1}),
        json!({"delay_seconds": 99_999_999_999_u64}),
    ] {
        let (status, refused) = office.confirm(&office.admin, path, &wrong);
        assert_eq!((status, code(&refused)), (422, "INVALID_INPUT"), "{wrong}");
    }
    let held = office.claim();
    assert_eq!(held.len(), 4);
    office.enqueue("export", 1);
    let cancel = json!({"domain": "chatbooks", "job_type": "export", "reason": "enough"});
    assert_eq!(office.post(&office.admin, "/jobs/batch/cancel", &cancel).0, 400);
    let (status, done) = office.confirm(&office.admin, "/jobs/batch/cancel", &cancel);
    assert_eq!((status, &done["affected"]), (200, &json!(5)), "{done}");
    let told = office.tell(&held[0], "heartbeat", json!({}));
    assert_eq!(told["cancel_requested"], true);
}

fn another_tenant_is_out_of_reach(house: House) {
    let office = Office::new(house);
    office.enqueue_in("other", "export", 2);
    let all = json!({});
    assert_eq!(office.confirm(&office.admin, "/jobs/batch/cancel", &all).1["affected"], 0);
    let ttl = json!({"age_seconds": 1});
    let office = office.later(600, &[]);
    assert_eq!(office.confirm(&office.admin, "/jobs/ttl/sweep", &ttl).1["affected"], 0);
    assert_eq!(office.confirm(&office.governor, "/jobs/ttl/sweep", &ttl).1["affected"], 2);
}
