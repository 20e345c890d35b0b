//! Everyone who may knock, and a tenant with something to see.

use crate::common::{House, PASSWORD, Serving, remote::new_key};
use serde_json::{Value, json};

/// Stands in the payload of Acme's jobs; whoever may not see them must never be shown it.
pub const MARKER: &str = "acme-only-4711";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Anonymous,
    OtherTenant,
    Viewer,
    Admin,
    SuperAdmin,
    /// A key that was revoked; for pages a session that was signed out.
    Revoked,
    Worker,
}

impl Role {
    /// Strangers first, so that nothing they try is explained by what others did before.
    pub const ALL: [Self; 7] = [
        Self::Anonymous,
        Self::Revoked,
        Self::OtherTenant,
        Self::Worker,
        Self::Viewer,
        Self::Admin,
        Self::SuperAdmin,
    ];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Anonymous => "nobody",
            Self::OtherTenant => "another tenant",
            Self::Viewer => "viewer",
            Self::Admin => "admin",
            Self::SuperAdmin => "super-admin",
            Self::Revoked => "revoked",
            Self::Worker => "worker",
        }
    }

    /// The person of this role.
    pub const fn email(self) -> &'static str {
        match self {
            Self::OtherTenant => "olga@other.example",
            Self::Viewer => "vic@acme.example",
            Self::Admin => "ada@acme.example",
            Self::SuperAdmin => "sue@leasehold.example",
            Self::Anonymous | Self::Revoked | Self::Worker => "rob@acme.example",
        }
    }
}

pub struct Cast {
    pub house: House,
    pub server: Serving,
    keys: [Option<String>; 7],
    cookies: [Option<String>; 7],
}

impl Cast {
    pub fn new(house: House) -> Self {
        house.json(&["tenant", "add", "Acme"], "");
        house.json(&["tenant", "add", "Other"], "");
        let add = |email: &str, role: &str, tenant: Option<&str>| {
            let mut line = vec!["user", "add", email, "--role", role, "--password-stdin"];
            if let Some(tenant) = tenant {
                line.extend(["--tenant", tenant]);
            }
            house.json(&line, PASSWORD);
        };
        add(Role::SuperAdmin.email(), "super_admin", None);
        add(Role::Admin.email(), "admin", Some("acme"));
        add(Role::Revoked.email(), "admin", Some("acme"));
        add(Role::Viewer.email(), "viewer", Some("acme"));
        add(Role::OtherTenant.email(), "admin", Some("other"));
        house.json(&["definition", "add", "steps", "--domain", "media", "--max-attempts", "5"], "");
        let revoked = new_key(&house, "acme", "admin");
        let (prefix, _) = revoked["lh_".len()..].split_once('_').unwrap();
        house.json(&["key", "revoke", prefix], "");
        let super_key =
            house.json(&["key", "add", "--installation", "--name", "test", "--scope", "admin"], "");
        let key = |role: Role| match role {
            Role::Anonymous => None,
            Role::OtherTenant => Some(new_key(&house, "other", "admin")),
            Role::Viewer => Some(new_key(&house, "acme", "read")),
            Role::Admin => Some(new_key(&house, "acme", "admin")),
            Role::SuperAdmin => super_key["key"].as_str().map(str::to_owned),
            Role::Revoked => Some(revoked.clone()),
            Role::Worker => Some(new_key(&house, "acme", "worker")),
        };
        let keys = Role::ALL.map(key);
        // Nothing runs here: what is enqueued stays as it is.
        let server = house.serve(&[
            ("JOBS_MAX_CONCURRENCY", "0"),
            ("JOBS_QUARANTINE_THRESHOLD", "1"),
            ("JOBS_METRICS_ANONYMOUS", "nobody"),
            ("JOBS_ARCHIVE_BEFORE_DELETE", "true"),
        ]);
        let cookies = Role::ALL.map(|role| match role {
            Role::Anonymous | Role::Worker => None,
            role => Some(server.sign_in(role.email())),
        });
        let cast = Self { house, server, keys, cookies };
        let signed_out = cast.server.post("/do/sign_out", &[], &cast.session(Role::Revoked));
        assert!(signed_out.header("location").is_some(), "{}", signed_out.head);
        cast
    }

    fn place(role: Role) -> usize {
        Role::ALL.iter().position(|known| *known == role).unwrap()
    }

    /// The headers with which a program of this role comes.
    pub fn key(&self, role: Role) -> Vec<(&str, &str)> {
        let mut headers = Vec::new();
        if let Some(key) = &self.keys[Self::place(role)] {
            headers.push(("x-api-key", key.as_str()));
        }
        if role == Role::SuperAdmin {
            headers.push(("x-tenant", "acme"));
        }
        headers
    }

    /// The headers with which a browser of this role comes. A worker has no browser, only its key.
    pub fn session(&self, role: Role) -> Vec<(&str, &str)> {
        let cookie = self.cookies[Self::place(role)].as_deref().map(|cookie| ("cookie", cookie));
        let key = if role == Role::Worker { self.key(role) } else { Vec::new() };
        cookie.into_iter().chain(key).collect()
    }

    /// A new job of Acme's that waits; its number.
    pub fn waiting_job(&self) -> i64 {
        self.job_of_priority("500")
    }

    fn job_of_priority(&self, priority: &str) -> i64 {
        let payload = json!({"note": MARKER}).to_string();
        let form = [
            ("slug", "acme"),
            ("definition_key", "steps"),
            ("payload_json", payload.as_str()),
            ("priority", priority),
        ];
        let answer = self.server.post("/do/enqueue", &form, &self.session(Role::SuperAdmin));
        let location = answer.header("location").unwrap_or_default();
        let number =
            location.rsplit('/').next().and_then(|n| n.split('?').next()).and_then(|n| n.parse().ok());
        number.unwrap_or_else(|| panic!("not enqueued: {} {}", answer.head, answer.body))
    }

    /// A new job of Acme's that has ended.
    pub fn cancelled_job(&self) -> i64 {
        let number = self.waiting_job();
        self.ask_to_stop(&json!(number));
        number
    }

    /// A new job of Acme's that its worker `w` holds, as it was told of it.
    pub fn held_job(&self) -> Value {
        let number = self.job_of_priority("1");
        // Others may have been handed back by an earlier try; once claimed they are out of the way.
        for _ in 0..10 {
            let claimed = self.as_worker("claim", json!({"worker_id": "w", "limit": 1}));
            if claimed["jobs"][0]["number"] == number {
                return claimed["jobs"][0].clone();
            }
        }
        panic!("job {number} is not given out");
    }

    pub fn ask_to_stop(&self, number: &Value) {
        let text = number.to_string();
        let form = [("slug", "acme"), ("number", text.as_str()), ("reason", "not needed")];
        let answer = self.server.post("/do/cancel", &form, &self.session(Role::SuperAdmin));
        assert!(answer.header("location").is_some(), "{} {}", answer.head, answer.body);
    }

    /// A new job of Acme's that failed in a way that parks it.
    pub fn quarantined_job(&self) -> i64 {
        let job = self.held_job();
        let failure =
            json!({"worker_id": "w", "lease_id": job["lease_id"], "error_code": "E", "message": "no"});
        let ended = self.as_worker(&format!("{}/fail", job["number"]), failure);
        assert_eq!(ended["status"], "quarantined", "{ended}");
        job["number"].as_i64().unwrap()
    }

    /// A job of Acme's that ended long ago and was removed; a copy is kept.
    pub fn archived_job(&self) -> i64 {
        let number = self.cancelled_job();
        let long_ago = "2020-01-01T00:00:00.000000Z";
        self.house.sql(&format!("UPDATE jobs SET completed_at = '{long_ago}' WHERE number = {number}"));
        let prune = json!({"statuses": ["cancelled"], "older_than_days": 1}).to_string();
        let headers = [self.key(Role::Admin), vec![("x-confirm", "true")]].concat();
        let answer = self.server.request("POST", "/api/v1/jobs/prune", &headers, &prune);
        assert_eq!(answer.status, 200, "{}", answer.body);
        number
    }

    /// A new trigger of Acme's; its id.
    pub fn trigger(&self) -> String {
        let body = json!({"label": MARKER, "trigger_type": "event", "event_name": uuid::Uuid::new_v4().to_string(),
            "definition_key": "steps"});
        let key = self.key(Role::Admin);
        let made = self.server.request("POST", "/api/v1/jobs/triggers", &key, &body.to_string());
        let made: Value = serde_json::from_str(&made.body).unwrap();
        made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// A plan of Acme's; its id.
    pub fn operation(&self) -> String {
        let body = json!({"action": "cancel", "filter": {"domain": "nowhere"}, "reason": MARKER});
        let key = self.key(Role::Admin);
        let made = self.server.request("POST", "/api/v1/operations", &key, &body.to_string());
        let made: Value = serde_json::from_str(&made.body).unwrap();
        made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    fn as_worker(&self, path: &str, body: Value) -> Value {
        let path = format!("/api/v1/worker/jobs/{path}");
        let answer = self.server.request("POST", &path, &self.key(Role::Worker), &body.to_string());
        serde_json::from_str(&answer.body).unwrap_or_default()
    }

    /// What this person has done so far, by the audit log.
    pub fn deeds_of(&self, role: Role) -> usize {
        let entries = self.house.json(&["audit", "list", "--limit", "1000"], "");
        let entries = entries.as_array().or(entries["entries"].as_array()).cloned().unwrap_or_default();
        entries.iter().filter(|entry: &&Value| entry["actor"] == role.email()).count()
    }
}
