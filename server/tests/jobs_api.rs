//! Jobs over the API: enqueue, lists, detail, steering, files, counts; and who may not.

mod common;

use common::{House, program::Programs, remote::new_key};
use serde_json::{Value, json};

on_both_databases! {
    the_printed_example_makes_a_job,
    a_job_is_named_by_its_kind_too,
    many_come_in_together_or_not_at_all,
    lists_are_filtered_sorted_and_paged,
    a_job_is_looked_at_from_all_sides,
    a_job_is_cancelled_and_retried,
    files_come_from_outside,
    jobs_are_counted,
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
    assert_eq!((status, &again["reason"], &again["id"]), (200, &json!("deduplicated"), &made["id"]));
    let (_, job) = programs.get(&format!("/jobs/{}", made["id"].as_str().unwrap()));
    assert_eq!((&job["request_id"], &job["source"]), (&json!("req-42"), &json!("manual")));
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
    assert_eq!((status, &again["reason"], &again["number"]), (200, &json!("idempotent"), &made["number"]));
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

fn many_come_in_together_or_not_at_all(house: House) {
    let schema = house.dir.path().join("schema.json");
    std::fs::write(&schema, r#"{"type": "object", "properties": {"x": {"type": "integer"}}}"#).unwrap();
    house.json(&["definition", "add", "strict", "--schema", schema.to_str().unwrap()], "");
    let programs = Programs::new(house);
    let job = |x: Value| json!({"definition_key": "strict", "payload": {"x": x}});
    let wrong = json!({"jobs": [job(json!(1)), job(json!(2)), job(json!(3)), job(json!("four"))]});
    let (status, problem) = programs.post("/jobs/bulk", &wrong);
    assert_eq!((status, field(&problem)), (422, "jobs[3].payload.x"), "{problem}");
    assert_eq!(programs.get("/jobs").1["total"], 0);
    let keyed = json!({"definition_key": "strict", "dedupe_key": "k"});
    let (status, made) = programs.post("/jobs/bulk", &json!({"jobs": [keyed, job(json!(1)), keyed]}));
    assert_eq!((status, &made["created"], &made["refused"]), (201, &json!(2), &json!(0)), "{made}");
    assert_eq!(made["jobs"][2]["number"], made["jobs"][0]["number"]);
    assert_eq!(made["jobs"][2]["reason"], "deduplicated");
    let (status, again) = programs.post("/jobs/bulk", &json!({"jobs": [keyed]}));
    assert_eq!((status, &again["created"]), (200, &json!(0)));
    let many = vec![job(json!(1)); 1_001];
    for wrong in [json!({"jobs": []}), json!({"jobs": many}), json!({}), json!({"jobs": [{"payload": 1}]})] {
        let (status, problem) = programs.post("/jobs/bulk", &wrong);
        assert_eq!(status, 422, "{problem}");
        assert!(field(&problem).starts_with("jobs") || field(&problem) == "body", "{problem}");
    }
    assert_eq!(programs.get("/jobs").1["total"], 2);
}

fn lists_are_filtered_sorted_and_paged(house: House) {
    let programs = Programs::new(house);
    let priorities = [10, 500, 20];
    for n in 0..7 {
        let body = json!({"definition_key": "steps", "payload": {"n": n, "deep": {"odd": n % 2 == 1}, "api_key": "hush"},
            "priority": priorities[n % 3], "owner_user_id": format!("u{}", n % 2)});
        assert_eq!(programs.post("/jobs", &body).0, 201);
    }
    let numbers = |path: &str| -> Vec<i64> {
        let (status, page) = programs.get(path);
        assert_eq!(status, 200, "{path}: {page}");
        page["jobs"].as_array().unwrap().iter().map(|job| job["number"].as_i64().unwrap()).collect()
    };
    let all = numbers("/jobs");
    assert!(all.len() == 7 && all.is_sorted_by(|a, b| a > b), "{all:?}");
    assert_eq!(numbers("/jobs/list"), all);
    for sort in ["created_at", "priority", "status"] {
        for order in ["asc", "desc"] {
            let whole = numbers(&format!("/jobs?sort_by={sort}&sort_order={order}"));
            let (mut paged, mut cursor) = (Vec::new(), String::new());
            loop {
                let path = format!("/jobs?sort_by={sort}&sort_order={order}&limit=2&cursor={cursor}");
                paged.extend(numbers(&path));
                match programs.get(&path).1["next_cursor"].as_str() {
                    Some(next) => cursor = next.to_owned(),
                    None => break,
                }
            }
            assert_eq!(paged, whole, "{sort} {order}");
        }
    }
    assert_eq!(numbers("/jobs?sort_by=priority&sort_order=asc&limit=1&offset=1").len(), 1);
    assert_eq!(numbers("/jobs?payload.deep.odd=true").len(), 3);
    assert_eq!(numbers("/jobs?payload.n=3").len(), 1);
    assert_eq!(numbers("/jobs?owner_user_id=u0&status=pending").len(), 4);
    assert_eq!(numbers("/jobs?status=running&status=completed,failed"), [0_i64; 0]);
    assert_eq!(numbers("/jobs?definition_key=steps&domain=media&source=manual&q=step").len(), 7);
    assert_eq!(
        numbers("/jobs?created_after=2020-01-01T00:00:00Z&created_before=2020-01-02T00:00:00Z").len(),
        0
    );
    let cursor = programs.get("/jobs?limit=2").1["next_cursor"].as_str().unwrap().to_owned();
    for (wrong, named) in [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=x", "limit"),
        ("offset=10001", "offset"),
        ("sort_by=color", "sort_by"),
        ("status=asleep", "status"),
        ("created_after=soon", "created_after"),
        ("cursor=xx", "cursor"),
        (&format!("cursor={cursor}&sort_by=priority"), "cursor"),
        (&format!("cursor={cursor}&offset=1"), "offset"),
        ("colour=red", "colour"),
        ("domain=%00", "domain"),
        ("payload.api_key=hush", "payload.api_key"),
        ("payload.a..b=1", "payload.a..b"),
        ("limit=1&limit=2", "limit"),
    ] {
        let (status, problem) = programs.get(&format!("/jobs?{wrong}"));
        assert_eq!((status, field(&problem)), (422, named), "{wrong}: {problem}");
    }
}

fn a_job_is_looked_at_from_all_sides(house: House) {
    let programs = Programs::new(house);
    let number = programs.enqueue(json!({"name": "x", "password": "hush-hush"}));
    let (status, job) = programs.get(&format!("/jobs/{number}"));
    assert_eq!(status, 200);
    assert!(!job.to_string().contains("hush-hush"), "{job}");
    assert_eq!(job["payload"]["name"], "x");
    let (_, why) = programs.get(&format!("/jobs/{number}/diagnosis"));
    assert!(why["causes"].as_array().is_some_and(|causes| !causes.is_empty()), "{why}");
    let worker = new_key(&programs.house, "acme", "worker");
    let claim = json!({"worker_id": "w"});
    let (_, claimed) = programs.post_as(&worker, "/worker/jobs/claim", &claim);
    let lease = &claimed["jobs"][0]["lease_id"];
    let lines = json!({"worker_id": "w", "lease_id": lease, "lines": [{"seq": 1, "text": "one"}, {"seq": 2, "text": "two"}]});
    let (status, answer) = programs.post_as(&worker, &format!("/worker/jobs/{number}/logs"), &lines);
    assert_eq!(status, 200, "{answer}");
    let done = json!({"worker_id": "w", "lease_id": lease, "result": {"rows": 3, "token": "secret-thing"}});
    assert_eq!(programs.post_as(&worker, &format!("/worker/jobs/{number}/complete"), &done).0, 200);
    let (_, log) = programs.get(&format!("/jobs/{number}/logs"));
    assert_eq!(
        (&log["attempt"], &log["lines"][1]["text"], &log["next_after"]),
        (&json!(1), &json!("two"), &json!(2))
    );
    let (_, rest) = programs.get(&format!("/jobs/{number}/logs?attempt=1&after=1&limit=5"));
    assert_eq!((rest["lines"].as_array().unwrap().len(), &rest["lines"][0]["seq"]), (1, &json!(2)));
    let (_, attempts) = programs.get(&format!("/jobs/{number}/attempts"));
    assert_eq!(attempts["attempts"][0]["status"], "succeeded", "{attempts}");
    let (_, units) = programs.get(&format!("/jobs/{number}/units"));
    assert_eq!((&units["units"], &units["counts"]), (&json!([]), &json!([])));
    let (_, ended) = programs.get(&format!("/jobs/{number}"));
    assert_eq!((&ended["status"], &ended["result"]["rows"]), (&json!("completed"), &json!(3)));
    assert!(!ended.to_string().contains("secret-thing"), "{ended}");
    for nowhere in
        ["/jobs/0", "/jobs/-1", "/jobs/nothing", "/jobs/999999", "/jobs/999999/logs", "/jobs/999999/units"]
    {
        assert_eq!(programs.get(nowhere).0, 404, "{nowhere}");
    }
    assert_eq!(programs.get(&format!("/jobs/{number}/logs?attempt=0")).0, 422);
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

fn jobs_are_counted(house: House) {
    let programs = Programs::new(house);
    programs.enqueue(json!({}));
    programs.enqueue(json!({}));
    let later = json!({"definition_key": "steps", "scheduled_for": "2099-01-01T00:00:00Z", "queue": "high"});
    assert_eq!(programs.post("/jobs", &later).0, 201);
    let (_, summary) = programs.get("/jobs/summary");
    assert_eq!(
        (&summary["counts"]["queued"], &summary["ready"], &summary["scheduled"]),
        (&json!(3), &json!(2), &json!(1))
    );
    assert_eq!(summary["running"], 0);
    assert!(summary["oldest_queued_age_seconds"].as_f64().is_some_and(|age| age >= 0.0), "{summary}");
    assert_eq!(programs.get("/jobs/stats").0, 403, "for admins");
    let admin = new_key(&programs.house, "acme", "admin");
    let (_, stats) = programs.get_as(&admin, "/jobs/stats?queue=high");
    assert_eq!(stats["stats"].as_array().unwrap().len(), 1, "{stats}");
    assert_eq!((&stats["stats"][0]["scheduled"], &stats["stats"][0]["queued"]), (&json!(1), &json!(0)));
    let other = new_key(&programs.house, "other", "admin");
    assert_eq!(programs.get_as(&other, "/jobs/stats").1["stats"], json!([]));
    assert_eq!(programs.get_as(&other, "/jobs/summary").1["counts"]["queued"], 0);
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

#[test]
fn the_description_knows_every_operation() {
    let programs = Programs::new(House::new());
    let answer = programs.server.get("/api/openapi.json", &[]);
    let described: Value = serde_json::from_str(&answer.body).unwrap();
    for (path, method) in [
        ("/jobs", "get"),
        ("/jobs", "post"),
        ("/jobs/list", "get"),
        ("/jobs/bulk", "post"),
        ("/jobs/summary", "get"),
        ("/jobs/stats", "get"),
        ("/jobs/{id}", "get"),
        ("/jobs/{id}/attachments", "get"),
        ("/jobs/{id}/attachments", "post"),
        ("/jobs/{id}/events", "get"),
        ("/jobs/events", "get"),
        ("/jobs/events/stream", "get"),
    ] {
        let operation = &described["paths"][format!("/api/v1{path}")][method];
        assert!(operation["summary"].is_string() && operation["security"].is_array(), "{method} {path}");
    }
    assert_eq!(described["paths"]["/api/v1/jobs"]["post"]["security"][0]["api_key"][0], "write");
    assert_eq!(described["paths"]["/api/v1/jobs"]["get"]["security"][0]["api_key"][0], "read");
}
