//! Jobs over the API: lists, one job from all sides, counts, and the description of it all.

mod common;

use common::{House, program::Programs, remote::new_key};
use serde_json::{Value, json};

on_both_databases! {
    lists_are_filtered_sorted_and_paged,
    a_job_is_looked_at_from_all_sides,
    jobs_are_counted,
}

fn field(problem: &Value) -> &str {
    problem["errors"][0]["field"].as_str().unwrap_or_default()
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
    assert_eq!(numbers("/jobs?definition_key=steps&domain=media&source=api&q=step").len(), 7);
    assert_eq!(
        numbers("/jobs?created_after=2020-01-01T00:00:00Z&created_before=2020-01-02T00:00:00Z").len(),
        0
    );
    wrong_parameters_are_named(&programs);
}

fn wrong_parameters_are_named(programs: &Programs) {
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
