//! Every way in.

use super::common::{
    House, PASSWORD, Serving,
    remote::{Claim, new_key},
};
use leasehold_queue::secrets::corpus::Secret;
use serde_json::{Value, json};

pub const IDS: [&str; 6] =
    ["dedupe_key", "idempotency_key", "concurrency_key", "correlation_id", "trace_id", "owner_user_id"];

/// As short as an id must be.
pub fn fits_an_id(text: &str) -> bool {
    text.len() <= 200
}

fn fits_a_header(text: &str) -> bool {
    fits_an_id(text) && text.bytes().all(|b| b.is_ascii_graphic() || b == b' ')
}

pub struct Sender {
    pub server: Serving,
    pub house: House,
    pub key: String,
    worker: String,
}

impl Sender {
    pub fn new(house: House, env: &[(&str, &str)]) -> Self {
        house.json(&["tenant", "add", "Acme"], "");
        let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
        house.json(&user, PASSWORD);
        house.json(&["definition", "add", "steps", "--domain", "media", "--max-attempts", "5"], "");
        let (key, worker) = (new_key(&house, "acme", "admin"), new_key(&house, "acme", "worker"));
        let server = house.serve(env);
        Self { server, house, key, worker }
    }

    pub fn get(&self, path: &str) -> (u16, Value) {
        let answer = self.server.get(&format!("/api/v1{path}"), &[("x-api-key", &self.key)]);
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.post_with(&[("x-api-key", &self.key)], path, body)
    }

    fn post_with(&self, headers: &[(&str, &str)], path: &str, body: &Value) -> (u16, Value) {
        let answer = self.server.request("POST", &format!("/api/v1{path}"), headers, &body.to_string());
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    /// A job for every secret, with the secret in every field that takes it.
    pub fn enqueue_each(&self, secrets: &[Secret]) -> Vec<i64> {
        let jobs: Vec<_> = secrets.iter().map(job_with).collect();
        let mut numbers = Vec::new();
        for some in jobs.chunks(100) {
            let (status, answer) = self.post("/jobs/bulk", &json!({ "jobs": some }));
            assert_eq!((status, &answer["refused"]), (201, &json!(0)), "{answer}");
            numbers
                .extend(answer["jobs"].as_array().unwrap().iter().filter_map(|job| job["number"].as_i64()));
        }
        numbers
    }

    pub fn claim(&self) -> Claim {
        let (_, mut answer) = self.claim_some("w1", 1);
        Claim { worker: "w1".into(), job: answer["jobs"][0].take() }
    }

    fn claim_some(&self, worker: &str, limit: usize) -> (u16, Value) {
        let body = json!({"worker_id": worker, "limit": limit, "lease_seconds": 600});
        self.post_with(&[("x-api-key", &self.worker)], "/worker/jobs/claim", &body)
    }

    pub fn tell(&self, claim: &Claim, what: &str, body: Value) -> (u16, Value) {
        let path = format!("/worker/jobs/{}/{what}", claim.number());
        self.post_with(&[("x-api-key", &self.worker)], &path, &claim.showing(body))
    }

    /// Every job is reported on with its secret in every word; half of them fail.
    pub fn work(&self, secrets: &[Secret]) {
        let mut at = 0;
        while at < secrets.len() {
            let (status, answer) = self.claim_some("w1", 100);
            assert_eq!(status, 200, "{answer}");
            let jobs = answer["jobs"].as_array().unwrap().clone();
            assert!(!jobs.is_empty(), "{at} of {}", secrets.len());
            for job in jobs {
                self.report(&Claim { worker: "w1".into(), job }, &secrets[at % secrets.len()], at);
                at += 1;
            }
        }
    }

    fn report(&self, claim: &Claim, secret: &Secret, at: usize) {
        let text = &secret.text;
        let progress = json!({"stage": text, "message": text, "percent": 40});
        assert_eq!(self.tell(claim, "progress", progress).0, 200);
        // The lines of a private key come in two requests.
        let texts: Vec<&str> = text.lines().chain([text.as_str()]).collect();
        let lines: Vec<_> =
            texts.iter().zip(1..).map(|(text, seq)| json!({"seq": seq, "text": text})).collect();
        for some in lines.chunks(2) {
            assert_eq!(self.tell(claim, "logs", json!({ "lines": some })).0, 200);
        }
        let (what, body) = if at.is_multiple_of(2) {
            ("complete", json!({"result": {"note": text, "deep": [{text.clone(): text}]}}))
        } else {
            let long = format!("{} {text}", "x".repeat(3_980));
            ("fail", json!({"error_code": text, "message": long, "stack": text, "retryable": false}))
        };
        assert_eq!(self.tell(claim, what, body).0, 200);
    }

    /// Names with a slash are refused; that is fine too.
    pub fn attach(&self, number: i64, secret: &Secret) {
        let path = format!("/jobs/{number}/attachments");
        let named = json!({"name": format!("{}.txt", secret.text), "text": "x"});
        self.post(&path, &named);
        assert_eq!(self.post(&path, &json!({"name": "a.txt", "text": secret.text})).0, 201);
    }

    pub fn event(&self, secret: &Secret) {
        let text = &secret.text;
        let id = if fits_an_id(text) && !text.contains('\n') { json!(text) } else { Value::Null };
        let event = json!({"name": "plain.event", "event_id": id, "payload": {"note": text}});
        let mut headers = vec![("x-api-key", self.key.as_str())];
        if fits_a_header(text) {
            headers.push(("x-request-id", text.as_str()));
        }
        let (status, answer) = self.post_with(&headers, "/events", &event);
        assert!(status < 300, "{secret:?}: {status} {answer}");
        self.post("/events", &json!({"name": text, "payload": {}}));
    }

    pub fn trigger(&self, label: &str, template: &Value, event: &str) {
        let (status, answer) = self.new_trigger(label, template, event);
        // A label has one line, and braces in a template are its placeholders.
        let is_plain = !label.contains(['\n', '{']) && label.len() <= 200;
        assert!(status == 201 || !is_plain || answer["code"] == "QUOTA_EXCEEDED", "{label}: {answer}");
    }

    pub fn new_trigger(&self, label: &str, template: &Value, event: &str) -> (u16, Value) {
        let body = json!({"label": label, "trigger_type": "event", "event_name": event, "definition_key": "steps",
            "payload_template": template, "dedupe_window_seconds": 0});
        self.post("/jobs/triggers", &body)
    }

    /// A worker under such a name is refused.
    pub fn claim_as(&self, secret: &Secret) {
        self.claim_some(&secret.text, 1);
    }

    /// The jobs that events made, with the secret as the reason.
    pub fn cancel_what_waits(&self, secrets: &[Secret]) {
        let (_, waiting) = self.get("/jobs?status=queued&limit=200");
        let waiting = waiting["jobs"].as_array().unwrap().clone();
        assert!(waiting.len() > 100, "{}", waiting.len());
        for (job, secret) in waiting.iter().zip(secrets.iter().filter(|secret| secret.text.len() <= 500)) {
            let path = format!("/jobs/{}/cancel", job["number"]);
            assert_eq!(self.post(&path, &json!({"reason": secret.text})).0, 200);
        }
    }
}

fn job_with(secret: &Secret) -> Value {
    let text = &secret.text;
    let mut job = json!({
        "definition_key": "steps",
        "payload": {"note": text, "deep": [{"list": [text, {text.clone(): 1}]}]},
        "metadata": {"note": text},
    });
    if fits_an_id(text) {
        for field in IDS {
            job[field] = json!(text);
        }
    }
    job
}
