//! Requests as the documents we started from print them. Beside this file they stand to the letter; only host, key and
//! ids are filled in.

#[path = "../common/mod.rs"]
mod common;
#[path = "../admin/office.rs"]
mod office;

use common::{House, script, until};
use office::{DAY, Office, code};
use serde_json::{Value, json};
use std::process::Command;

on_both_databases! {
    every_printed_curl_works,
    the_printed_bodies_work,
    the_printed_reads_answer_what_they_say,
    the_printed_writes_answer_what_they_say,
    the_printed_worker_endpoints_run_a_job,
    the_printed_command_lines_print_curls_that_work,
}

const PRUNE_PREVIEW: &str = include_str!("curl/prune_preview.sh");
const REQUEUE_PREVIEW: &str = include_str!("curl/requeue_preview.sh");
const REQUEUE: &str = include_str!("curl/requeue.sh");

/// What a line for the shell prints, once `$BASE` and `$API_KEY` are set.
fn shell(office: &Office, line: &str) -> Value {
    let base = format!("http://{}", office.server.addr);
    let environment = [
        ("BASE", base.as_str()),
        ("API_KEY", &office.admin),
        ("LEASEHOLD_URL", &base),
        ("LEASEHOLD_API_KEY", &office.admin),
    ];
    let said = Command::new("sh").args(["-c", line]).envs(environment).output().expect("a shell");
    let text = String::from_utf8_lossy(&said.stdout);
    let errors = String::from_utf8_lossy(&said.stderr);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}\n{error}: {text}\n{errors}"))
}

fn body(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn every_printed_curl_works(house: House) {
    let threshold = [("JOBS_QUARANTINE_THRESHOLD", "1")];
    let office = Office::with(house, &threshold);
    office.enqueue("export", 3);
    let mut held = office.claim().into_iter();
    let (done, bad) = (held.next().unwrap(), [held.next().unwrap(), held.next().unwrap()]);
    office.tell(&done, "complete", json!({}));
    for job in &bad {
        office.tell(job, "fail", json!({"error_code": "E_DISK", "message": "full"}));
    }
    assert_eq!(shell(&office, REQUEUE_PREVIEW)["affected"], 2);
    assert_eq!(shell(&office, REQUEUE_PREVIEW)["affected"], 2, "a preview changes nothing");
    assert_eq!(shell(&office, REQUEUE)["affected"], 2);
    assert_eq!(shell(&office, REQUEUE_PREVIEW)["affected"], 0);

    let office = office.later(15 * DAY, &threshold);
    assert_eq!(shell(&office, PRUNE_PREVIEW)["deleted"], 1);
    // "Execute the prune (remove `dry_run` or set false)", with the header it asks for.
    for real in
        [PRUNE_PREVIEW.replace("true", "false"), PRUNE_PREVIEW.replace(",\n        \"dry_run\": true", "")]
    {
        assert_eq!(code(&shell(&office, &real)), "CONFIRMATION_REQUIRED");
    }
    let confirmed = PRUNE_PREVIEW.replace("-X POST", "-X POST -H \"X-Confirm: true\"");
    assert_eq!(shell(&office, &confirmed.replace("\"dry_run\": true", "\"dry_run\": false"))["deleted"], 1);
    assert_eq!(shell(&office, PRUNE_PREVIEW)["deleted"], 0);
}

/// The shipped examples of commands, with a program that is there.
fn shipped_commands(house: &House) {
    let text = include_str!("../../../commands.toml");
    let (_, examples) = text.split_once("# ---- examples ----\n").unwrap();
    let lines = examples.lines().filter_map(|line| line.strip_prefix("#: "));
    let program = script(house.dir.path(), "zoltag", "#!/bin/sh\necho \"::result [\\\"$*\\\"]\"\n");
    let book =
        lines.map(|line| format!("{line}\n").replace("/usr/local/bin/zoltag", &program)).collect::<String>();
    std::fs::write(house.dir.path().join("commands.toml"), book).unwrap();
}

fn the_printed_bodies_work(house: House) {
    // Nothing runs yet, so that the answers are those of waiting jobs.
    let idle = [("JOBS_MAX_CONCURRENCY", "0")];
    let office = Office::with(house, &idle);
    let definition = body(include_str!("bodies/definition.json"));
    let (status, made) = office.post(&office.governor, "/admin/jobs/definitions", &definition);
    assert_eq!((status, &made["executor"]), (201, &json!("command")), "{made}");
    for (name, value) in definition.as_object().unwrap() {
        assert_eq!(&made[name], value, "{name}");
    }
    let off = json!({"is_active": false});
    let path = format!("/admin/jobs/definitions/{}", made["id"].as_str().unwrap());
    let (status, changed) = office.ask(&office.governor, "PATCH", &path, Some(&off), None);
    assert_eq!((status, &changed["is_active"]), (200, &json!(false)));
    office.ask(&office.governor, "PATCH", &path, Some(&json!({"is_active": true})), None);

    let sync = json!({"definition_key": "sync-dropbox", "payload": {"provider_id": PROVIDER}});
    let waiting = office.post(&office.admin, "/jobs", &sync).1["number"].as_i64().unwrap();
    let (_, why) = office.get(&office.admin, &format!("/jobs/{waiting}/diagnosis"));
    assert!(why.to_string().contains("No worker knows the command “sync-dropbox”"), "{why}");

    // A command of that key takes the definition over; the other kind of job comes with its own.
    shipped_commands(&office.house);
    let office = office.moved(&idle);
    let tags = triggers_and_jobs(&office);

    let office = office.moved(&[]);
    let said = |number: i64| {
        until("a job's end", || {
            let job = office.get(&office.admin, &format!("/jobs/{number}")).1;
            assert!(!["failed", "dead_letter"].contains(&job["status"].as_str().unwrap()), "{job}");
            (job["status"] == "completed").then(|| job["result"][0].as_str().unwrap().to_owned())
        })
    };
    assert!(said(waiting).ends_with(&format!("--provider-id={PROVIDER}")), "{}", said(waiting));
    assert!(said(tags).ends_with("--model=siglip"), "{}", said(tags));
}

const PROVIDER: &str = "6f46a1d8-6e2b-4ecf-8b46-9ec2e6a37f09";

/// The number of the printed job.
fn triggers_and_jobs(office: &Office) -> i64 {
    let job = body(include_str!("bodies/job.json"));
    let (status, made) = office.post(&office.admin, "/jobs", &job);
    assert_eq!((status, &made["status"]), (201, &json!("queued")), "{made}");
    assert_eq!(made["definition_key"], "recompute-trained-tags");
    for field in ["id", "tenant_id", "queued_at"] {
        assert!(made[field].is_string(), "{field}: {made}");
    }
    let (status, again) = office.post(&office.admin, "/jobs", &job);
    assert_eq!((status, &again["id"]), (200, &made["id"]), "the dedupe key holds");

    let on_event = body(include_str!("bodies/event_trigger.json"));
    let (status, trigger) = office.post(&office.admin, "/jobs/triggers", &on_event);
    assert_eq!((status, &trigger["dedupe_window_seconds"]), (201, &json!(120)), "{trigger}");
    // The printed schedule leaves out what the printed definition requires, and is told so.
    let mut nightly = body(include_str!("bodies/schedule_trigger.json"));
    let (status, refused) = office.post(&office.admin, "/jobs/triggers", &nightly);
    assert_eq!(status, 422, "{refused}");
    assert!(refused.to_string().contains("provider_id"), "{refused}");
    nightly["payload_template"]["provider_id"] = json!(PROVIDER);
    let (status, trigger) = office.post(&office.admin, "/jobs/triggers", &nightly);
    assert_eq!((status, &trigger["timezone"]), (201, &json!("America/New_York")), "{trigger}");
    assert_eq!(office.get(&office.admin, "/jobs/triggers").1["triggers"].as_array().unwrap().len(), 2);
    let path = format!("/jobs/triggers/{}", trigger["id"].as_str().unwrap());
    let (status, changed) =
        office.ask(&office.admin, "PATCH", &path, Some(&json!({"is_enabled": false})), None);
    assert_eq!((status, &changed["is_enabled"]), (200, &json!(false)));
    assert!(matches!(office.ask(&office.admin, "DELETE", &path, None, None).0, 200 | 204));
    made["number"].as_i64().unwrap()
}

/// Objects that have at least these fields.
fn has(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "no {field} in {value}");
    }
}

fn the_printed_reads_answer_what_they_say(house: House) {
    let office = Office::new(house);
    let number = office.enqueue("export", 2)[0];
    let read = |path: &str| {
        let (status, answer) = office.get(&office.admin, path);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    };
    for path in [
        "/jobs",
        "/jobs?status=queued&source=manual&limit=5&offset=0&created_after=2020-01-01T00:00:00Z&created_before=2100-01-01T00:00:00Z",
        "/jobs/list?domain=chatbooks&sort_by=priority&sort_order=asc",
        "/jobs/list?domain=chatbooks&queue=default&status=queued&job_type=export&limit=10&sort_by=created_at&sort_order=desc",
    ] {
        assert_eq!(read(path)["jobs"].as_array().unwrap().len(), 2, "{path}");
    }
    assert_eq!(read("/jobs/list?owner_user_id=1")["jobs"], json!([]));
    has(&read("/jobs/summary"), &["counts", "oldest_queued_age_seconds", "running"]);
    has(&read(&format!("/jobs/{number}")), &["id", "status", "payload"]);
    has(&read(&format!("/jobs/{number}/attempts")), &["attempts"]);
    assert!(read("/jobs/stats").to_string().contains("\"export\""));
    let stats = read("/jobs/stats?domain=chatbooks&queue=default&job_type=export");
    has(
        &stats["stats"][0],
        &["domain", "queue", "job_type", "queued", "scheduled", "processing", "quarantined"],
    );
    assert_eq!(
        read("/jobs/events?after_id=0&limit=1&domain=&queue=&job_type=")["events"].as_array().unwrap().len(),
        1
    );
    let status = read("/jobs/queue/status?domain=chatbooks&queue=default");
    assert_eq!((&status["paused"], &status["drain"]), (&json!(false), &json!(false)));
    has(&read(&format!("/jobs/{number}/attachments")), &["attachments"]);
    let (status, config) = office.get(&office.governor, "/config/jobs");
    assert_eq!(status, 200);
    has(&config, &["backend", "flags", "standard_queues"]);
    has(&office.get(&office.governor, "/admin/jobs/definitions").1, &["definitions"]);
}

fn the_printed_writes_answer_what_they_say(house: House) {
    let office = Office::new(house);
    let numbers = office.enqueue("export", 3);
    for (action, paused, drain) in [("pause", true, false), ("drain", false, true), ("resume", false, false)]
    {
        let control = json!({"domain": "chatbooks", "queue": "default", "action": action});
        let (status, answer) = office.confirm(&office.governor, "/jobs/queue/control", &control);
        assert_eq!(status, 200, "{answer}");
        let (_, state) = office.get(&office.admin, "/jobs/queue/status?domain=chatbooks&queue=default");
        assert!(state["paused"] == paused || action == "drain", "{action}: {state}");
        assert_eq!(state["drain"], drain, "{action}");
    }
    let ttl = json!({"age_seconds": 60, "runtime_seconds": 60, "action": "cancel", "domain": "chatbooks",
        "queue": "default", "job_type": "export"});
    assert_eq!(
        office.confirm(&office.admin, "/jobs/ttl/sweep", &ttl),
        (200, json!({"affected": 0, "more": false}))
    );
    let sweep = json!({"fix": false, "domain": "chatbooks", "queue": "default", "job_type": "export"});
    let (status, found) = office.post(&office.governor, "/jobs/integrity/sweep", &sweep);
    assert_eq!(status, 200, "{found}");
    has(&found, &["non_processing_with_lease", "processing_expired", "fixed"]);
    let cancelled = office.post(&office.admin, &format!("/jobs/{}/cancel", numbers[0]), &json!({}));
    assert_eq!(cancelled.0, 200, "{}", cancelled.1);
    let retried = office.post(&office.admin, &format!("/jobs/{}/retry", numbers[0]), &json!({}));
    assert_eq!(retried.0, 201, "{}", retried.1);
    let scope = json!({"domain": "chatbooks", "dry_run": true});
    assert_eq!(office.post(&office.admin, "/jobs/batch/cancel", &scope).1["affected"], 3);
    let later = json!({"domain": "chatbooks", "delay_seconds": 60, "dry_run": true});
    assert_eq!(office.post(&office.admin, "/jobs/batch/reschedule", &later).1["affected"], 3);
}

fn the_printed_worker_endpoints_run_a_job(house: House) {
    let office = Office::new(house);
    office.enqueue("export", 2);
    let held = office.claim();
    office.tell(&held[0], "heartbeat", json!({}));
    assert_eq!(
        office.tell(&held[0], "complete", json!({"result": {"path": "/path/to/file"}}))["status"],
        "completed"
    );
    let failed = office.tell(&held[1], "fail", json!({"message": "boom", "retryable": true}));
    assert_eq!(failed["status"], "queued", "{failed}");
}

/// The helper of old printed the request instead of sending it, and so does `--curl`.
fn the_printed_command_lines_print_curls_that_work(house: House) {
    let office = Office::new(house);
    let number = office.enqueue("evaluate", 1)[0];
    let prune = "prune --domain prompt_studio --queue default --older_than_days 30 --dry_run";
    let base = format!("http://{}", office.server.addr);
    let curl = |line: &str| {
        let words: Vec<_> = line.split(' ').chain(["--curl", "--url", &base]).collect();
        let said = office.house.run(&words, "");
        assert!(said.status.success(), "{line}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    };
    let line = curl("jobs stats --domain prompt_studio");
    assert!(!line.contains(&office.admin) && line.contains("$LEASEHOLD_API_KEY"), "{line}");
    assert_eq!(shell(&office, &line)["stats"][0]["job_type"], "evaluate");
    assert_eq!(shell(&office, &curl(prune))["deleted"], 0);
    let meta = shell(&office, &curl(&format!("archive-meta --job_id {number}")));
    assert_eq!(code(&meta), "NOT_FOUND", "it is no archived job yet");
}
