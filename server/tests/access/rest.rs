//! The API, with keys.

use crate::{
    cast::{Cast, MARKER, Role},
    differences, document,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, io::BufRead};

/// The least a key must be allowed to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    Read,
    Write,
    Admin,
    /// A key of the installation.
    Govern,
    Worker,
}

pub struct Case {
    pub method: &'static str,
    /// As the description has it, without `/api/v1`.
    pub path: &'static str,
    pub need: Need,
    /// Query and body of a request that is in order.
    query: &'static str,
    body: Value,
    /// What `{id}` stands for: something of Acme's.
    thing: Thing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thing {
    None,
    Job,
    /// Of the installation, so not another tenant's.
    Definition,
    Trigger,
}

fn case(need: Need, method: &'static str, path: &'static str) -> Case {
    let thing = if path.contains("/jobs/{id}") { Thing::Job } else { Thing::None };
    Case { method, path, need, query: "", body: Value::Null, thing }
}

impl Case {
    fn body(mut self, body: Value) -> Self {
        self.body = body;
        self
    }

    fn query(mut self, query: &'static str) -> Self {
        self.query = query;
        self
    }

    fn of(mut self, thing: Thing) -> Self {
        self.thing = thing;
        self
    }

    fn name(&self) -> String {
        format!("{} /api/v1{}", self.method, self.path)
    }

    fn may(&self, role: Role) -> bool {
        use Need::{Admin, Govern, Read, Worker, Write};
        match role {
            Role::Anonymous | Role::Revoked => false,
            Role::Worker => self.need == Worker,
            Role::Viewer => self.need == Read,
            Role::Admin | Role::OtherTenant => matches!(self.need, Read | Write | Admin),
            Role::SuperAdmin => matches!(self.need, Read | Write | Admin | Govern),
        }
    }
}

/// What the description lists.
pub fn served(cast: &Cast) -> BTreeSet<String> {
    let api: Value = serde_json::from_str(&cast.server.get("/api/openapi.json", &[]).body).unwrap();
    let operations = |(path, item): (&String, &Value)| -> Vec<String> {
        item.as_object().unwrap().keys().map(|method| format!("{} {path}", method.to_uppercase())).collect()
    };
    api["paths"].as_object().unwrap().iter().flat_map(operations).collect()
}

pub fn try_all(cast: &Cast) -> Vec<String> {
    let cases = cases();
    let listed = cases.iter().map(Case::name).collect();
    let mut wrong = differences("the API's", served(cast), listed);
    wrong.extend(document::check(&cases));
    let things = Things::new(cast);
    for case in &cases {
        for role in Role::ALL {
            wrong.extend(try_one(cast, &things, case, role));
        }
    }
    wrong
}

/// Acme's own.
struct Things {
    job: i64,
    definition: String,
    trigger: String,
}

impl Things {
    fn new(cast: &Cast) -> Self {
        let admin = cast.key(Role::Admin);
        let trigger = json!({"label": "mine", "trigger_type": "event", "event_name": MARKER, "definition_key": "steps"});
        let trigger = cast.server.request("POST", "/api/v1/jobs/triggers", &admin, &trigger.to_string());
        let trigger: Value = serde_json::from_str(&trigger.body).unwrap_or_default();
        Self {
            job: cast.waiting_job(),
            definition: "steps".into(),
            trigger: trigger["id"].as_str().unwrap_or("none").to_owned(),
        }
    }

    fn address(&self, case: &Case) -> String {
        let id = match case.thing {
            Thing::None => String::new(),
            Thing::Job => self.job.to_string(),
            Thing::Definition => self.definition.clone(),
            Thing::Trigger => self.trigger.clone(),
        };
        let query = case.query.replace("{job}", &self.job.to_string());
        format!("/api/v1{}{query}", case.path.replace("{id}", &id))
    }
}

fn try_one(cast: &Cast, things: &Things, case: &Case, role: Role) -> Option<String> {
    let (status, body) = ask(cast, things, case, role);
    let foreign = role == Role::OtherTenant && matches!(case.thing, Thing::Job | Thing::Trigger);
    let fine = match role {
        Role::Anonymous | Role::Revoked => status == 401,
        _ if !case.may(role) => status == 403,
        _ if foreign => status == 404,
        // Beyond the door anything goes that is about the request itself.
        _ => !matches!(status, 401 | 403 | 404 | 405) && status < 500,
    };
    let outside = !matches!(role, Role::Viewer | Role::Admin | Role::SuperAdmin);
    if outside && case.need != Need::Worker && body.contains(MARKER) {
        return Some(format!("{} shows {} Acme's data: {body}", case.name(), role.title()));
    }
    (!fine).then(|| format!("{} answers {status} to {}: {body}", case.name(), role.title()))
}

/// The status, and the body unless it is a stream.
fn ask(cast: &Cast, things: &Things, case: &Case, role: Role) -> (u16, String) {
    let (headers, address) = (cast.key(role), things.address(case));
    if case.path.ends_with("/events") || case.path.ends_with("/stream") {
        let mut stream = cast.server.stream(&address, &headers);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        return (line.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status"), String::new());
    }
    let body = if case.body.is_null() { String::new() } else { case.body.to_string() };
    let answer = cast.server.request(case.method, &address, &headers, &body);
    (answer.status, answer.body)
}

pub fn cases() -> Vec<Case> {
    let lease = || json!({"worker_id": "w", "lease_id": "01890000-0000-7000-8000-000000000000"});
    let mut cases = vec![case(Need::Worker, "POST", "/worker/jobs/claim").body(json!({}))];
    for path in [
        "/worker/jobs/{id}/heartbeat",
        "/worker/jobs/{id}/progress",
        "/worker/jobs/{id}/complete",
        "/worker/jobs/{id}/fail",
        "/worker/jobs/{id}/release",
    ] {
        cases.push(case(Need::Worker, "POST", path).body(lease()));
    }
    let mut lines = lease();
    lines["lines"] = json!([]);
    cases.push(case(Need::Worker, "POST", "/worker/jobs/{id}/logs").body(lines));
    cases
}
