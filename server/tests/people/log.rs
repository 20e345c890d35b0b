//! What the audit log says of coming and going, of keys that were refused, and of calls with many jobs.

use crate::{
    ADA, SUE,
    common::{House, Serving},
    page, settled, submit,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

crate::on_both_databases! {
    coming_and_going_is_in_the_log,
    refused_keys_are_in_their_tenants_log,
    a_call_with_many_jobs_is_one_row_and_names_its_key,
    a_tenants_admin_key_hears_who_may_steer_queues,
}

/// The acts whose names begin so, newest first, once there are that many: who was refused is written within a second.
fn acts(house: &House, action: &str, at_least: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let log = house.json(&["audit", "list", "--action", action], "");
        let entries = log["entries"].as_array().unwrap().clone();
        if entries.len() >= at_least {
            return entries;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "only {entries:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn coming_and_going_is_in_the_log(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let ada = server.sign_in(ADA);
    server.post("/do/sign_out", &[], &[("cookie", &ada)]);
    let told: Vec<_> = acts(&house, "user.sign", 2)
        .iter()
        .map(|entry| (entry["actor"].clone(), entry["action"].clone()))
        .collect();
    assert_eq!(told, [(json!(ADA), json!("user.sign_out")), (json!(ADA), json!("user.sign_in"))]);
    for password in ["wrong one", "another wrong one", "a third"] {
        server.post("/do/sign_in", &[("email", ADA), ("password", password)], &[]);
        server.post("/do/sign_in", &[("email", "my password is x"), ("password", password)], &[]);
    }
    let failed = acts(&house, "user.sign_in_failed", 2);
    let tried: Vec<_> = failed.iter().map(|entry| entry["object_id"].as_str().unwrap()).collect();
    assert!(tried.contains(&ADA) && tried.contains(&"no such account"), "{failed:?}");
    assert!(failed.iter().all(|entry| entry["origin"] == "127.0.0.1" && entry["actor"] == "not signed in"));
    assert!(failed.len() <= 4, "repetitions are counted, not listed: {failed:?}");
    let log = house.json(&["audit", "list"], "").to_string();
    assert!(!log.contains("my password") && !log.contains("wrong one"), "nothing typed is kept: {log}");
    let sue = server.sign_in(SUE);
    let shown = page(&server, "/admin/audit?action=user.sign", &sue).body;
    assert!(shown.contains("user.sign_in_failed") && shown.contains("user.sign_out"));
}

fn ask(server: &Serving, key: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let headers = [("x-api-key", key), ("content-type", "application/json"), ("x-confirm", "true")];
    let answer = server.request(method, &format!("/api/v1{path}"), &headers, &text);
    (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
}

fn new_key(house: &House, name: &str, scope: &str) -> String {
    let line = ["key", "add", "--tenant", "acme", "--name", name, "--scope", scope];
    house.json(&line, "")["key"].as_str().unwrap().to_owned()
}

fn refused_keys_are_in_their_tenants_log(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let (reader, gone) = (new_key(&house, "reader", "read"), new_key(&house, "gone", "write"));
    let prefix = |key: &str| key.split('_').nth(1).unwrap().to_owned();
    house.json(&["key", "revoke", &prefix(&gone)], "");
    let wrong = format!("lh_{}_{}", prefix(&reader), "0".repeat(64));
    for _ in 0..20 {
        assert_eq!(ask(&server, &gone, "GET", "/jobs/list", &Value::Null).0, 401);
        assert_eq!(ask(&server, &reader, "POST", "/jobs", &json!({})).0, 403);
        assert_eq!(ask(&server, &wrong, "GET", "/jobs/list", &Value::Null).0, 401);
        assert_eq!(ask(&server, "lh_nobody_knows", "GET", "/jobs/list", &Value::Null).0, 401);
    }
    let rows = acts(&house, "key.refused", 4);
    let why = |about: &str| {
        rows.iter()
            .any(|row| row["reason"].as_str().unwrap().starts_with(about) && row["origin"] == "127.0.0.1")
    };
    assert!(
        why("revoked") && why("needs the scope write") && why("wrong secret") && why("not known"),
        "{rows:?}"
    );
    assert!(rows.len() <= 12, "80 refusals are a few rows: {rows:?}");
    assert!(rows.iter().any(|row| row["actor"] == format!("key gone (lh_{})", prefix(&gone))), "{rows:?}");
    let ada = server.sign_in(ADA);
    let own = page(&server, "/t/acme/settings/audit?action=key.refused", &ada).body;
    assert!(own.contains("key gone (lh_") && !own.contains("not known"), "{own}");
    assert!(!house.json(&["audit", "list"], "").to_string().contains(&"0".repeat(64)));
}

fn a_call_with_many_jobs_is_one_row_and_names_its_key(house: House) {
    settled(&house);
    house.json(&["definition", "add", "steps", "--domain", "media"], "");
    let server = house.serve(&[("JOBS_MAX_CONCURRENCY", "0")]);
    let key = new_key(&house, "ci", "write");
    let jobs: Vec<_> = (0..500).map(|_| json!({"definition_key": "steps", "payload": {}})).collect();
    let (status, made) = ask(&server, &key, "POST", "/jobs/bulk", &json!({"jobs": jobs}));
    assert!(status < 300, "{status} {made}");
    let rows = acts(&house, "job.create", 1);
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["reason"], "500 jobs in one call");
    let actor = rows[0]["actor"].as_str().unwrap();
    assert!(actor.starts_with("key ci (lh_"), "{actor}");
    let ada = server.sign_in(ADA);
    let job = page(&server, "/t/acme/jobs/7", &ada).body;
    assert!(job.contains(actor), "every job says who asked for it: {job}");
    submit(&server, "create_key", &[("slug", "acme"), ("key_name", "x"), ("key_scope", "read")], &ada);
    assert!(page(&server, "/t/acme/settings/audit", &ada).body.contains("500 jobs in one call"));
}

fn a_tenants_admin_key_hears_who_may_steer_queues(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let key = new_key(&house, "ci", "admin");
    for body in [json!({}), json!({"domain": "media", "queue": "default", "action": "pause"})] {
        let (status, problem) = ask(&server, &key, "POST", "/jobs/queue/control", &body);
        assert_eq!(status, 403, "before anything is said about fields: {problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            detail.contains("key of the installation") && !detail.contains("admin of this tenant"),
            "{detail}"
        );
    }
}
