//! Jobs over the API: enqueue, cancel, retry, files; and who may not.

mod common;

use common::{House, program::Programs, remote::new_key};
use serde_json::{Value, json};

on_both_databases! {
    the_printed_example_makes_a_job,
    a_job_is_named_by_its_kind_too,
    many_come_in_at_once_each_with_its_answer,
    a_job_is_cancelled_and_retried,
    files_come_from_outside,
    another_tenants_jobs_do_not_exist,
}

fn field(problem: &Value) -> &str {
    problem["errors"][0]["field"].as_str().unwrap_or_default()
}

fn the_printed_example_makes_a_job(house: House) {
    house.json(&["definition", "add", "recompute-trained-tags", "--domain", "commands"], "");
    let programs = Programs::new(house);
    let body = json!({
        "definition_key": "recompute-trained-tags",
        "payload": {"model": "siglip"},
        "priority": 100,
        "scheduled_for": "2026-02-16T10:30:00Z",
        "dedupe_key": "tenant:bcg:training:daily"
    });
    let headers = [("x-api-key", programs.key.as_str()), ("x-request-id", "req-42")];
    let (status, made) = programs.post_with(&headers, "/jobs", &body);
    assert_eq!((status, &made["created"], &made["status"]), (201, &json!(true), &json!("queued")), "{made}");
    for known in ["id", "tenant_id", "definition_key", "queued_at", "number"] {
        assert!(!made[known].is_null(), "{known}: {made}");
    }
    let (status, again) = programs.post("/jobs", &body);
    assert_eq!((status, &again["deduplicated"], &again["id"]), (200, &json!(true), &made["id"]));
    let (_, job) = programs.get(&format!("/jobs/{}", made["id"].as_str().unwrap()));
    assert_eq!((&job["request_id"], &job["source"]), (&json!("req-42"), &json!("api")));
    assert!(job["requested_by"].as_str().unwrap().starts_with("key "), "{job}");
    assert_eq!((&job["scheduled_for"], &job["priority"]), (&Value::Null, &json!(100)), "a past time is now");
}

fn a_job_is_named_by_its_kind_too(house: House) {
    let programs = Programs::new(house);
    let body = json!({"domain": "media", "queue": "high", "job_type": "steps", "payload": {"n": 1}, "owner_user_id": "7",
        "max_retries": 4, "idempotency_key": "once"});
    let (status, made) = programs.post("/jobs", &body);
    assert_eq!(status, 201, "{made}");
    let keyed = |key: &str, payload: Value| {
        let headers = [("x-api-key", programs.key.as_str()), ("idempotency-key", key)];
        let body = json!({"domain": "media", "queue": "high", "job_type": "steps", "payload": payload});
        programs.post_with(&headers, "/jobs", &body)
    };
    let (status, again) = keyed("once", json!({"n": 1}));
    assert_eq!((status, &again["replayed"], &again["number"]), (200, &json!(true), &made["number"]));
    let (status, conflict) = keyed("once", json!({"n": 2}));
    assert_eq!((status, &conflict["code"]), (409, &json!("IDEMPOTENCY_CONFLICT")));
    let (_, job) = programs.get(&format!("/jobs/{}", made["number"]));
    assert_eq!(
        (&job["queue"], &job["owner_user_id"], &job["max_attempts"]),
        (&json!("high"), &json!("7"), &json!(4))
    );
    for (wrong, named) in [
        (json!({"payload": {}}), "definition_key"),
        (json!({"domain": "media", "job_type": "nothing"}), "job_type"),
        (json!({"definition_key": "steps", "domain": "other"}), "definition_key"),
        (json!({"definition_key": "nothing"}), "definition_key"),
        (json!({"definition_key": "steps", "priority": 0}), "priority"),
        (json!({"definition_key": "steps", "scheduled_for": "soon"}), "scheduled_for"),
        (json!({"definition_key": "steps", "color": "red"}), "color"),
        (json!({"definition_key": "steps", "payload": [1]}), "payload"),
        (json!({"definition_key": "steps", "parent_job_id": "999999"}), "parent_job_id"),
        (json!({"definition_key": "steps", "dedupe_key": "a\0b"}), "dedupe_key"),
    ] {
        let (status, problem) = programs.post("/jobs", &wrong);
        assert_eq!((status, field(&problem)), (422, named), "{wrong}: {problem}");
    }
    assert_eq!(programs.get("/jobs").1["total"], 1, "nothing else was made");
}

fn many_come_in_at_once_each_with_its_answer(house: House) {
    let schema = house.dir.path().join("schema.json");
    std::fs::write(&schema, r#"{"type": "object", "properties": {"x": {"type": "integer"}}}"#).unwrap();
    house.json(&["definition", "add", "strict", "--schema", schema.to_str().unwrap()], "");
    let programs = Programs::new(house);
    let job = |x: Value| json!({"definition_key": "strict", "payload": {"x": x}});
    let keyed = json!({"definition_key": "strict", "dedupe_key": "k"});
    let orphan = json!({"definition_key": "strict", "parent_job_id": "999999"});
    let unknown = json!({"domain": "media", "job_type": "nothing"});
    let asked = json!({"jobs": [keyed, job(json!("two")), orphan, unknown, job(json!(1)), keyed]});
    let (status, made) = programs.post("/jobs/bulk", &asked);
    assert_eq!((status, &made["created"], &made["refused"]), (201, &json!(2), &json!(3)), "{made}");
    let named: Vec<_> = made["jobs"].as_array().unwrap().iter().map(|item| field(&item["problem"])).collect();
    assert_eq!(named, ["", "payload.x", "parent_job_id", "job_type", "", ""], "each in its place");
    assert_eq!(made["jobs"][5]["number"], made["jobs"][0]["number"]);
    assert_eq!(made["jobs"][5]["deduplicated"], true);
    assert_eq!(made["jobs"][1]["problem"]["status"], 422);
    let (status, again) = programs.post("/jobs/bulk", &json!({"jobs": [keyed, job(json!("x"))]}));
    assert_eq!((status, &again["created"], &again["refused"]), (200, &json!(0), &json!(1)));
    let (status, none) = programs.post("/jobs/bulk", &json!({"jobs": [job(json!("x")), orphan]}));
    assert_eq!((status, field(&none)), (422, "jobs[0].payload.x"), "{none}");
    let many = |count: usize| json!({"jobs": vec![json!({"definition_key": "strict"}); count]});
    for wrong in [json!({"jobs": []}), many(10_001), json!({}), json!({"jobs": [{"priority": "high"}]})] {
        let (status, problem) = programs.post("/jobs/bulk", &wrong);
        assert_eq!(status, 422, "{problem}");
        assert!(field(&problem).starts_with("jobs") || field(&problem) == "body", "{problem}");
    }
    assert_eq!(programs.get("/jobs").1["total"], 2);
    let (status, made) = programs.post("/jobs/bulk", &many(10_000));
    assert_eq!((status, &made["created"]), (201, &json!(10_000)));
}

fn a_job_is_cancelled_and_retried(house: House) {
    let programs = Programs::new(house);
    let (_, made) = programs.post("/jobs", &json!({"definition_key": "steps", "owner_user_id": "u7"}));
    let number = made["number"].as_i64().unwrap();
    let (status, early) = programs.post(&format!("/jobs/{number}/retry"), &json!({}));
    assert_eq!((status, &early["code"]), (409, &json!("WRONG_STATE")));
    let (status, cancelled) = programs.post(&format!("/jobs/{number}/cancel"), &json!({}));
    assert_eq!(
        (status, &cancelled["outcome"], &cancelled["status"]),
        (200, &json!("cancelled"), &json!("cancelled"))
    );
    let (_, job) = programs.get(&format!("/jobs/{number}"));
    assert_eq!(job["cancellation_reason"], "Asked for over the API");
    assert_eq!(programs.post(&format!("/jobs/{number}/cancel"), &json!({"reason": "again"})).0, 409);
    let (status, retried) = programs.post(&format!("/jobs/{number}/retry"), &json!({}));
    assert_eq!((status, &retried["parent_number"]), (201, &json!(number)), "{retried}");
    assert_eq!(retried["parent_job_id"], made["id"]);
    let (_, new) = programs.get(&format!("/jobs/{}", retried["id"].as_str().unwrap()));
    assert_eq!((&new["owner_user_id"], &new["parent"]["number"]), (&json!("u7"), &json!(number)));
    assert_eq!(programs.post(&format!("/jobs/{number}/retry"), &json!({"now": true})).0, 422);
}

fn files_come_from_outside(house: House) {
    let programs = Programs::new(house);
    let number = programs.enqueue(json!({"token": "open-sesame"}));
    let path = format!("/jobs/{number}/attachments");
    let (status, kept) = programs.post(&path, &json!({"name": "note.txt", "text": "it was open-sesame\n"}));
    assert_eq!((status, &kept["content_type"]), (201, &json!("text/plain")), "{kept}");
    let file = programs.server.get(kept["url"].as_str().unwrap(), &[]);
    assert_eq!((file.status, file.body.as_str()), (200, "it was ***REDACTED***\n"));
    let bytes = json!({"name": "b.bin", "content_type": "image/png", "base64": "/wAB"});
    assert_eq!(programs.post(&path, &bytes).1["size"], 3);
    let (_, listed) = programs.get(&path);
    let names: Vec<_> =
        listed["attachments"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["b.bin", "note.txt"]);
    for (wrong, named) in [
        (json!({"name": "a"}), "text"),
        (json!({"name": "a", "text": "x", "base64": "eA=="}), "text"),
        (json!({"name": "a", "base64": "no base64"}), "base64"),
        (json!({"name": "../a", "text": "x"}), "name"),
        (json!({"name": "a", "text": "x", "content_type": "text/html; charset=x"}), "content_type"),
    ] {
        let (status, problem) = programs.post(&path, &wrong);
        assert_eq!((status, field(&problem)), (422, named), "{wrong}");
    }
    assert_eq!(programs.post("/jobs/999999/attachments", &json!({"name": "a", "text": "x"})).0, 404);
}

fn another_tenants_jobs_do_not_exist(house: House) {
    let programs = Programs::new(house);
    let number = programs.enqueue(json!({"n": 1}));
    let (_, job) = programs.get(&format!("/jobs/{number}"));
    let stranger = new_key(&programs.house, "other", "admin");
    for name in [number.to_string(), job["id"].as_str().unwrap().to_owned()] {
        for part in ["", "/attempts", "/logs", "/diagnosis", "/units", "/attachments", "/events"] {
            let (status, problem) = programs.get_as(&stranger, &format!("/jobs/{name}{part}"));
            assert_eq!((status, &problem["code"]), (404, &json!("NOT_FOUND")), "{part}");
        }
        let file = json!({"name": "a", "text": "x"});
        for (part, body) in [("cancel", json!({})), ("retry", json!({})), ("attachments", file)] {
            let (status, problem) = programs.post_as(&stranger, &format!("/jobs/{name}/{part}"), &body);
            assert_eq!((status, &problem["code"]), (404, &json!("NOT_FOUND")), "{part}");
        }
    }
    for path in ["/jobs", "/jobs?payload.n=1", &format!("/jobs?q={number}"), "/jobs?sort_by=priority"] {
        assert_eq!(programs.get_as(&stranger, path).1["total"], 0, "{path}");
    }
    assert_eq!(programs.get_as(&stranger, "/jobs/events").1["events"], json!([]));
    let child = json!({"definition_key": "steps", "parent_job_id": number.to_string()});
    assert_eq!(programs.post_as(&stranger, "/jobs", &child).0, 422);
    let reader = new_key(&programs.house, "acme", "read");
    let enqueue = json!({"definition_key": "steps"});
    assert_eq!(programs.get_as(&reader, "/jobs").0, 200);
    assert_eq!(programs.post_as(&reader, "/jobs", &enqueue).0, 403);
    assert_eq!(programs.post_as(&reader, &format!("/jobs/{number}/cancel"), &json!({})).0, 403);
    let worker = new_key(&programs.house, "acme", "worker");
    assert_eq!((programs.get_as(&worker, "/jobs").0, programs.get_as("", "/jobs").0), (403, 401));
}
