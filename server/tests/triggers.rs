//! Triggers and application events over HTTP, and schedulers that are killed.

mod common;

use common::{House, Serving, remote::new_key};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

on_both_databases! {
    the_printed_triggers_work_as_they_should,
    a_trigger_is_kept_changed_run_and_deleted,
    an_event_sets_off_jobs_once,
    each_key_may_do_its_part,
    bad_requests_name_the_field,
    each_minute_fires_once_though_schedulers_are_killed,
}

struct Desk {
    server: Serving,
    key: String,
    house: House,
}

const STRICT: &str = r#"{
    "type": "object",
    "properties": {"provider_id": {"type": "string", "format": "uuid"}, "path_prefix": {"type": "string"}},
    "required": ["provider_id"],
    "additionalProperties": false
}"#;

fn set_up(house: &House) -> String {
    house.json(&["tenant", "add", "Acme"], "");
    house.json(&["tenant", "add", "Other"], "");
    std::fs::write(house.dir.path().join("strict.json"), STRICT).unwrap();
    house.json(&["definition", "add", "sync-dropbox", "--schema", "strict.json"], "");
    house.json(&["definition", "add", "steps"], "");
    new_key(house, "acme", "admin")
}

impl Desk {
    fn new(house: House) -> Self {
        let key = set_up(&house);
        let server = house.serve(&[("JOBS_MAX_CONCURRENCY", "0")]);
        Self { server, key, house }
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        ask(&self.server, &self.key, method, path, body)
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, body)
    }
}

fn ask(server: &Serving, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = server.request(method, &format!("/api/v1{path}"), &[("x-api-key", key)], &body);
    (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
}

fn on_folder_change() -> Value {
    json!({
        "label": "Resync on folder change",
        "trigger_type": "event",
        "event_name": "provider.folder.updated",
        "definition_key": "sync-dropbox",
        "payload_template": {
            "provider_id": "{{event.provider_id}}",
            "path_prefix": "{{event.folder_path}}"
        },
        "dedupe_window_seconds": 120
    })
}

fn nightly() -> Value {
    json!({
        "label": "Nightly provider sync",
        "trigger_type": "schedule",
        "cron_expr": "0 2 * * *",
        "timezone": "America/New_York",
        "definition_key": "sync-dropbox",
        "payload_template": {"path_prefix": "/"}
    })
}

fn folder_updated(event_id: &str, provider: &str) -> Value {
    json!({
        "name": "provider.folder.updated",
        "event_id": event_id,
        "payload": {"provider_id": provider, "folder_path": "/inbox"}
    })
}

const PROVIDER: &str = "0192f3c4-0000-7000-8000-000000000001";

fn the_printed_triggers_work_as_they_should(house: House) {
    let desk = Desk::new(house);
    let (status, made) = desk.post("/jobs/triggers", &on_folder_change());
    assert_eq!((status, &made["dedupe_window_seconds"]), (201, &json!(120)), "{made}");
    assert_eq!(made["payload_template"]["provider_id"], "{{event.provider_id}}");

    let (status, problem) = desk.post("/jobs/triggers", &nightly());
    assert_eq!((status, &problem["code"]), (422, &json!("INVALID_PAYLOAD")));
    assert!(problem["detail"].as_str().unwrap().contains("provider_id"), "{problem}");
    assert_eq!(problem["errors"][0]["field"], "payload_template");

    let mut looser = nightly();
    looser["definition_key"] = json!("steps");
    let (status, made) = desk.post("/jobs/triggers", &looser);
    assert_eq!((status, &made["timezone"]), (201, &json!("America/New_York")), "{made}");
    assert!(made["next_due_at"].is_string() && made["catch_up"] == "once", "{made}");
}

fn a_trigger_is_kept_changed_run_and_deleted(house: House) {
    let desk = Desk::new(house);
    let mut schedule = nightly();
    schedule["definition_key"] = json!("steps");
    schedule["payload_template"] = json!({"due": "{{schedule.due_at}}", "password": "hunter2"});
    let (_, made) = desk.post("/jobs/triggers", &schedule);
    assert_ne!(made["payload_template"]["password"], "hunter2", "secrets are masked");
    let path = format!("/jobs/triggers/{}", made["id"].as_str().unwrap());
    let (status, changed) = desk.ask("PATCH", &path, &json!({"is_enabled": false, "label": "Off"}));
    assert_eq!((status, &changed["label"], &changed["next_due_at"]), (200, &json!("Off"), &Value::Null));
    let (status, fired) = desk.post(&format!("{path}/run"), &Value::Null);
    assert_eq!((status, &fired["outcome"]), (200, &json!("enqueued")), "{fired}");
    let (_, job) = desk.ask("GET", &format!("/jobs/{}", fired["job"]["number"]), &Value::Null);
    assert_eq!(job["id"], fired["job"]["id"], "{job}");
    let (_, shown) = desk.ask("GET", &path, &Value::Null);
    assert_eq!(shown["firings"][0]["job"], fired["job"], "{shown}");
    let (_, list) = desk.ask("GET", "/jobs/triggers?limit=1", &Value::Null);
    assert_eq!((&list["triggers"][0]["id"], &list["next_after"]), (&made["id"], &made["id"]));
    let next = format!("/jobs/triggers?after={}", made["id"].as_str().unwrap());
    assert_eq!(desk.ask("GET", &next, &Value::Null).1["triggers"], json!([]));
    assert_eq!(desk.ask("DELETE", &path, &Value::Null).0, 204);
    for (method, path) in [("DELETE", path.clone()), ("PATCH", path.clone()), ("POST", format!("{path}/run"))]
    {
        assert_eq!(desk.ask(method, &path, &json!({})).0, 404, "{method}");
    }
    let preview = json!({"cron_expr": "30 2 * * *", "timezone": "America/New_York"});
    let (status, preview) = desk.post("/jobs/triggers/preview", &preview);
    assert_eq!((status, preview["firings"].as_array().unwrap().len()), (200, 10), "{preview}");
    assert_eq!(desk.post("/jobs/triggers/preview", &json!({"cron_expr": "@daily"})).1["timezone"], "UTC");
}

fn an_event_sets_off_jobs_once(house: House) {
    let desk = Desk::new(house);
    let (_, trigger) = desk.post("/jobs/triggers", &on_folder_change());
    let (status, first) = desk.post("/events", &folder_updated("e-1", PROVIDER));
    assert_eq!((status, first["jobs"].as_array().unwrap().len()), (201, 1), "{first}");
    let (_, job) = desk.ask("GET", &format!("/jobs/{}", first["jobs"][0]["number"]), &Value::Null);
    assert_eq!(job["payload"], json!({"provider_id": PROVIDER, "path_prefix": "/inbox"}), "{job}");
    assert_eq!(job["source"], "event");
    let (status, again) = desk.post("/events", &folder_updated("e-1", PROVIDER));
    assert_eq!((status, &again["replayed"], &again["jobs"]), (200, &json!(true), &first["jobs"]));
    let (status, same) = desk.post("/events", &folder_updated("e-2", PROVIDER));
    assert_eq!((status, &same["jobs"]), (201, &json!([])));
    assert_eq!(same["triggers"][0]["outcome"], "deduplicated", "{same}");
    let (status, conflict) = desk.post("/events", &folder_updated("e-1", "another"));
    assert_eq!((status, &conflict["code"]), (409, &json!("IDEMPOTENCY_CONFLICT")));
    let (status, refused) = desk.post("/events", &folder_updated("e-3", "no uuid"));
    assert_eq!((status, &refused["triggers"][0]["code"]), (201, &json!("INVALID_PAYLOAD")), "{refused}");
    let path = format!("/jobs/triggers/{}", trigger["id"].as_str().unwrap());
    let (_, shown) = desk.ask("GET", &path, &Value::Null);
    assert!(shown["last_error"].as_str().unwrap().contains("provider_id"), "{shown}");
    let (_, off) = desk.ask("PATCH", &path, &json!({"is_enabled": false}));
    assert_eq!(off["is_enabled"], false);
    let (_, off) = desk.post("/events", &folder_updated("e-4", PROVIDER));
    assert_eq!(off["triggers"][0]["outcome"], "disabled", "{off}");
}

fn each_key_may_do_its_part(house: House) {
    let desk = Desk::new(house);
    let (_, trigger) = desk.post("/jobs/triggers", &on_folder_change());
    let path = format!("/jobs/triggers/{}", trigger["id"].as_str().unwrap());
    let read = new_key(&desk.house, "acme", "read");
    let write = new_key(&desk.house, "acme", "write");
    let foreign = new_key(&desk.house, "other", "admin");
    let everywhere = ["key", "add", "--installation", "--name", "all", "--scope", "admin"];
    let everywhere = desk.house.json(&everywhere, "")["key"].as_str().unwrap().to_owned();
    let status =
        |key: &str, method: &str, path: &str, body: &Value| ask(&desk.server, key, method, path, body).0;
    let nothing = Value::Null;
    for (method, path, body, read_may, write_may) in [
        ("GET", "/jobs/triggers", &nothing, 200, 200),
        ("GET", &path, &nothing, 200, 200),
        ("POST", "/jobs/triggers/preview", &json!({"cron_expr": "@daily"}), 200, 200),
        ("POST", "/events", &folder_updated("e", PROVIDER), 403, 201),
        ("POST", "/jobs/triggers", &on_folder_change(), 403, 403),
        ("PATCH", &path, &json!({"label": "x"}), 403, 403),
        ("POST", &format!("{path}/run"), &json!({}), 403, 403),
        ("DELETE", &path, &nothing, 403, 403),
    ] {
        assert_eq!(status(&read, method, path, body), read_may, "read: {method} {path}");
        assert_eq!(status(&write, method, path, body), write_may, "write: {method} {path}");
        assert_eq!(status("lh_none_x", method, path, body), 401, "{method} {path}");
    }
    for (method, path) in [("GET", path.clone()), ("PATCH", path.clone()), ("DELETE", path.clone())] {
        assert_eq!(status(&foreign, method, &path, &json!({})), 404, "{method}");
    }
    assert_eq!(ask(&desk.server, &foreign, "GET", "/jobs/triggers", &nothing).1["triggers"], json!([]));
    let (code, problem) = ask(&desk.server, &everywhere, "POST", "/events", &folder_updated("x", PROVIDER));
    assert_eq!((code, &problem["errors"][0]["field"]), (422, &json!("X-Tenant")), "{problem}");
}

fn bad_requests_name_the_field(house: House) {
    let desk = Desk::new(house);
    let (_, trigger) = desk.post("/jobs/triggers", &on_folder_change());
    let path = format!("/jobs/triggers/{}", trigger["id"].as_str().unwrap());
    let changed = |field: &str, value: Value| {
        let mut body = nightly();
        body[field] = value;
        body
    };
    for (method, path, body, field) in [
        ("POST", "/jobs/triggers", changed("cron_expr", json!("0 25 * * *")), "cron_expr"),
        ("POST", "/jobs/triggers", changed("cron_expr", json!("0 0 31 2 *")), "cron_expr"),
        ("POST", "/jobs/triggers", changed("timezone", json!("Mars/Olympus")), "timezone"),
        ("POST", "/jobs/triggers", changed("trigger_type", json!("dance")), "trigger_type"),
        ("POST", "/jobs/triggers", changed("unknown", json!(1)), "unknown"),
        ("POST", "/jobs/triggers", changed("definition_key", json!("none")), "definition_key"),
        ("PATCH", &path, json!({"trigger_type": "schedule"}), "trigger_type"),
        ("PATCH", &path, json!({"cron_expr": "* * * * *"}), "cron_expr"),
        ("PATCH", &path, json!({"payload_template": {"a": "{{event.x"}}), "payload_template/a"),
        ("POST", "/jobs/triggers/preview", json!({"cron_expr": "soon"}), "cron_expr"),
        ("POST", "/events", json!({"name": "two words"}), "name"),
        ("POST", "/events", json!({"name": "x", "payload": []}), "payload"),
        ("GET", "/jobs/triggers?limit=0", Value::Null, "limit"),
        ("GET", "/jobs/triggers?after=x", Value::Null, "after"),
        ("GET", "/jobs/triggers?afer=x", Value::Null, "afer"),
    ] {
        let (status, problem) = desk.ask(method, path, &body);
        assert_eq!(status, 422, "{method} {path} {body}: {problem}");
        assert_eq!(problem["errors"][0]["field"], field, "{method} {path} {body}: {problem}");
    }
    for path in ["/jobs/triggers/none", "/jobs/triggers/01890000-0000-7000-8000-000000000000"] {
        assert_eq!(desk.ask("PATCH", path, &json!({})).0, 404, "{path}");
    }
}

const TRIGGERS: usize = 40;
const MINUTES_PER_ROUND: i64 = 3;

/// Servers on clocks of the test's own. In each round one is killed -9 a little later in what it is doing, another takes
/// over, and in the end every minute has made one job for each trigger.
fn each_minute_fires_once_though_schedulers_are_killed(house: House) {
    let key = set_up(&house);
    let start: i64 = 1_790_000_040;
    let serve = |epoch: i64| {
        house.serve(&[("JOBS_MAX_CONCURRENCY", "0"), ("JOBS_TEST_NOW_EPOCH", &epoch.to_string())])
    };
    let server = serve(start);
    let mut ids = Vec::new();
    for n in 0..TRIGGERS {
        let body = json!({
            "label": format!("Minute {n}"), "trigger_type": "schedule", "cron_expr": "* * * * *", "catch_up": "all",
            "definition_key": "steps", "payload_template": {"due": "{{schedule.due_at}}"}
        });
        let (status, made) = ask(&server, &key, "POST", "/jobs/triggers", &body);
        assert_eq!(status, 201, "{made}");
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    drop(server);
    for (round, wait) in [0, 15, 40, 90].into_iter().enumerate() {
        let passed = (round as i64 + 1) * MINUTES_PER_ROUND;
        let killed = serve(start + passed * 60);
        // Not to wait for anything: to meet it in another moment each time.
        std::thread::sleep(Duration::from_millis(wait));
        killed.signal(Signal::SIGKILL);
        let (left, right) = (serve(start + passed * 60), serve(start + passed * 60));
        let expected = passed as usize;
        let began = Instant::now();
        loop {
            let fired: Vec<_> = ids.iter().map(|id| firings(&left, &key, id)).collect();
            assert!(fired.iter().all(|times| times.len() <= expected), "more than {expected} firings");
            if fired.iter().all(|times| times.len() == expected) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "lost after {passed} minutes: {fired:?}");
        }
        drop((killed, left, right));
    }
    let server = serve(start + 4 * MINUTES_PER_ROUND * 60);
    let minutes = 4 * MINUTES_PER_ROUND as usize;
    for id in &ids {
        let times: HashSet<_> = firings(&server, &key, id).into_iter().collect();
        assert_eq!(times.len(), minutes, "each minute once");
    }
    let (_, jobs) = ask(&server, &key, "GET", "/jobs/list?limit=1", &Value::Null);
    assert_eq!(jobs["total"], json!(TRIGGERS * minutes), "{jobs}");
}

/// The times that made a job; anything else fails the test.
fn firings(server: &Serving, key: &str, id: &str) -> Vec<String> {
    let (status, shown) = ask(server, key, "GET", &format!("/jobs/triggers/{id}"), &Value::Null);
    assert_eq!(status, 200, "{shown}");
    let firings = shown["firings"].as_array().unwrap().iter();
    firings
        .map(|firing| {
            assert_eq!(firing["outcome"], "enqueued", "{firing}");
            firing["due_at"].as_str().unwrap().to_owned()
        })
        .collect()
}
