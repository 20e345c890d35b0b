//! The API, with keys.

use crate::{
    cases::cases,
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
    /// What `{id}` stands for.
    thing: Thing,
}

/// Something of Acme's, made anew for each try, as the try may use it up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    None,
    Job,
    EndedJob,
    /// Removed, with a copy left behind.
    ArchivedJob,
    /// Claimed by Acme's worker.
    HeldJob,
    /// The same, asked to stop.
    StoppingJob,
    /// Of the installation, so not another tenant's.
    Definition,
    Trigger,
    /// Planned by Acme's admin.
    Operation,
}

pub fn case(need: Need, method: &'static str, path: &'static str) -> Case {
    let thing = match path {
        path if path.contains("/jobs/{id}") => Thing::Job,
        path if path.contains("/definitions/{") => Thing::Definition,
        path if path.contains("/triggers/{id}") => Thing::Trigger,
        path if path.contains("/operations/{id}") => Thing::Operation,
        _ => Thing::None,
    };
    Case { method, path, need, query: "", body: Value::Null, thing }
}

impl Case {
    pub fn body(mut self, body: Value) -> Self {
        self.body = body;
        self
    }

    pub fn about(mut self, thing: Thing) -> Self {
        self.thing = thing;
        self
    }

    pub fn query(mut self, query: &'static str) -> Self {
        self.query = query;
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
    for case in &cases {
        for role in Role::ALL {
            wrong.extend(try_one(cast, case, role));
        }
    }
    wrong
}

/// Where the request goes, and what it carries.
struct Aim {
    address: String,
    body: String,
}

impl Aim {
    fn new(cast: &Cast, case: &Case) -> Self {
        let (mut body, mut query) = (case.body.clone(), case.query.to_owned());
        let id = match case.thing {
            Thing::None => String::new(),
            Thing::Job => cast.waiting_job().to_string(),
            Thing::EndedJob => cast.cancelled_job().to_string(),
            Thing::ArchivedJob => cast.archived_job().to_string(),
            Thing::HeldJob | Thing::StoppingJob => {
                let held = cast.held_job();
                if case.thing == Thing::StoppingJob {
                    cast.ask_to_stop(&held["number"]);
                }
                match case.method {
                    "GET" => query = format!("?worker_id=w&lease_id={}", held["lease_id"].as_str().unwrap()),
                    _ => {
                        body["worker_id"] = json!("w");
                        body["lease_id"] = held["lease_id"].clone();
                    }
                }
                held["number"].to_string()
            }
            Thing::Definition => "steps".to_owned(),
            Thing::Trigger => cast.trigger(),
            Thing::Operation => cast.operation(),
        };
        let address = format!("/api/v1{}{}", case.path, query).replace("{id}", &id).replace("{key}", &id);
        Self { address, body: if body.is_null() { String::new() } else { body.to_string() } }
    }
}

fn try_one(cast: &Cast, case: &Case, role: Role) -> Option<String> {
    let (status, body) = ask(cast, case, role);
    let foreign = role == Role::OtherTenant && !matches!(case.thing, Thing::None | Thing::Definition);
    let fine = match role {
        Role::Anonymous | Role::Revoked => status == 401,
        _ if !case.may(role) => status == 403,
        _ if foreign => status == 404,
        _ => (200..300).contains(&status),
    };
    let outside = !matches!(role, Role::Viewer | Role::Admin | Role::SuperAdmin);
    if outside && case.need != Need::Worker && body.contains(MARKER) {
        return Some(format!("{} shows {} Acme's data: {body}", case.name(), role.title()));
    }
    (!fine).then(|| format!("{} answers {status} to {}: {body}", case.name(), role.title()))
}

/// The status, and the body unless it is a stream.
fn ask(cast: &Cast, case: &Case, role: Role) -> (u16, String) {
    let aim = Aim::new(cast, case);
    let headers = [cast.key(role), vec![("x-confirm", "true")]].concat();
    if case.path.ends_with("{id}/events") || case.path.ends_with("/stream") {
        let mut stream = cast.server.stream(&aim.address, &headers);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        return (line.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status"), String::new());
    }
    let answer = cast.server.request(case.method, &aim.address, &headers, &aim.body);
    (answer.status, answer.body)
}
