//! Keys made on the page, keys of the installation, and the acts they leave behind.

use crate::{
    ADA, SUE,
    common::{House, Serving},
    page, settled, shown_once, submit,
};
use serde_json::Value;
use std::time::{Duration, Instant};

crate::on_both_databases! {
    a_key_is_shown_once_works_and_is_revoked,
    a_key_of_the_installation_acts_in_the_tenant_it_names,
    every_act_is_in_the_audit_log_and_its_chain,
}

/// What a claim answers with this key.
fn claim(server: &Serving, headers: &[(&str, &str)]) -> u16 {
    let body = r#"{"worker_id": "w", "wait_seconds": 0}"#;
    server.request("POST", "/api/v1/worker/jobs/claim", headers, body).status
}

fn a_key_is_shown_once_works_and_is_revoked(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let ada = server.sign_in(ADA);
    let form = [("slug", "acme"), ("key_name", "ci"), ("key_scope", "worker"), ("expires_days", "30")];
    let made = submit(&server, "create_key", &form, &ada);
    let key = shown_once(&made).expect("the key is shown");
    assert!(made.body.contains("curl -H"), "and how to use it");
    let settings = page(&server, "/t/acme/settings", &ada);
    let (prefix, hidden) = key.strip_prefix("lh_").unwrap().split_once('_').unwrap();
    assert!(settings.body.contains(prefix) && !settings.body.contains(hidden), "never again");
    assert_eq!(claim(&server, &[("x-api-key", &key)]), 200);
    assert_eq!(claim(&server, &[("x-api-key", &key), ("x-tenant", "acme")]), 200, "its own tenant");
    assert_eq!(claim(&server, &[("x-api-key", &key), ("x-tenant", "other")]), 404);
    submit(&server, "revoke_key", &[("slug", "acme"), ("prefix", prefix)], &ada);
    assert_eq!(claim(&server, &[("x-api-key", &key)]), 401);
    for wrong in ["0", "-1", "many", "99999999999999999999"] {
        let form = [("slug", "acme"), ("key_name", "ci"), ("key_scope", "read"), ("expires_days", wrong)];
        assert!(submit(&server, "create_key", &form, &ada).body.contains("number of days"), "{wrong}");
    }
    for (name, scope) in [("", "read"), ("ci", "root"), ("ci", "")] {
        let form = [("slug", "acme"), ("key_name", name), ("key_scope", scope)];
        assert!(shown_once(&submit(&server, "create_key", &form, &ada)).is_none(), "{name:?} {scope:?}");
    }
    assert_eq!(house.json(&["key", "list"], "").as_array().unwrap().len(), 1);
}

fn a_key_of_the_installation_acts_in_the_tenant_it_names(house: House) {
    settled(&house);
    let key = house.json(&["key", "add", "--installation", "--name", "night shift", "--scope", "admin"], "");
    assert_eq!(key["tenant_id"], Value::Null);
    let refused = house.run(&["key", "add", "--installation", "--name", "w", "--scope", "worker"], "");
    assert!(!refused.status.success(), "a worker works for one tenant");
    let neither = house.run(&["key", "add", "--name", "w", "--scope", "read"], "");
    assert!(!neither.status.success(), "which of the two must be said");
    let server = house.serve(&[]);
    let key = key["key"].as_str().unwrap();
    assert_eq!(claim(&server, &[("x-api-key", key)]), 403, "no worker");
    let sue = server.sign_in(SUE);
    let tenants = page(&server, "/admin/tenants", &sue);
    assert!(tenants.body.contains("night shift"));
    let ada = server.sign_in(ADA);
    assert!(
        !page(&server, "/t/acme/settings", &ada).body.contains("night shift"),
        "no tenant's list shows it"
    );
    let prefix = key.split('_').nth(1).unwrap();
    let revoked = submit(&server, "revoke_key", &[("slug", "acme"), ("prefix", prefix)], &ada);
    assert!(revoked.body.contains("Not found"), "{}", revoked.body);
}

fn every_act_is_in_the_audit_log_and_its_chain(house: House) {
    settled(&house);
    let server = house.serve(&[]);
    let (sue, ada) = (server.sign_in(SUE), server.sign_in(ADA));
    let form = [("slug", "acme"), ("key_name", "ci"), ("key_scope", "read")];
    submit(&server, "create_key", &form, &ada);
    submit(
        &server,
        "invite_member",
        &[("slug", "acme"), ("email", "x@acme.example"), ("role", "viewer")],
        &ada,
    );
    submit(&server, "add_tenant", &[("name", "Third")], &sue);
    submit(&server, "limit_tenant", &[("slug", "third"), ("max_queued", "7")], &sue);
    let log = house.json(&["audit", "list"], "");
    let all = log["entries"].as_array().unwrap();
    let on_terminal = |entry: &&Value| entry["actor"].as_str().unwrap().starts_with("terminal (");
    let (terminal, entries): (Vec<_>, Vec<_>) = all.iter().partition(on_terminal);
    let entries: Vec<_> = entries.into_iter().filter(|entry| entry["action"] != "user.sign_in").collect();
    assert!(terminal.iter().any(|entry| entry["action"] == "user.create"), "{log}");
    let acts: Vec<_> =
        entries.iter().map(|e| (e["actor"].as_str().unwrap(), e["action"].as_str().unwrap())).collect();
    let expected =
        [(SUE, "tenant.limit"), (SUE, "tenant.create"), (ADA, "member.invite"), (ADA, "key.create")];
    assert_eq!(acts, expected);
    for entry in entries {
        assert!(entry["origin"].as_str().unwrap().starts_with("127.0.0.1, request "), "{entry}");
    }
    let began = Instant::now();
    while house.json(&["audit", "verify"], "")["intact_up_to"] != all.len() {
        assert!(began.elapsed() < Duration::from_secs(20), "chained soon");
    }
    let intact = format!("intact up to #{}", all.len());
    assert!(!page(&server, "/admin/audit", &sue).body.contains("intact"), "only when asked");
    assert!(page(&server, "/admin/audit?verify=yes", &sue).body.contains(&intact));
    let own = page(&server, "/t/acme/settings/audit", &ada).body;
    assert!(own.contains("key.create") && !own.contains("tenant.limit"), "only their tenant's");
    let narrowed = page(&server, "/admin/audit?actor=ADA&action=key.&tenant=acme", &sue).body;
    assert!(narrowed.contains("key.create") && !narrowed.contains("member.invite"));
}
