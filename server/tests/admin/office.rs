//! A server with a kind of job that is run over HTTP, and the keys of those who run things.

use crate::common::{House, PASSWORD, Serving};
use serde_json::{Value, json};

pub const DAY: i64 = 86_400;

pub struct Office {
    pub server: Serving,
    /// May do everything in the tenant Acme.
    pub admin: String,
    /// May do everything.
    pub governor: String,
    pub worker: String,
    pub house: House,
}

impl Office {
    pub fn new(house: House) -> Self {
        Self::with(house, &[])
    }

    pub fn with(house: House, env: &[(&str, &str)]) -> Self {
        house.json(&["tenant", "add", "Acme"], "");
        house.json(&["tenant", "add", "Other"], "");
        let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
        house.json(&user, PASSWORD);
        house.json(&["definition", "add", "export", "--domain", "chatbooks", "--max-attempts", "5"], "");
        house.json(&["definition", "add", "evaluate", "--domain", "prompt_studio"], "");
        let (admin, worker) =
            (key(&house, &["--tenant", "acme"], "admin"), key(&house, &["--tenant", "acme"], "worker"));
        let governor = key(&house, &["--installation"], "admin");
        let server = house.serve(env);
        Self { server, admin, governor, worker, house }
    }

    /// The same database under other settings; the old process is gone before.
    pub fn moved(self, env: &[(&str, &str)]) -> Self {
        drop(self.server);
        Self { server: self.house.serve(env), ..self }
    }

    /// The same, so many seconds later on a clock that stands still.
    pub fn later(self, seconds: i64, env: &[(&str, &str)]) -> Self {
        let now = leasehold_queue::clock::process_time().micros() / 1_000_000 + seconds;
        let now = now.to_string();
        self.moved(&[&[("JOBS_TEST_NOW_EPOCH", now.as_str())], env].concat())
    }

    pub fn get(&self, key: &str, path: &str) -> (u16, Value) {
        self.ask(key, "GET", path, None, None)
    }

    /// Without the header that confirms.
    pub fn post(&self, key: &str, path: &str, body: &Value) -> (u16, Value) {
        self.ask(key, "POST", path, Some(body), None)
    }

    pub fn confirm(&self, key: &str, path: &str, body: &Value) -> (u16, Value) {
        self.ask(key, "POST", path, Some(body), Some("true"))
    }

    pub fn ask(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: Option<&Value>,
        confirm: Option<&str>,
    ) -> (u16, Value) {
        let mut headers = vec![("x-api-key", key), ("content-type", "application/json")];
        headers.extend(confirm.map(|word| ("x-confirm", word)));
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = self.server.request(method, &format!("/api/v1{path}"), &headers, &body);
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    /// The numbers of so many new jobs of Acme.
    pub fn enqueue(&self, kind: &str, count: usize) -> Vec<i64> {
        self.enqueue_in("acme", kind, count)
    }

    pub fn enqueue_in(&self, slug: &str, kind: &str, count: usize) -> Vec<i64> {
        let cookie = self.server.sign_in("ann@example.org");
        let form = [("slug", slug), ("definition_key", kind), ("payload_json", "{}")];
        (0..count)
            .map(|_| {
                let answer = self.server.post("/do/enqueue", &form, &[("cookie", &cookie)]);
                let location = answer.header("location").unwrap_or_default();
                let number = location.rsplit('/').next().and_then(|n| n.split('?').next());
                number
                    .and_then(|n| n.parse().ok())
                    .unwrap_or_else(|| panic!("{} {}", answer.head, answer.body))
            })
            .collect()
    }

    /// Up to ten jobs, held for an hour.
    pub fn claim(&self) -> Vec<Value> {
        let body = json!({"worker_id": "w", "limit": 10, "lease_seconds": 3_600});
        let (status, answer) = self.post(&self.worker, "/worker/jobs/claim", &body);
        assert_eq!(status, 200, "{answer}");
        answer["jobs"].as_array().unwrap().clone()
    }

    /// Reports on a claimed job.
    pub fn tell(&self, job: &Value, what: &str, mut body: Value) -> Value {
        body["worker_id"] = json!("w");
        body["lease_id"] = job["lease_id"].clone();
        let (status, answer) =
            self.post(&self.worker, &format!("/worker/jobs/{}/{what}", job["number"]), &body);
        assert_eq!(status, 200, "{answer}");
        answer
    }
}

pub fn key(house: &House, whose: &[&str], scope: &str) -> String {
    let args = [&["key", "add", "--name", "test", "--scope", scope], whose].concat();
    house.json(&args, "")["key"].as_str().unwrap().to_owned()
}

pub fn code(answer: &Value) -> &str {
    answer["code"].as_str().unwrap_or_default()
}
