//! Invitations, roles, and what happens at once when somebody may do less.

use crate::{
    ADA, SUE, add,
    common::{House, PASSWORD, Serving, read_until},
    may_sign_in, page, settled, shown_once, submit, user_id,
};
use std::io::Read;

crate::on_both_databases! {
    who_is_invited_chooses_a_password_and_comes_in,
    a_role_takes_effect_at_once,
    a_removed_member_is_out_and_their_stream_ends,
    who_is_disabled_cannot_come_back,
    viewers_see_the_settings_and_change_nothing,
    who_has_an_account_joins_only_with_its_password,
    the_last_admin_must_say_so,
}

const EVE: &str = "eve@acme.example";

/// The path of Eve's link.
fn invite(server: &Serving, ada: &str, role: &str) -> String {
    let form = [("slug", "acme"), ("email", " Eve@Acme.Example"), ("role", role)];
    let settings = submit(server, "invite_member", &form, ada);
    let link = shown_once(&settings).unwrap_or_else(|| panic!("no link: {}", settings.body));
    let again = page(server, "/t/acme/settings", ada);
    assert!(again.body.contains(EVE) && shown_once(&again).is_none(), "shown once");
    link.split_once(&server.addr.to_string()).unwrap().1.to_owned()
}

fn choose(server: &Serving, link: &str, password: &str) -> crate::common::Answer {
    let token = link.split_once("token=").unwrap().1;
    server.post("/do/choose_password", &[("token", token), ("name", "Eve"), ("password", password)], &[])
}

fn who_is_invited_chooses_a_password_and_comes_in(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let ada = server.sign_in(ADA);
    let link = invite(&server, &ada, "viewer");
    assert!(!may_sign_in(&server, EVE, "!") && !may_sign_in(&server, EVE, ""), "no password yet");
    assert!(page(&server, &link, "").body.contains(EVE));
    for weak in ["short", "          ", "aaaaaaaaaaaaaaa", "1234567890", "eve eve eve eve", "AcmeAcmeAcme"] {
        let refused = choose(&server, &link, weak);
        assert!(refused.header("location").unwrap().starts_with("/invite?"), "{weak}");
    }
    let chosen = choose(&server, &link, "a fine long password");
    assert_eq!(chosen.header("location"), Some("/"), "{}", chosen.body);
    let eve = chosen.cookie().unwrap();
    assert_eq!(page(&server, "/t/acme", &eve).status, 200);
    assert_eq!(page(&server, "/t/other", &eve).status, 404);
    assert_eq!(page(&server, &link, "").status, 403, "a link works once");
    assert!(
        choose(&server, &link, "another long password").header("location").unwrap().starts_with("/invite")
    );
    assert!(may_sign_in(&server, EVE, "a fine long password"));
    assert!(!may_sign_in(&server, EVE, "another long password"));
}

fn a_role_takes_effect_at_once(house: House) {
    settled(&house);
    add(&house, EVE, "viewer", "acme");
    let server = house.serve(&[]);
    let (ada, eve) = (server.sign_in(ADA), server.sign_in(EVE));
    let id = user_id(&house, EVE);
    assert_eq!(page(&server, "/t/acme/jobs/new", &eve).status, 403);
    for (role, status) in [("admin", 200), ("viewer", 403)] {
        submit(&server, "change_role", &[("slug", "acme"), ("user", &id), ("role", role)], &ada);
        assert_eq!(page(&server, "/t/acme/jobs/new", &eve).status, status, "{role}");
    }
}

fn a_removed_member_is_out_and_their_stream_ends(house: House) {
    settled(&house);
    add(&house, EVE, "viewer", "acme");
    let server = house.serve(&[]);
    let (ada, eve) = (server.sign_in(ADA), server.sign_in(EVE));
    let mut live = server.stream("/t/acme/live", &[("cookie", &eve)]);
    read_until(&mut live, "event: hello");
    let id = user_id(&house, EVE);
    submit(&server, "remove_member", &[("slug", "acme"), ("user", &id)], &ada);
    assert_eq!(page(&server, "/t/acme", &eve).status, 404);
    let mut rest = String::new();
    live.read_to_string(&mut rest).unwrap();
    assert!(!rest.lines().any(|line| line.starts_with(':')), "it ends before a sign of life is due: {rest}");
}

fn who_is_disabled_cannot_come_back(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let (sue, ada) = (server.sign_in(SUE), server.sign_in(ADA));
    let id = user_id(&house, ADA);
    submit(&server, "set_disabled", &[("user", &id), ("disabled", "yes")], &sue);
    let out = page(&server, "/t/acme", &ada);
    assert!(out.header("location").is_some_and(|to| to.starts_with("/login")), "{}", out.head);
    assert!(!may_sign_in(&server, ADA, PASSWORD));
    submit(&server, "set_disabled", &[("user", &id), ("disabled", "no")], &sue);
    assert!(may_sign_in(&server, ADA, PASSWORD));
    let own = user_id(&house, SUE);
    let answer = submit(&server, "set_disabled", &[("user", &own), ("disabled", "yes")], &sue);
    assert!(answer.body.contains("cannot disable yourself"), "{}", answer.body);
}

fn viewers_see_the_settings_and_change_nothing(house: House) {
    settled(&house);
    add(&house, EVE, "viewer", "acme");
    let server = house.serve(&[]);
    let eve = server.sign_in(EVE);
    let settings = page(&server, "/t/acme/settings", &eve);
    assert!(settings.status == 200 && settings.body.contains(ADA));
    assert!(!settings.body.contains("/do/invite_member") && !settings.body.contains("/do/create_key"));
    let id = user_id(&house, ADA);
    let tries: [(&str, &[(&str, &str)]); 4] = [
        ("invite_member", &[("slug", "acme"), ("email", "x@acme.example"), ("role", "admin")]),
        ("change_role", &[("slug", "acme"), ("user", &id), ("role", "viewer"), ("even_the_last", "yes")]),
        ("remove_member", &[("slug", "acme"), ("user", &id), ("even_the_last", "yes")]),
        ("create_key", &[("slug", "acme"), ("key_name", "mine"), ("key_scope", "admin")]),
    ];
    for (action, form) in tries {
        let answer = submit(&server, action, form, &eve);
        assert!(answer.body.contains("does not allow this"), "{action}: {}", answer.body);
    }
    assert!(house.json(&["key", "list"], "").as_array().unwrap().is_empty());
    let log = house.json(&["audit", "list", "--actor", EVE], "");
    let entries = log["entries"].as_array().unwrap();
    assert!(entries.iter().all(|entry| entry["action"] == "user.sign_in"), "{log}");
    for path in ["/admin/users", "/admin/tenants", "/admin/audit"] {
        assert_eq!(page(&server, path, &eve).status, 404, "{path}");
    }
}

fn the_last_admin_must_say_so(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let ada = server.sign_in(ADA);
    let id = user_id(&house, ADA);
    let refused = submit(&server, "remove_member", &[("slug", "acme"), ("user", &id)], &ada);
    assert!(refused.body.contains("last admin"), "{}", refused.body);
    let form = [("slug", "acme"), ("user", id.as_str()), ("even_the_last", "yes")];
    server.post("/do/remove_member", &form, &[("cookie", &ada)]);
    assert_eq!(page(&server, "/t/acme", &ada).status, 404);
}

/// Whoever invited an address first may have chosen its password; that must open no other tenant.
fn who_has_an_account_joins_only_with_its_password(house: House) {
    settled(&house);
    add(&house, EVE, "viewer", "other");
    let server = house.serve(&[]);
    let (ada, eve) = (server.sign_in(ADA), server.sign_in(EVE));
    let link = invite(&server, &ada, "admin");
    assert_eq!(page(&server, "/t/acme", &eve).status, 404, "asked, not taken");
    let strangers = page(&server, &link, "").body;
    assert!(strangers.contains("Join Acme") && strangers.contains("/login?next="), "{strangers}");
    assert!(!strangers.contains("/do/join_tenant") && !strangers.contains("/do/choose_password"));
    assert!(page(&server, &link, &ada).body.contains("You are signed in as"), "not for this one");
    let token = link.split_once("token=").unwrap().1;
    for cookie in ["", ada.as_str()] {
        server.post("/do/join_tenant", &[("token", token)], &[("cookie", cookie)]);
        assert_eq!(page(&server, "/t/acme", &eve).status, 404);
    }
    choose(&server, &link, "a password of a stranger");
    assert!(may_sign_in(&server, EVE, crate::common::PASSWORD), "the link changes no password");
    assert!(page(&server, &link, &eve).body.contains("/do/join_tenant"));
    let joined = server.post("/do/join_tenant", &[("token", token)], &[("cookie", &eve)]);
    assert_eq!(joined.header("location"), Some("/t/acme"), "{}", joined.body);
    assert_eq!(page(&server, "/t/acme/settings/audit", &eve).status, 200, "as an admin");
    assert!(page(&server, &link, &eve).body.contains("This link does not work"));
}
