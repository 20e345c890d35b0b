//! People over HTTP: invited, given another role, removed; their keys, passwords and sessions; what the audit log says.

#[path = "../common/mod.rs"]
mod common;

mod invitations;
mod keys;
mod log;
mod members;
mod passwords;
mod sessions;
mod tenants;
mod throttle;

use common::{Answer, House, PASSWORD, Serving};

pub const ADA: &str = "ada@acme.example";
pub const SUE: &str = "sue@leasehold.example";

/// Two tenants; Ada is an admin of Acme, Sue steers everything.
pub fn settled(house: &House) {
    house.json(&["tenant", "add", "Acme"], "");
    house.json(&["tenant", "add", "Other"], "");
    house.json(&["user", "add", SUE, "--role", "super_admin", "--password-stdin"], PASSWORD);
    add(house, ADA, "admin", "acme");
}

pub fn add(house: &House, email: &str, role: &str, tenant: &str) {
    let line = ["user", "add", email, "--role", role, "--tenant", tenant, "--password-stdin"];
    house.json(&line, PASSWORD);
}

/// A page as a browser asks for it.
pub fn page(server: &Serving, path: &str, cookie: &str) -> Answer {
    server.get(path, &[("cookie", cookie), ("accept", "text/html")])
}

/// Posts a form and reads the page it leads to.
pub fn submit(server: &Serving, action: &str, fields: &[(&str, &str)], cookie: &str) -> Answer {
    let answer = server.post(&format!("/do/{action}"), fields, &[("cookie", cookie)]);
    let to = answer.header("location").unwrap_or_else(|| panic!("{} {}", answer.head, answer.body));
    page(server, to, cookie)
}

/// What stands in the box that is shown once.
pub fn shown_once(answer: &Answer) -> Option<String> {
    let (_, rest) = answer.body.split_once("id=\"shown-once\"")?;
    let (_, rest) = rest.split_once('>')?;
    Some(rest.split_once('<')?.0.trim().to_owned())
}

pub fn user_id(house: &House, email: &str) -> String {
    let users = house.json(&["user", "list"], "");
    let user = users.as_array().unwrap().iter().find(|account| account["user"]["email"] == email);
    user.unwrap_or_else(|| panic!("no {email} in {users}"))["user"]["id"].as_str().unwrap().to_owned()
}

/// Whether these open a session.
pub fn may_sign_in(server: &Serving, email: &str, password: &str) -> bool {
    let form = [("email", email), ("password", password), ("next", "/tenants")];
    let answer = server.post("/do/sign_in", &form, &[]);
    answer.header("location") == Some("/tenants")
}
