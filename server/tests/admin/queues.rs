//! Steering queues, and looking at workers and the configuration.

use crate::{common::House, office::Office, on_both_databases};
use serde_json::json;

on_both_databases!(a_queue_is_paused_drained_and_resumed, workers_and_the_configuration_are_shown);

fn a_queue_is_paused_drained_and_resumed(house: House) {
    let office = Office::new(house);
    let status = "/jobs/queue/status?domain=chatbooks&queue=default";
    let closed = |paused: bool, drain: bool| (200, json!({"paused": paused, "drain": drain}));
    let control = |action: &str| json!({"domain": "chatbooks", "queue": "default", "action": action});
    assert_eq!(office.get(&office.admin, status), closed(false, false));
    assert_eq!(office.post(&office.governor, "/jobs/queue/control", &control("pause")).0, 400);
    assert_eq!(office.confirm(&office.admin, "/jobs/queue/control", &control("pause")).0, 403);
    let steer = |action: &str| office.confirm(&office.governor, "/jobs/queue/control", &control(action));
    assert_eq!(steer("pause"), closed(true, false));
    office.enqueue("export", 1);
    assert_eq!(office.claim().len(), 0);
    assert_eq!(steer("drain"), closed(true, true));
    assert_eq!(office.get(&office.admin, status), closed(true, true));
    assert_eq!(steer("resume"), closed(false, false));
    assert_eq!(office.claim().len(), 1);
    assert_eq!(steer("stop").0, 422);
    assert_eq!(office.get(&office.admin, "/jobs/queue/status?domain=chatbooks").0, 422);
}

fn workers_and_the_configuration_are_shown(house: House) {
    let env = [
        ("JOBS_SECRET_REJECT", "true"),
        ("JOBS_SECRET_REDACT", "true"),
        ("JOBS_LEASE_SECOND", "5"),
        ("JOBS_LEASE_SECONDS", "45"),
    ];
    let office = Office::with(house, &env);
    office.claim();
    let (status, answer) = office.get(&office.governor, "/admin/workers");
    assert_eq!(status, 200, "{answer}");
    let workers = answer["workers"].as_array().unwrap();
    assert!(workers.iter().any(|w| w["metadata"]["kind"] == "remote" && w["stale"] == false), "{answer}");
    assert_eq!(office.get(&office.admin, "/admin/workers").0, 403);

    let (status, config) = office.get(&office.governor, "/config/jobs");
    assert_eq!(status, 200, "{config}");
    assert_eq!(config["standard_queues"], json!(["default", "high", "low"]));
    assert!(["sqlite", "postgres"].contains(&config["backend"].as_str().unwrap()));
    assert_eq!(
        (&config["flags"]["JOBS_SECRET_REJECT"], &config["flags"]["JOBS_LOG_JSON"]),
        (&json!(true), &json!(false))
    );
    let setting = |name: &str| {
        let all = config["settings"].as_array().unwrap();
        let found = all.iter().find(|s| s["name"] == name).unwrap();
        (found["value"].as_str().unwrap().to_owned(), found["source"].as_str().unwrap().to_owned())
    };
    assert_eq!(setting("JOBS_LEASE_SECONDS"), ("45".to_owned(), "environment".to_owned()));
    assert_eq!(setting("JOBS_LEASE_MAX_SECONDS"), ("3600".to_owned(), "default".to_owned()));
    let warnings = config["warnings"].to_string();
    assert!(
        warnings.contains("JOBS_LEASE_SECOND ") && warnings.contains("nothing is redacted"),
        "{warnings}"
    );
    assert_eq!(office.get(&office.admin, "/config/jobs").0, 403);
}
