//! The commands that talk to a server: what they send, what they print, how they end.

mod common;

use common::{House, PASSWORD, Serving};
use serde_json::{Value, json};
use std::process::{Command, Output};

struct Client {
    house: House,
    server: Serving,
    key: String,
}

impl Client {
    fn new(house: House) -> Self {
        house.json(&["tenant", "add", "Acme"], "");
        let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
        house.json(&user, PASSWORD);
        house.json(&["definition", "add", "export", "--domain", "chatbooks"], "");
        let made = house.json(&["key", "add", "--tenant", "acme", "--name", "cli", "--scope", "admin"], "");
        let server = house.serve(&[]);
        Self { server, key: made["key"].as_str().unwrap().to_owned(), house }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.house.command(args);
        command.env("LEASEHOLD_URL", format!("http://{}", self.server.addr));
        command.env("LEASEHOLD_API_KEY", &self.key);
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let output = self.run(&[args, &["--json"]].concat());
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// The line `--curl` prints, run by a shell.
    fn by_curl(&self, args: &[&str]) -> Value {
        let printed = self.run(&[args, &["--curl"]].concat());
        assert!(printed.status.success(), "{}", text(&printed.stderr));
        let line = text(&printed.stdout);
        assert!(line.contains("$LEASEHOLD_API_KEY") && !line.contains(&self.key), "{line}");
        let ran =
            Command::new("sh").args(["-c", &line]).env("LEASEHOLD_API_KEY", &self.key).output().unwrap();
        assert!(ran.status.success(), "{line}: {}", text(&ran.stderr));
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{line}: {}", text(&ran.stdout)))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

fn sweeps_are_asked_for_and_printed(house: House) {
    let client = Client::new(house);
    let prune =
        ["prune", "--domain", "chatbooks", "--queue", "default", "--older_than_days", "30", "--dry_run"];
    assert_eq!(client.json(&prune)["deleted"], 0);
    assert_eq!(client.by_curl(&prune)["deleted"], 0);
    let plain = client.run(&prune);
    assert!(text(&plain.stdout).lines().any(|line| line == "  Deleted  0"), "{}", text(&plain.stdout));
    let unsure = client.run(&["prune", "--older-than-days", "30"]);
    assert_eq!(unsure.status.code(), Some(1));
    assert!(text(&unsure.stderr).contains("--yes"), "{}", text(&unsure.stderr));
    assert_eq!(client.json(&["ttl", "--age-seconds", "60", "--yes"])["affected"], 0);
    assert_eq!(client.by_curl(&["ttl", "--age-seconds", "60", "--yes"])["affected"], 0);
    let missing = client.run(&["archive-meta", "--job_id", "123", "--json"]);
    assert_eq!(missing.status.code(), Some(1));
    let problem: Value = serde_json::from_slice(&missing.stderr).unwrap();
    assert_eq!(problem["code"], "NOT_FOUND");
    assert_eq!(client.by_curl(&["archive-meta", "--job_id", "123"])["code"], "NOT_FOUND");
}

fn jobs_are_enqueued_seen_and_steered(house: House) {
    let client = Client::new(house);
    let made = client.json(&["enqueue", "export", r#"{"name": "Weekly"}"#, "--priority", "7"]);
    let number = made["number"].to_string();
    let again = ["enqueue", "export", r#"{"it's": "$(id)"}"#, "--dedupe-key", "one"];
    let by_shell = client.by_curl(&again);
    assert_eq!(client.json(&again)["number"], by_shell["number"], "the dedupe key went through the shell");
    let listed = client.json(&[
        "jobs",
        "list",
        "--domain",
        "chatbooks",
        "--sort-by",
        "priority",
        "--sort-order",
        "asc",
    ]);
    assert_eq!(listed["jobs"][0]["number"].to_string(), number);
    let lines = text(&client.run(&["jobs", "list"]).stdout);
    assert_eq!(lines.lines().count(), 3, "{lines}");
    assert!(lines.starts_with("NUMBER  STATUS  DOMAIN "), "{lines}");
    assert!(
        lines.lines().skip(1).all(|line| line.contains("  Queued  chatbooks  default  export ")),
        "{lines}"
    );
    assert!(!lines.contains('\u{1b}'), "a pipe has no colours: {lines:?}");
    let stats = text(&client.run(&["jobs", "stats"]).stdout);
    assert_eq!(stats.lines().count(), 2, "{stats}");
    assert!(stats.contains("chatbooks  default  export  2 "), "{stats}");
    assert_eq!(client.by_curl(&["jobs", "stats", "--domain", "chatbooks"])["stats"][0]["queued"], 2);
    assert_eq!(client.json(&["jobs", "show", &number])["status"], "queued");
    let following =
        client.command(&["jobs", "tail", &number]).stdout(std::process::Stdio::piped()).spawn().unwrap();
    assert_eq!(client.run(&["jobs", "cancel", &number, "--reason", "enough"]).status.code(), Some(0));
    let told = following.wait_with_output().unwrap();
    assert_eq!(told.status.code(), Some(4), "it was cancelled");
    assert!(text(&told.stdout).contains("cancelled"), "{}", text(&told.stdout));
    let again = client.run(&["jobs", "tail", &number]);
    assert_eq!(again.status.code(), Some(4), "it has ended already: {}", text(&again.stderr));
    assert!(text(&again.stdout).contains("cancelled"), "{}", text(&again.stdout));
    let sheet = text(&client.run(&["jobs", "show", &number]).stdout);
    assert!(sheet.starts_with(&format!("Job {number}  Cancelled\n")), "{sheet}");
    assert!(
        sheet.contains(": enough\n") && sheet.contains("\nPayload\n  {\n    \"name\": \"Weekly\"\n  }"),
        "{sheet}"
    );
    let wrong = client.run(&["jobs", "cancel", &number]);
    assert_eq!(wrong.status.code(), Some(1), "it has ended");
    let retried = client.json(&["jobs", "retry", &number]);
    assert_ne!(retried["number"].to_string(), number);
    assert_eq!(client.run(&["jobs", "show", "no-such-job"]).status.code(), Some(1));
}

/// Of these nobody's stream ends: somebody may requeue them.
fn a_quarantined_job_is_not_waited_for(house: House) {
    let client = Client::new(house);
    let made = client.json(&["enqueue", "export"]);
    let number = made["number"].to_string();
    let set = format!("UPDATE jobs SET status = 'quarantined' WHERE number = {number}");
    client.house.sql(&set);
    let told = client.run(&["jobs", "tail", &number]);
    assert_eq!(told.status.code(), Some(3), "{}", text(&told.stderr));
    assert!(text(&told.stdout).contains("quarantined"), "{}", text(&told.stdout));
}

fn definitions_are_read_with_a_tenants_key(house: House) {
    let mut client = Client::new(house);
    client.house.json(&["definition", "add", "import", "--domain", "shelves"], "");
    client.key = client.house.json(&["key", "add", "--tenant", "acme", "--name", "r", "--scope", "read"], "")
        ["key"]
        .as_str()
        .unwrap()
        .to_owned();
    // Somewhere without the database.
    let elsewhere = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| client.command(args).current_dir(elsewhere.path()).output().unwrap();
    let listed = run(&["definition", "list", "--domain", "shelves"]);
    let table = text(&listed.stdout);
    assert!(table.starts_with("KEY     DOMAIN   QUEUE    RUN BY"), "{table} {}", text(&listed.stderr));
    assert_eq!(table.lines().count(), 2, "{table}");
    let shown = text(&run(&["definition", "show", "import"]).stdout);
    assert!(shown.starts_with("import\n") && shown.contains("Payload schema"), "{shown}");
    let json: Value =
        serde_json::from_slice(&run(&["definition", "show", "import", "--json"]).stdout).unwrap();
    assert_eq!((&json["domain"], &json["arg_schema"]["type"]), (&json!("shelves"), &json!("object")));
    assert_eq!(run(&["definition", "show", "nothing"]).status.code(), Some(1));
}

on_both_databases!(
    a_quarantined_job_is_not_waited_for,
    definitions_are_read_with_a_tenants_key,
    sweeps_are_asked_for_and_printed,
    jobs_are_enqueued_seen_and_steered
);

#[test]
fn what_went_wrong_can_be_told_by_the_exit_code() {
    let client = Client::new(House::new());
    let code = |output: Output| (output.status.code(), text(&output.stderr));
    assert_eq!(code(client.run(&["prune"])).0, Some(2), "the age is missing");
    assert_eq!(code(client.run(&["enqueue", "export", "[1]"])).0, Some(2), "no object");
    let schema = client.house.dir.path().join("schema.json");
    std::fs::write(&schema, r#"{"type": "object", "properties": {"rows": {"type": "integer", "minimum": 1}, "name": {"type": "string"}}}"#)
        .unwrap();
    client.house.json(&["definition", "add", "strict", "--schema", schema.to_str().unwrap()], "");
    let (status, said) = code(client.run(&["enqueue", "strict", r#"{"rows": 0, "name": 7}"#]));
    assert_eq!(status, Some(1));
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[1].starts_with("  payload.") && lines[2].starts_with("  payload."), "{said}");
    assert!(said.contains("\n  payload.rows: "), "{said}");
    let keyless =
        client.command(&["archive-meta", "--job-id", "1"]).env_remove("LEASEHOLD_API_KEY").output().unwrap();
    let (status, said) = code(keyless);
    assert_eq!(status, Some(2));
    assert!(said.contains("LEASEHOLD_API_KEY"), "{said}");
    let stranger =
        client.command(&["ttl", "--age-seconds", "1"]).env("LEASEHOLD_API_KEY", "lh_a_b").output().unwrap();
    assert_eq!(code(stranger).0, Some(1));
    let away = client
        .command(&["ttl", "--age-seconds", "1"])
        .env("LEASEHOLD_URL", "http://127.0.0.1:1")
        .output()
        .unwrap();
    let (status, said) = code(away);
    assert_eq!(status, Some(1));
    assert!(said.contains("cannot be reached"), "{said}");
}

#[test]
fn a_line_can_be_printed_without_a_key() {
    let house = House::new();
    let hostile = json!({"text": "it's $(id) `id` \"q\""}).to_string();
    let printed = house
        .command(&["enqueue", "export", &hostile, "--curl"])
        .env_remove("LEASEHOLD_API_KEY")
        .output()
        .unwrap();
    assert!(printed.status.success(), "{}", text(&printed.stderr));
    let line = text(&printed.stdout).replacen("curl", "printf '%s\\n'", 1);
    let words = Command::new("sh").args(["-c", &line]).output().unwrap();
    let body = text(&words.stdout);
    let body: Value = serde_json::from_str(body.lines().last().unwrap()).unwrap();
    assert_eq!(body["payload"].to_string(), hostile);
}
