//! `leasehold doctor` on a healthy house, and on houses that are broken in one way each.

mod common;

use common::{House, PASSWORD};
use serde_json::Value;
use sqlx::{Connection, SqliteConnection};
use std::net::TcpListener;

/// Whether it ended well, and what it found.
fn examine(house: &House, env: &[(&str, &str)]) -> (bool, Value) {
    let mut command = house.command(&["doctor", "--json"]);
    if !env.iter().any(|(name, _)| *name == "JOBS_ADDR") {
        command.env("JOBS_ADDR", "127.0.0.1:0");
    }
    let output = command.envs(env.iter().copied()).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(found["healthy"].as_bool().unwrap(), output.status.success());
    (output.status.success(), found)
}

/// The level and sentence of the worst finding of a check.
fn of<'a>(found: &'a Value, check: &str) -> (&'a str, &'a str) {
    let rank = |level: &str| ["ok", "warning", "error"].iter().position(|known| *known == level);
    let findings = found["findings"].as_array().unwrap().iter().filter(|f| f["check"] == check);
    let worst = findings.max_by_key(|f| rank(f["level"].as_str().unwrap()));
    let worst = worst.unwrap_or_else(|| panic!("nothing about {check}: {found}"));
    assert!(worst["level"] == "ok" || worst["fix"].is_string(), "{worst} says how to fix it");
    (worst["level"].as_str().unwrap(), worst["says"].as_str().unwrap())
}

fn settled(house: House) -> House {
    let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
    house.json(&user, PASSWORD);
    house
}

fn a_healthy_house_has_no_errors(house: House) {
    let house = settled(house);
    let server = house.serve(&[]);
    let (well, found) = examine(&house, &[]);
    assert!(well, "{found:#}");
    let checks = [
        "configuration",
        "commands",
        "providers",
        "address",
        "database",
        "schema",
        "permissions",
        "counters",
        "outbox",
        "people",
        "signing",
        "workers",
        "queues",
        "definitions",
    ];
    for check in checks {
        assert_eq!(of(&found, check).0, "ok", "{check}: {found:#}");
    }
    drop(server);
    let text = house.command(&["doctor"]).env("JOBS_ADDR", "127.0.0.1:0").output().unwrap();
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("0 errors"), "{text}");
}

fn a_house_nobody_lives_in_is_told_so(house: House) {
    house.json(&["migrate"], "");
    let (well, found) = examine(&house, &[]);
    assert!(well);
    assert_eq!(of(&found, "people").0, "warning");
    assert_eq!(of(&found, "workers").0, "warning");
}

on_both_databases!(a_healthy_house_has_no_errors, a_house_nobody_lives_in_is_told_so);

#[test]
fn every_bad_value_is_named_at_once() {
    let house = House::new();
    house.json(&["migrate"], "");
    let env = [("JOBS_LEASE_SECONDS", "soon"), ("JOBS_LOG_JSON", "maybe"), ("JOBS_LEASE_SECOND", "5")];
    let (well, found) = examine(&house, &env);
    assert!(!well);
    let all = found["findings"].to_string();
    assert!(all.contains("soon") && all.contains("maybe") && all.contains("JOBS_LEASE_SECOND "), "{found:#}");
    assert_eq!(of(&found, "database").0, "ok", "the rest is looked at all the same");
}

#[test]
fn settings_that_contradict_each_other_are_found() {
    let house = House::new();
    house.json(&["migrate"], "");
    let (well, found) = examine(&house, &[("JOBS_DOMAIN_SCOPED_RBAC", "true")]);
    assert!(well);
    assert!(of(&found, "configuration").1.contains("JOBS_DOMAIN_ALLOWLIST"));
    let (well, found) = examine(&house, &[("JOBS_RBAC_FORCE", "true")]);
    assert!(!well, "somebody relies on it");
    assert!(of(&found, "configuration").1.contains("JOBS_DOMAIN_SCOPED_RBAC"));
}

#[test]
fn a_database_that_is_down_is_said_so() {
    let (well, found) =
        examine(&House::new(), &[("JOBS_DB_URL", "postgres://nobody:hidden@127.0.0.1:1/none")]);
    assert!(!well);
    assert_eq!(of(&found, "database").0, "error");
    assert_eq!(of(&found, "commands").0, "ok", "the rest is looked at all the same");
    assert!(!found.to_string().contains("hidden"));
}

#[test]
fn a_missing_database_is_not_made() {
    let house = House::new();
    let (well, found) = examine(&house, &[]);
    assert!(well);
    assert_eq!(of(&found, "database").0, "warning");
    assert!(!house.dir.path().join("data").exists());
}

#[test]
fn a_damaged_file_is_an_error() {
    let house = House::new();
    std::fs::create_dir(house.dir.path().join("data")).unwrap();
    std::fs::write(house.dir.path().join("data/leasehold.db"), "this is no database at all".repeat(500))
        .unwrap();
    let (well, found) = examine(&house, &[]);
    assert!(!well);
    assert_eq!(of(&found, "database").0, "error");
}

#[test]
fn a_stale_schema_is_an_error_when_nobody_migrates() {
    let house = House::new();
    std::fs::create_dir(house.dir.path().join("data")).unwrap();
    std::fs::write(house.dir.path().join("data/leasehold.db"), "").unwrap();
    let (well, found) = examine(&house, &[("JOBS_AUTO_MIGRATE", "false")]);
    assert!(!well);
    assert!(found["findings"].to_string().contains("leasehold migrate"), "{found:#}");
}

#[test]
fn programs_that_are_missing_are_named() {
    let house = House::new();
    let book = house.dir.path().join("commands.toml");
    std::fs::write(&book, "[commands.pack]\nprogram = \"/nowhere/pack\"\n").unwrap();
    let (well, found) = examine(&house, &[]);
    assert!(!well);
    assert!(of(&found, "commands").1.contains("pack"), "{found:#}");
    std::fs::write(&book, "[commands.pack\n").unwrap();
    assert_eq!(of(&examine(&house, &[]).1, "commands").0, "error");
}

#[test]
fn a_taken_address_is_noticed() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let (_, found) = examine(&House::new(), &[("JOBS_ADDR", &addr)]);
    assert_eq!(of(&found, "address").0, "warning");
}

#[tokio::test]
async fn wrong_counters_are_noticed_and_left_alone() {
    let house = House::new();
    let tenant = house.json(&["tenant", "add", "Acme"], "")["id"].as_str().unwrap().to_owned();
    let url = format!("sqlite:{}", house.dir.path().join("data/leasehold.db").display());
    let mut file = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query(
        "INSERT INTO job_counters (tenant_id, domain, queue, job_type, status, jobs) VALUES (?1, 'd', 'q', 't', 'queued', 7)",
    )
    .bind(tenant)
    .execute(&mut file)
    .await
    .unwrap();
    for _ in 0..2 {
        let (well, found) = examine(&house, &[]);
        assert!(well);
        assert_eq!(of(&found, "counters"), ("warning", "1 counters differ from a recount."));
    }
}

#[test]
fn a_paused_queue_is_noticed() {
    let house = settled(House::new());
    let key = house.json(&["key", "add", "--installation", "--name", "x", "--scope", "admin"], "");
    let server = house.serve(&[]);
    let headers = [("x-api-key", key["key"].as_str().unwrap()), ("x-confirm", "true")];
    let body = r#"{"domain": "media", "queue": "default", "action": "pause"}"#;
    assert_eq!(server.request("POST", "/api/v1/jobs/queue/control", &headers, body).status, 200);
    let (_, found) = examine(&house, &[]);
    assert!(of(&found, "queues").1.contains("media/default (paused)"), "{found:#}");
}
