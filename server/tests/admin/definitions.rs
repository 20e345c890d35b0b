//! Kinds of jobs, made and changed over the API.

use crate::{
    common::House,
    office::{Office, code, key},
    on_both_databases,
};
use serde_json::{Value, json};

on_both_databases!(
    the_printed_definition_is_made_and_changed,
    who_runs_a_kind_of_job_follows_from_its_domain,
    only_who_governs_makes_definitions,
    a_schema_that_cannot_be_trusted_is_refused,
);

const PATH: &str = "/admin/jobs/definitions";

fn printed() -> Value {
    serde_json::from_str(
        r#"{
  "key": "sync-dropbox",
  "description": "Sync provider updates for tenant",
  "arg_schema": {
    "type": "object",
    "properties": {
      "provider_id": { "type": "string", "format": "uuid" },
      "path_prefix": { "type": "string" }
    },
    "required": ["provider_id"],
    "additionalProperties": false
  },
  "timeout_seconds": 3600,
  "max_attempts": 3
}"#,
    )
    .unwrap()
}

fn enqueue_status(office: &Office, payload: &str) -> bool {
    let cookie = office.server.sign_in("ann@example.org");
    let form = [("slug", "acme"), ("definition_key", "sync-dropbox"), ("payload_json", payload)];
    let answer = office.server.post("/do/enqueue", &form, &[("cookie", &cookie)]);
    answer.header("location").is_some_and(|to| to.contains("/jobs/") && !to.contains("/jobs/new"))
}

fn the_printed_definition_is_made_and_changed(house: House) {
    let office = Office::new(house);
    let (status, made) = office.post(&office.governor, PATH, &printed());
    assert_eq!(status, 201, "{made}");
    assert_eq!(
        (&made["executor"], &made["job_type"], &made["is_active"]),
        (&json!("command"), &json!("sync-dropbox"), &json!(true))
    );
    let (status, again) = office.post(&office.governor, PATH, &printed());
    assert_eq!((status, code(&again)), (409, "ALREADY_EXISTS"));
    assert!(!enqueue_status(&office, r#"{"provider_id": "7"}"#), "the format is asserted");
    assert!(enqueue_status(&office, r#"{"provider_id": "0d9c1f9e-58f4-4a39-8f2e-6d6b1c5a7a10"}"#));

    let (status, all) = office.get(&office.governor, PATH);
    assert_eq!(status, 200);
    assert!(all["definitions"].as_array().unwrap().contains(&made), "{all}");

    let patch = |name: &str, body: &Value| {
        office.ask(&office.governor, "PATCH", &format!("{PATH}/{name}"), Some(body), None)
    };
    let (status, changed) =
        patch("sync-dropbox", &json!({"timeout_seconds": 60, "limits": {"max_in_flight": 2}}));
    assert_eq!(
        (status, &changed["timeout_seconds"], &changed["limits"]["max_in_flight"]),
        (200, &json!(60), &json!(2)),
        "{changed}"
    );
    assert_eq!((&changed["arg_schema"], &changed["max_attempts"]), (&made["arg_schema"], &json!(3)));
    let (status, off) = patch(made["id"].as_str().unwrap(), &json!({"is_active": false}));
    assert_eq!((status, &off["is_active"]), (200, &json!(false)));
    assert!(
        !enqueue_status(&office, r#"{"provider_id": "0d9c1f9e-58f4-4a39-8f2e-6d6b1c5a7a10"}"#),
        "it is off at once"
    );
    assert_eq!(patch("nothing", &json!({"is_active": true})).0, 404);
    for wrong in [
        json!({}),
        json!({"key": "x"}),
        json!({"max_attempts": 0}),
        json!({"limits": {"max_in_flight": 0}}),
        json!({"stages": [{"name": "a", "from": 50, "to": 10}]}),
        json!({"retry": {"base_seconds": -1}}),
    ] {
        let (status, refused) = patch("sync-dropbox", &wrong);
        assert_eq!((status, code(&refused)), (422, "INVALID_INPUT"), "{wrong}");
    }
}

fn who_runs_a_kind_of_job_follows_from_its_domain(house: House) {
    let office = Office::new(house);
    for (body, executor, domain) in [
        (json!({"key": "a"}), "command", "commands"),
        (json!({"key": "b", "executor": "command", "domain": "media"}), "command", "media"),
        (json!({"key": "c", "domain": "media"}), "remote", "media"),
        (json!({"key": "d", "executor": "remote"}), "remote", "remote"),
    ] {
        let (status, made) = office.post(&office.governor, PATH, &body);
        assert_eq!(status, 201, "{made}");
        assert_eq!((&made["executor"], &made["domain"]), (&json!(executor), &json!(domain)), "{body}");
    }
}

fn only_who_governs_makes_definitions(house: House) {
    let office = Office::new(house);
    let write = key(&office.house, &["--tenant", "acme"], "write");
    let writes_everywhere = key(&office.house, &["--installation"], "write");
    for key in [&office.admin, &write, &writes_everywhere, &office.worker] {
        assert_eq!(office.post(key, PATH, &printed()).0, 403);
        let change = json!({"is_active": false});
        assert_eq!(office.ask(key, "PATCH", &format!("{PATH}/export"), Some(&change), None).0, 403);
    }
    assert_eq!(office.post("lh_no_no", PATH, &printed()).0, 401);
    for key in [&office.worker, &office.admin] {
        assert_eq!(office.get(key, PATH).0, 403);
    }
}

fn a_schema_that_cannot_be_trusted_is_refused(house: House) {
    let office = Office::new(house);
    let deep = (0..50).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
    for schema in [
        json!({"$ref": "http://127.0.0.1:1/schema.json"}),
        json!({"properties": {"a": {"$ref": "file:///etc/passwd"}}}),
        json!({"pattern": "((a{1000}){1000}){1000}"}),
        json!({"$ref": "#"}),
        json!({"type": "strung"}),
        json!({"properties": {"a\u{0}b": {}}}),
        json!([]),
        deep,
    ] {
        let body = json!({"key": "fresh", "arg_schema": schema});
        let (status, refused) = office.post(&office.governor, PATH, &body);
        let field = refused["errors"][0]["field"].as_str().unwrap_or_default();
        assert_eq!((status, field), (422, "arg_schema"), "{refused}");
    }
    let stage = json!([{"name": "a\u{0}b", "from": 0, "to": 100}]);
    for body in [
        json!({"key": "x", "stages": stage}),
        json!({"key": "a b"}),
        json!({"key": "x", "executor": "builtin"}),
        json!({"key": "x", "executor": "command", "job_type": "y"}),
        json!({}),
        json!({"key": "x", "colour": 1}),
    ] {
        assert_eq!(office.post(&office.governor, PATH, &body).0, 422, "{body}");
    }
}
