//! The dashboard's pages and the other fixed addresses, with sessions.

use crate::{
    cast::{Cast, MARKER, Role},
    differences,
};
use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// Whoever asks.
    Nothing,
    SignIn,
    /// Whoever may look into Acme.
    View,
    /// Whoever may change things in Acme; viewers are told that they may not.
    Operate,
    /// Who steers everything; for others it does not exist.
    Govern,
}

/// Pages as the router has them, and the address that is tried.
const PAGES: &[(&str, Need, &str)] = &[
    ("/login", Need::Nothing, "/login"),
    ("/setup", Need::Nothing, "/setup"),
    ("/invite", Need::Nothing, "/invite"),
    ("/account", Need::SignIn, "/account"),
    ("/tenants", Need::SignIn, "/tenants"),
    ("/t/{slug}", Need::View, "/t/acme"),
    ("/t/{slug}/jobs", Need::View, "/t/acme/jobs"),
    ("/t/{slug}/jobs/new", Need::Operate, "/t/acme/jobs/new"),
    ("/t/{slug}/jobs/{number}", Need::View, "/t/acme/jobs/{job}"),
    ("/t/{slug}/settings", Need::View, "/t/acme/settings"),
    ("/t/{slug}/settings/audit", Need::Operate, "/t/acme/settings/audit"),
    ("/admin/users", Need::Govern, "/admin/users"),
    ("/admin/tenants", Need::Govern, "/admin/tenants"),
    ("/admin/audit", Need::Govern, "/admin/audit"),
    ("/admin/workers", Need::Govern, "/admin/workers"),
];

/// What is neither page, nor function, nor API.
const FIXED: &[(&str, Need, &str)] = &[
    ("/health", Need::Nothing, "/health"),
    ("/ready", Need::Nothing, "/ready"),
    ("/health/ready", Need::Nothing, "/health/ready"),
    ("/api/openapi.json", Need::Nothing, "/api/openapi.json"),
    ("/api/docs", Need::Nothing, "/api/docs"),
    ("/t/{slug}/jobs/{number}/{file}", Need::View, "/t/acme/jobs/{job}/payload.json"),
];

/// A link that is signed, a stream, the functions and what asks for keys: each is tried in its own way, below.
const SPECIAL: &[&str] = &["/attachments/{id}", "/t/{slug}/live", "/do/{*function}", "/metrics"];

pub fn try_all(cast: &Cast) -> Vec<String> {
    let routes = cast.house.json(&["routes"], "");
    let list = |name: &str| routes[name].as_array().unwrap().iter().map(text).collect();
    let mut wrong = differences("the page", list("pages"), PAGES.iter().map(|p| p.0.to_owned()).collect());
    let fixed = FIXED.iter().map(|f| f.0).chain(SPECIAL.iter().copied()).map(str::to_owned);
    wrong.extend(differences("the address", list("fixed"), fixed.collect()));
    let job = cast.waiting_job().to_string();
    for (_, need, address) in PAGES.iter().chain(FIXED) {
        for role in Role::ALL {
            wrong.extend(try_one(cast, *need, &address.replace("{job}", &job), role));
        }
    }
    wrong.extend(the_stream(cast));
    wrong.extend(files_need_their_link(cast));
    wrong.extend(figures_need_a_key(cast));
    wrong.extend(Role::ALL.into_iter().filter_map(|role| {
        let status = cast.server.post("/do/no_such_function", &[], &cast.session(role)).status;
        (status != 404).then(|| format!("/do/no_such_function answers {status} to {}", role.title()))
    }));
    wrong
}

fn text(path: &Value) -> String {
    path.as_str().unwrap().to_owned()
}

fn may(need: Need, role: Role) -> bool {
    use Role::{Admin, OtherTenant, SuperAdmin, Viewer};
    match need {
        Need::Nothing => true,
        Need::SignIn => matches!(role, OtherTenant | Viewer | Admin | SuperAdmin),
        Need::View => matches!(role, Viewer | Admin | SuperAdmin),
        Need::Operate => matches!(role, Admin | SuperAdmin),
        Need::Govern => role == SuperAdmin,
    }
}

fn try_one(cast: &Cast, need: Need, address: &str, role: Role) -> Option<String> {
    let mut headers = cast.session(role);
    headers.push(("accept", "text/html"));
    let answer = cast.server.get(address, &headers);
    let signed_in = !matches!(role, Role::Anonymous | Role::Revoked | Role::Worker);
    // A link without its token says so.
    let right = if may(need, role) {
        answer.status == 200
            || (matches!(address, "/setup" | "/invite") && answer.status == 403)
            || answer.status == 303 && need == Need::Nothing
    } else if need == Need::Operate && role == Role::Viewer {
        answer.status == 403
    } else if signed_in {
        answer.status == 404
    } else {
        answer.status == 303 && answer.header("location").is_some_and(|to| to.starts_with("/login"))
    };
    if !may(need, role) && answer.body.contains(MARKER) {
        return Some(format!("{address} shows {} Acme's data", role.title()));
    }
    (!right).then(|| format!("{address} answers {} to {}", answer.status, role.title()))
}

/// `/t/{slug}/live`.
fn the_stream(cast: &Cast) -> Vec<String> {
    use std::io::BufRead;
    let status = |role: Role| {
        let mut stream = cast.server.stream("/t/acme/live", &cast.session(role));
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        line.split(' ').nth(1).and_then(|s| s.parse::<u16>().ok()).expect("a status")
    };
    let expected = |role: Role| match role {
        Role::Anonymous | Role::Revoked | Role::Worker => 401,
        Role::OtherTenant => 404,
        Role::Viewer | Role::Admin | Role::SuperAdmin => 200,
    };
    let wrong = |role: Role| {
        let given = status(role);
        (given != expected(role)).then(|| format!("/t/acme/live answers {given} to {}", role.title()))
    };
    Role::ALL.into_iter().filter_map(wrong).collect()
}

/// `/attachments/{id}`: who is signed in, or shows a key, gets no more than anybody.
fn files_need_their_link(cast: &Cast) -> Vec<String> {
    let number = cast.waiting_job();
    let body = serde_json::json!({"name": "a.txt", "text": MARKER}).to_string();
    let admin = cast.key(Role::Admin);
    let path = format!("/api/v1/jobs/{number}/attachments");
    let kept: Value = serde_json::from_str(&cast.server.request("POST", &path, &admin, &body).body).unwrap();
    let link = kept["url"].as_str().unwrap();
    let plain = link.split('?').next().unwrap();
    let other = link.replace("signature=", "signature=0");
    let mut wrong = Vec::new();
    for role in Role::ALL {
        let headers = [cast.session(role), cast.key(role)].concat();
        for address in [plain, &other] {
            let answer = cast.server.get(address, &headers);
            if answer.status != 403 || answer.body.contains(MARKER) {
                wrong.push(format!("{address} answers {} to {}", answer.status, role.title()));
            }
        }
        if !cast.server.get(link, &headers).body.contains(MARKER) {
            wrong.push(format!("the signed link does not open for {}", role.title()));
        }
    }
    wrong
}

/// `/metrics`: a key that reads, and its own tenant's figures.
fn figures_need_a_key(cast: &Cast) -> Vec<String> {
    let expected = |role: Role| match role {
        Role::Anonymous | Role::Revoked => 401,
        Role::Worker => 403,
        Role::OtherTenant | Role::Viewer | Role::Admin | Role::SuperAdmin => 200,
    };
    let wrong = |role: Role| {
        let answer = cast.server.get("/metrics", &cast.key(role));
        let leaks = expected(role) != 200 || role == Role::OtherTenant;
        let fine = answer.status == expected(role) && !(leaks && answer.body.contains("acme"));
        let by_session = cast.server.get("/metrics", &cast.session(role)).status;
        let fine = fine && (role == Role::Worker || by_session == 401);
        (!fine).then(|| format!("/metrics answers {} to {}", answer.status, role.title()))
    };
    Role::ALL.into_iter().filter_map(wrong).collect()
}
