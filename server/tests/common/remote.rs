//! A server with a kind of job that is run over HTTP, and just enough of a worker to talk to it.

use super::{Answer, House, PASSWORD, Serving};
use serde_json::{Value, json};
use std::net::TcpStream;

pub struct Remote {
    pub server: Serving,
    pub key: String,
    pub house: House,
    cookie: String,
}

impl Remote {
    /// With workers of its own beside: they must leave these jobs alone.
    pub fn new(house: House) -> Self {
        Self::with(house, &[])
    }

    pub fn with(house: House, env: &[(&str, &str)]) -> Self {
        house.json(&["tenant", "add", "Acme"], "");
        house.json(&["tenant", "add", "Other"], "");
        let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
        house.json(&user, PASSWORD);
        house.json(&["definition", "add", "steps", "--domain", "media", "--max-attempts", "5"], "");
        let key = new_key(&house, "acme", "worker");
        let server = house.serve(env);
        let cookie = server.sign_in("ann@example.org");
        Self { server, key, house, cookie }
    }

    /// The number of the new job.
    pub fn enqueue(&self, slug: &str, payload: Value) -> i64 {
        enqueue(&self.server, &self.cookie, slug, payload)
    }

    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    pub fn cancel(&self, number: i64) {
        let number = number.to_string();
        let form = [("slug", "acme"), ("number", number.as_str()), ("reason", "enough")];
        let answer = self.server.post("/do/cancel", &form, &[("cookie", &self.cookie)]);
        assert!(answer.header("location").is_some(), "{} {}", answer.head, answer.body);
    }

    /// The job's page, as its reader would see it.
    pub fn page(&self, number: i64) -> String {
        let path = format!("/t/acme/jobs/{number}");
        self.server.get(&path, &[("cookie", &self.cookie), ("accept", "text/html")]).body
    }

    pub fn ask(&self, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.ask_with(&[("x-api-key", &self.key)], path, &body.to_string());
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    pub fn ask_with(&self, headers: &[(&str, &str)], path: &str, body: &str) -> Answer {
        self.server.request("POST", &format!("/api/v1/worker/jobs/{path}"), headers, body)
    }

    /// What the API says of a job or its attempts, to a key that may read.
    pub fn read(&self, key: &str, path: &str) -> Value {
        let answer = self.server.get(&format!("/api/v1/{path}"), &[("x-api-key", key)]);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// A caller that waits for its claim; dropped, it hangs up.
    pub fn waiting(&self, body: &Value) -> TcpStream {
        let headers = [("x-api-key", self.key.as_str())];
        let host = self.server.addr.to_string();
        self.server.send(&host, "POST", "/api/v1/worker/jobs/claim", &headers, &body.to_string())
    }

    /// Claims one job, waiting for it if need be.
    pub fn claim(&self, worker: &str, lease_seconds: u64) -> Claim {
        let body = json!({"worker_id": worker, "lease_seconds": lease_seconds, "wait_seconds": 15});
        for _ in 0..3 {
            let (status, answer) = self.ask("claim", &body);
            assert_eq!(status, 200, "{answer}");
            if let Some(job) = answer["jobs"].get(0) {
                return Claim { worker: worker.into(), job: job.clone() };
            }
        }
        panic!("nothing to claim")
    }

    /// Says something about a claimed job.
    pub fn tell(&self, claim: &Claim, what: &str, body: Value) -> (u16, Value) {
        self.ask(&format!("{}/{what}", claim.number()), &claim.showing(body))
    }
}

pub struct Claim {
    pub worker: String,
    pub job: Value,
}

impl Claim {
    pub fn number(&self) -> i64 {
        self.job["number"].as_i64().unwrap()
    }

    /// The body with the lease in it.
    pub fn showing(&self, mut body: Value) -> Value {
        body["worker_id"] = json!(self.worker);
        body["lease_id"] = self.job["lease_id"].clone();
        body
    }
}

pub fn new_key(house: &House, tenant: &str, scope: &str) -> String {
    let key = house.json(&["key", "add", "--tenant", tenant, "--name", "test", "--scope", scope], "");
    key["key"].as_str().unwrap().to_owned()
}

pub fn enqueue(server: &Serving, cookie: &str, slug: &str, payload: Value) -> i64 {
    let payload = payload.to_string();
    let form = [("slug", slug), ("definition_key", "steps"), ("payload_json", payload.as_str())];
    let answer = server.post("/do/enqueue", &form, &[("cookie", cookie)]);
    let location = answer.header("location").unwrap_or_default();
    let number = location.rsplit('/').next().and_then(|n| n.split('?').next()).and_then(|n| n.parse().ok());
    number.unwrap_or_else(|| panic!("not enqueued: {} {}", answer.head, answer.body))
}

/// Every case on both databases.
#[macro_export]
macro_rules! on_both_databases {
    ($($case:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $case() { super::$case($crate::common::House::new()); })+
        }
        mod postgres {
            $(#[test] fn $case() { super::$case($crate::common::House::on_postgres()); })+
        }
    };
}
