//! What must not be readable, must not be ignored and must not be forgotten: files, settings, commands.

mod common;

use common::{House, PASSWORD, log_of, script, until};
use nix::{
    sys::signal::{Signal, kill},
    unistd::{Gid, Pid, Uid, chown},
};
use serde_json::{Value, json};
use std::{
    io::Read,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o777
}

fn findings(house: &House, args: &[&str]) -> Vec<(String, String, String)> {
    let output = house
        .command(&[&["doctor", "--json"], args].concat())
        .env("JOBS_ADDR", "127.0.0.1:0")
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let all = found["findings"].as_array().unwrap().iter();
    all.map(|f| (text(f, "check"), text(f, "level"), text(f, "says") + " " + &text(f, "fix"))).collect()
}

#[test]
fn the_database_is_for_its_owner_whatever_the_umask() {
    let house = House::new();
    let plain = house.command(&["serve", "--addr", "127.0.0.1:0"]);
    let mut careless = Command::new("sh");
    careless.args(["-c", "umask 000 && exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    careless.current_dir(house.dir.path());
    let server = house.start(careless);
    let data = house.dir.path().join("data");
    assert_eq!(mode(&data), 0o700);
    for name in ["leasehold.db", "leasehold.db-wal", "leasehold.db-shm"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    drop(server);
    assert!(!log_of(house.dir.path()).contains("chmod"));
}

#[test]
fn files_that_are_too_open_are_warned_about_and_closed_on_request() {
    let house = House::new();
    house.json(&["migrate"], "");
    let (data, file) = (house.dir.path().join("data"), house.dir.path().join("data/leasehold.db"));
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(house.serve(&[]));
    let log = log_of(house.dir.path());
    assert!(log.contains("chmod 700") && log.contains("chmod 600"), "{log}");
    let warned = |args: &[&str]| {
        findings(&house, args)
            .into_iter()
            .filter(|(check, level, _)| check == "privacy" && level == "warning")
            .count()
    };
    assert!(warned(&[]) >= 2);
    assert_eq!(mode(&file), 0o644, "looking changes nothing");
    assert_eq!(warned(&["--fix"]), 0);
    assert_eq!((mode(&data), mode(&file)), (0o700, 0o600));
}

#[test]
fn counters_that_differ_are_set_right_on_request() {
    let house = House::new();
    let tenant = house.json(&["tenant", "add", "Acme"], "")["id"].as_str().unwrap().to_owned();
    house.sql(&format!(
        "INSERT INTO job_counters (tenant_id, domain, queue, job_type, status, jobs) VALUES ('{tenant}', 'd', 'q', 't', 'queued', 7)"
    ));
    let wrong = |args: &[&str]| {
        findings(&house, args).into_iter().any(|(check, level, _)| check == "counters" && level == "warning")
    };
    assert!(wrong(&[]) && !wrong(&["--fix"]) && !wrong(&[]));
}

/// What a server says that does not start; one that does is ended.
fn refusal(command: &mut Command) -> String {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if began.elapsed() < Duration::from_secs(20) => thread::sleep(Duration::from_millis(20)),
            None => {
                child.kill().unwrap();
                panic!("it started");
            }
        }
    };
    assert!(!status.success());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    said
}

#[test]
fn a_setting_that_protects_and_cannot_be_had_stops_the_start() {
    let house = House::new();
    for (name, value, says) in [
        ("JOBS_ENCRYPT", "true", "JOBS_ENCRYPT is not available in this version"),
        ("JOBS_PG_RLS_ENABLE", "true", "not available in this version"),
        ("JOBS_AUDIT_RETENTION_DAYS", "90", "not available in this version"),
        ("JOBS_SECRET_REJCT", "true", "JOBS_SECRET_REJECT"),
        ("JOBS_SECRET_REJECT", "si", "say true or false"),
        ("JOBS_RBAC_FORCE", "true", "has no effect without JOBS_DOMAIN_SCOPED_RBAC"),
        ("JOBS_TEST_NOW_EPOCH", "noon", "whole number of seconds"),
    ] {
        let said = refusal(house.command(&["serve", "--addr", "127.0.0.1:0"]).env(name, value));
        assert!(said.contains(says), "{name}={value}: {said}");
        assert!(!house.dir.path().join("data").exists(), "nothing was begun");
    }
    drop(house.serve(&[("JOBS_ENCRYPT", "false"), ("JOBS_COLOUR", "green")]));
    let log = log_of(house.dir.path());
    assert!(log.contains("JOBS_COLOUR") && log.contains("JOBS_ENCRYPT"), "others are warned about: {log}");
}

/// A server with one command, run by whom is not root where that can be arranged.
fn look_around(text: &str) -> (House, String) {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let key =
        house.json(&["key", "add", "--tenant", "acme", "--name", "t", "--scope", "admin"], "")["key"].clone();
    script(house.dir.path(), "look.sh", text);
    let look = house.dir.path().join("look.sh");
    let book = format!(
        "[commands.look]\nprogram = \"{}\"\nenv = {{ inherit = [\"PATH\"] }}\nmax_attempts = 1\n",
        look.display()
    );
    std::fs::write(house.dir.path().join("commands.toml"), book).unwrap();
    (house, key.as_str().unwrap().to_owned())
}

#[test]
fn a_command_cannot_read_the_environment_of_its_worker() {
    // The guardian is the command's parent, the worker the guardian's.
    let text = "#!/bin/sh\nworker=$(awk '{print $4}' /proc/$PPID/stat)\n\
                for pid in $PPID $worker; do cat /proc/$pid/environ && echo \"open $pid\"; done\necho \"uid $(id -u)\"\n";
    let (house, key) = look_around(text);
    let mut command = house.command(&["serve", "--addr", "127.0.0.1:0"]);
    command.env("JOBS_SETUP_TTL_SECONDS", "86399");
    if Uid::effective().is_root() {
        // Root may read everything: let an ordinary user be the worker.
        let nobody = 65_534;
        for path in ["", "data", "data/leasehold.db", "look.sh", "commands.toml"] {
            chown(&house.dir.path().join(path), Some(Uid::from_raw(nobody)), Some(Gid::from_raw(nobody)))
                .unwrap();
        }
        for beside in ["data/leasehold.db-wal", "data/leasehold.db-shm"] {
            // Gone with the last process that had the database open.
            let _ = chown(
                &house.dir.path().join(beside),
                Some(Uid::from_raw(nobody)),
                Some(Gid::from_raw(nobody)),
            );
        }
        command.uid(nobody).gid(nobody);
    }
    let server = house.start(command);
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
    let made = server.request("POST", "/api/v1/jobs", &headers, r#"{"definition_key": "look"}"#);
    let number = serde_json::from_str::<Value>(&made.body).unwrap()["number"]
        .as_i64()
        .unwrap_or_else(|| panic!("{}", made.body));
    let said = until("the command's end", || {
        let job: Value =
            serde_json::from_str(&server.get(&format!("/api/v1/jobs/{number}"), &headers).body).unwrap();
        (job["status"] == "completed")
            .then(|| server.get(&format!("/api/v1/jobs/{number}/attempts"), &headers).body)
    });
    assert!(said.contains("uid "), "{said}");
    assert!(!said.contains("uid 0"), "root sees everything: {said}");
    assert!(said.contains("Permission denied") && !said.contains("open "), "{said}");
    assert!(!said.contains("JOBS_SETUP_TTL_SECONDS"), "{said}");
}

/// The fields of a process's `stat` behind its name; none when it has ended.
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
    (!matches!(fields[0].as_str(), "Z" | "X")).then_some(fields)
}

/// What has left the command's process group belongs to nobody once the guardian is killed, unless the server takes it.
#[cfg(target_os = "linux")]
#[test]
fn nothing_of_a_command_survives_its_guardian() {
    let text = "#!/bin/sh\ncd \"$(dirname \"$0\")\"\nsetsid sleep 120 &\n\
                echo \"$PPID $!\" > new\nmv new family\nwait\n";
    let (house, key) = look_around(text);
    let server = house.serve(&[]);
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
    let made = server.request("POST", "/api/v1/jobs", &headers, r#"{"definition_key": "look"}"#);
    assert_eq!(made.status, 201, "{}", made.body);
    let family = until("the command's processes", || {
        let text = std::fs::read_to_string(house.dir.path().join("family")).ok()?;
        text.split_whitespace().map(|word| word.parse::<i32>().ok()).collect::<Option<Vec<_>>>()
    });
    let (guardian, escaped) = (family[0], family[1]);
    let own_session = || stat(escaped).filter(|fields| fields[3] == escaped.to_string());
    until("a session of its own", own_session);
    kill(Pid::from_raw(guardian), Signal::SIGKILL).unwrap();
    until("the end of what left the group", || stat(escaped).is_none().then_some(()));
}

#[test]
fn a_script_that_cannot_run_is_warned_about_at_the_start_and_by_the_doctor() {
    let (house, _) = look_around("#!/bin/sh\n");
    let look = house.dir.path().join("look.sh");
    std::fs::set_permissions(&look, std::fs::Permissions::from_mode(0o644)).unwrap();
    drop(house.serve(&[]));
    let what_to_do = format!("chmod +x {}", look.display());
    assert!(log_of(house.dir.path()).contains(&what_to_do), "{}", log_of(house.dir.path()));
    let commands = findings(&house, &[]).into_iter().find(|(check, ..)| check == "commands").unwrap();
    assert!(commands.1 == "error" && commands.2.contains(&what_to_do), "{commands:?}");
}

fn a_changed_file_of_commands_is_noticed_and_applied_on_request(house: House) {
    house.json(&["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"], PASSWORD);
    let book = house.dir.path().join("commands.toml");
    let text = "[commands.tick]\nprogram = \"/bin/true\"\ntimeout_seconds = 60\n[commands.tock]\nprogram = \"/bin/true\"\n";
    std::fs::write(&book, text).unwrap();
    drop(house.serve(&[]));
    assert!(!log_of(house.dir.path()).contains("definition sync"), "{}", log_of(house.dir.path()));
    std::fs::write(&book, text.replace("timeout_seconds = 60", "timeout_seconds = 90\nqueue = \"low\""))
        .unwrap();
    drop(house.serve(&[]));
    let log = log_of(house.dir.path());
    assert!(log.contains("definition sync") && log.contains("timeout_seconds: 60 → 90"), "{log}");
    let warned = || {
        findings(&house, &[])
            .into_iter()
            .find(|(check, _, says)| check == "definitions" && says.contains("sync"))
    };
    assert!(warned().unwrap().2.contains("“tick”"));
    let timeout = || {
        let all = house.json(&["definition", "list"], "");
        let tick = all.as_array().unwrap().iter().find(|d| d["key"] == "tick").unwrap().clone();
        (tick["timeout_seconds"].clone(), tick["queue"].clone())
    };
    let expected = json!([{"key": "tick", "fields": [
        {"field": "queue", "from": "default", "to": "low"}, {"field": "timeout_seconds", "from": 60, "to": 90},
    ]}]);
    assert_eq!(house.json(&["definition", "sync", "--dry-run"], "")["changes"], expected);
    assert_eq!(timeout(), (json!(60), json!("default")));
    assert_eq!(house.json(&["definition", "sync"], "")["changes"], expected);
    assert_eq!(timeout(), (json!(90), json!("low")));
    assert_eq!(house.json(&["definition", "sync"], "")["changes"], json!([]));
    assert!(warned().is_none());
    let trail = house.json(&["audit", "list"], "").to_string();
    assert!(trail.contains("definition.update") && trail.contains("timeout_seconds"), "{trail}");
}

fn the_signing_key_is_replaced(house: House) {
    house.json(&["migrate"], "");
    assert_eq!(house.json(&["signing", "list"], "")["keys"], json!([]));
    let count = |args: &[&str]| house.json(args, "")["keys"].as_array().unwrap().len();
    assert_eq!(count(&["signing", "rotate"]), 1);
    assert_eq!(count(&["signing", "rotate"]), 2);
    assert_eq!(count(&["signing", "rotate"]), 2, "two are enough");
    assert_eq!(count(&["signing", "rotate", "--revoke-old"]), 1);
    let trail = house.json(&["audit", "list"], "").to_string();
    assert!(trail.contains("signing_key.rotate"), "{trail}");
}

on_both_databases!(a_changed_file_of_commands_is_noticed_and_applied_on_request, the_signing_key_is_replaced,);
