//! Thousands of requests made from the API's own description, right and wrong ones: none may break the server, and every
//! answer must be one the description names.

mod common;

use common::{
    House, PASSWORD, Serving, python,
    remote::{enqueue, new_key},
};
use serde_json::json;
use std::path::PathBuf;

/// In one run of the tests, on each database.
const AT_LEAST: u64 = 2_000;

/// Streams have a round of their own: most have no end, so each is read for a moment.
const STREAMS: &str = "(/stream|/jobs/\\{id\\}/events)$";
/// What cannot be tried this way: a claim waits as long as it is asked to.
const WAITING: &str = "/worker/jobs/claim$";
/// Longer than any request takes.
const PATIENCE: &str = "20";
/// Long enough for the first events of a stream.
const A_MOMENT: &str = "0.3";

on_both_databases! {
    nothing_a_program_sends_breaks_the_api,
}

fn nothing_a_program_sends_breaks_the_api(house: House) {
    house.json(&["tenant", "add", "Acme"], "");
    house.json(&["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"], PASSWORD);
    house.json(&["definition", "add", "steps", "--domain", "media"], "");
    let all = house.json(&["key", "add", "--installation", "--name", "fuzz", "--scope", "admin"], "");
    let all = all["key"].as_str().unwrap().to_owned();
    let worker = new_key(&house, "acme", "worker");
    let server = house.serve(&[("JOBS_MAX_CONCURRENCY", "0")]);
    let cookie = server.sign_in("ann@example.org");
    let job = enqueue(&server, &cookie, "acme", json!({"note": "one to be found"})).to_string();
    let mut tried = 0;
    let others = format!("{STREAMS}|{WAITING}");
    for (key, only, except, patience, id, examples) in [
        (&all, "^/api/v1/(?!worker/)", others.as_str(), PATIENCE, None, 40),
        (&all, "^/api/v1/jobs/\\{id\\}", &others, PATIENCE, Some(&job), 25),
        (&worker, "^/api/v1/worker/", &others, PATIENCE, Some(&job), 15),
        (&all, STREAMS, WAITING, A_MOMENT, Some(&job), 5),
    ] {
        let round = Round { house: &house, server: &server, key, only, except, patience, id, examples };
        tried += round.run();
    }
    assert!(tried >= AT_LEAST, "only {tried} requests were tried");
    assert_eq!(server.get("/health", &[]).status, 200);
}

struct Round<'a> {
    house: &'a House,
    server: &'a Serving,
    key: &'a str,
    /// Which paths.
    only: &'a str,
    except: &'a str,
    /// How long an answer is waited for, or a stream read.
    patience: &'a str,
    /// A job that exists, for `{id}`; else ids are made up.
    id: Option<&'a String>,
    examples: u32,
}

impl Round<'_> {
    /// How many requests were tried; fails with the report when one was answered wrongly.
    fn run(&self) -> u64 {
        let output = python::tool("schemathesis")
            .args(["--config-file", self.settings().to_str().unwrap(), "run"])
            .arg(format!("http://{}/api/openapi.json", self.server.addr))
            .args(["--header", &format!("X-API-KEY: {}", self.key), "--header", "X-Tenant: acme"])
            .args(["--include-path-regex", self.only, "--exclude-path-regex", self.except])
            .args(["--checks", "all", "--mode", "all", "--max-examples", &self.examples.to_string()])
            .args(["--seed", "1", "--no-color", "--request-timeout", self.patience])
            .current_dir(self.house.dir.path())
            .output()
            .expect("the program that makes the requests starts");
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{report}\n{}", String::from_utf8_lossy(&output.stderr));
        generated(&report).unwrap_or_else(|| panic!("the report does not say how many: {report}"))
    }

    /// What the description allows may still be against a rule it cannot say: a queue that is not allowed, a limit.
    fn settings(&self) -> PathBuf {
        let id = self.id.map(|id| format!("\"path.id\" = \"{id}\"\n")).unwrap_or_default();
        let text = format!(
            "[parameters]\n\"query.tenant\" = \"acme\"\n{id}[checks.positive_data_acceptance]\nexpected-statuses = [\"2xx\", \"400\", \"401\", \"403\", \"404\", \"409\", \
             \"410\", \"413\", \"422\", \"429\"]\n"
        );
        let path = self.house.dir.path().join("requests.toml");
        std::fs::write(&path, text).unwrap();
        path
    }
}

/// `537 generated, 537 passed`.
fn generated(report: &str) -> Option<u64> {
    report.lines().find_map(|line| line.trim().split_once(" generated, ")?.0.parse().ok())
}
