//! Who joins a tenant, and by what: the invitation's own link, never an address or an account alone.

use crate::{
    ADA, SUE, add,
    common::{Answer, House, Serving},
    may_sign_in, page, settled, shown_once, submit,
};

crate::on_both_databases! {
    a_squatted_address_opens_no_other_tenant,
    an_inviter_sees_no_name_before_it_is_given,
    links_lead_to_the_public_address,
}

const VICTIM: &str = "victim@corp.example";
const MALLORY: &str = "mallory@other.example";
const SQUATTED: &str = "mallory knows this one";

fn invite(server: &Serving, slug: &str, cookie: &str) -> Answer {
    let form = [("slug", slug), ("email", VICTIM), ("role", "admin")];
    submit(server, "invite_member", &form, cookie)
}

/// The token in the link that a page shows.
fn token(settings: &Answer) -> String {
    let link = shown_once(settings).unwrap_or_else(|| panic!("no link: {}", settings.body));
    link.split_once("token=").unwrap().1.to_owned()
}

/// Mallory, an admin of Other, invites somebody's address and uses the link himself.
fn squat(house: &House, server: &Serving) -> String {
    add(house, MALLORY, "admin", "other");
    let mallory = server.sign_in(MALLORY);
    let token = token(&invite(server, "other", &mallory));
    let form = [("token", token.as_str()), ("name", "Vera Victim"), ("password", SQUATTED)];
    let chosen = server.post("/do/choose_password", &form, &[]);
    let squatter = chosen.cookie().unwrap();
    assert_eq!(page(server, "/t/other", &squatter).status, 200, "in his own tenant he may");
    squatter
}

fn a_squatted_address_opens_no_other_tenant(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let squatter = squat(&house, &server);
    let sue = server.sign_in(SUE);
    let invited = invite(&server, "acme", &sue);
    let token = token(&invited);
    assert!(invited.body.contains(MALLORY), "a super-admin is told who made the account");
    let settings = page(&server, "/t/acme/settings", &sue).body;
    assert!(settings.contains(&format!("account made by {MALLORY}")), "{settings}");
    assert!(page(&server, "/admin/users", &sue).body.contains(&format!("by {MALLORY}")));
    for path in ["/t/acme", "/t/acme/jobs", "/t/acme/settings"] {
        assert_eq!(page(&server, path, &squatter).status, 404, "{path}: the account alone opens nothing");
    }
    assert!(may_sign_in(&server, VICTIM, SQUATTED), "nor does its password");
    for guess in ["", "0123456789abcdef", &"0".repeat(64)] {
        server.post("/do/join_tenant", &[("token", guess)], &[("cookie", &squatter)]);
        assert_eq!(page(&server, "/t/acme", &squatter).status, 404);
    }
    // The link alone opens nothing either: who has it does not know the account's password.
    let link = format!("/invite?token={token}");
    let shown = page(&server, &link, "").body;
    assert!(shown.contains(MALLORY), "whoever was handed the link can notice, too: {shown}");
    let form = [("token", token.as_str()), ("password", "the victim's own words")];
    server.post("/do/choose_password", &form, &[]);
    assert!(!may_sign_in(&server, VICTIM, "the victim's own words"));
    assert_eq!(page(&server, "/t/acme", &squatter).status, 404);
    // Both together are what an invitation asks for.
    let joined = server.post("/do/join_tenant", &[("token", &token)], &[("cookie", &squatter)]);
    assert_eq!(joined.header("location"), Some("/t/acme"));
    let log = house.json(&["audit", "list", "--action", "member."], "");
    let acts: Vec<_> = log["entries"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
    assert_eq!(acts, ["member.join", "member.invite", "member.join", "member.invite"]);
}

fn an_inviter_sees_no_name_before_it_is_given(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    squat(&house, &server);
    let ada = server.sign_in(ADA);
    let invited = invite(&server, "acme", &ada);
    for body in [&invited.body, &page(&server, "/t/acme/settings", &ada).body] {
        assert!(body.contains(VICTIM) && !body.contains("Vera"), "{body}");
    }
    let line = ["user", "invite", VICTIM, "--role", "viewer", "--tenant", "acme"];
    let answer = house.json(&line, "");
    assert_eq!(answer["user"]["name"], "victim", "{answer}");
    assert_eq!(answer["account"]["by"], MALLORY, "{answer}");
}

fn links_lead_to_the_public_address(house: House) {
    settled(&house);
    let server = house.serve(&[("JOBS_PUBLIC_URL", "https://jobs.example.org")]);
    let ada = server.sign_in(ADA);
    let link = shown_once(&invite(&server, "acme", &ada)).unwrap();
    assert!(link.starts_with("https://jobs.example.org/invite?token="), "{link}");
    let line = ["user", "invite", VICTIM, "--role", "viewer", "--tenant", "acme"];
    let print = |url: &str| house.command(&line).env("JOBS_PUBLIC_URL", url).output().unwrap();
    let text = String::from_utf8(print("https://jobs.example.org").stdout).unwrap();
    assert!(text.contains("at https://jobs.example.org/invite?token="), "{text}");
    let refused = print("jobs.example.org/somewhere");
    assert!(!refused.status.success());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("https://jobs.example.org"));
}
