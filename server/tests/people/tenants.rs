//! A tenant's name and time zone.

use crate::{ADA, SUE, common::House, page, settled, submit};

crate::on_both_databases! {
    a_time_zone_is_set_and_used,
    a_tenants_name_is_harmless_in_the_title,
}

fn a_time_zone_is_set_and_used(house: House) {
    settled(&house);
    let berlin = house.json(&["tenant", "add", "Kiez", "--timezone", "europe/berlin"], "");
    assert_eq!(berlin["timezone"], "Europe/Berlin");
    let wrong = house.run(&["tenant", "add", "Olympus", "--timezone", "Mars/Olympus"], "");
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("time zone"));
    let set = house.json(&["tenant", "set", "kiez", "--timezone", "Asia/Tokyo", "--name", "Ku"], "");
    assert_eq!((&set["timezone"], &set["name"]), (&"Asia/Tokyo".into(), &"Ku".into()));
    let server = house.serve(&[]);
    let (ada, sue) = (server.sign_in(ADA), server.sign_in(SUE));
    let settings = page(&server, "/t/acme/settings", &ada).body;
    assert!(settings.contains("<option value=\"America/New_York\">"), "a list to choose from");
    let form = |zone| [("slug", "acme"), ("tenant_name", "Acme"), ("timezone", zone)];
    let refused = submit(&server, "update_tenant", &form("Nowhere"), &ada).body;
    assert!(refused.contains("is not a time zone") && refused.contains("value=\"Nowhere\""), "{refused}");
    let saved = submit(&server, "update_tenant", &form("America/New_York"), &ada).body;
    assert!(saved.contains("value=\"America/New_York\""), "{saved}");
    assert!(
        saved.contains(" America/New_York (") && saved.contains(" UTC)"),
        "times say their zone: {saved}"
    );
    let made = submit(&server, "add_tenant", &[("name", "Sydney"), ("timezone", "Australia/Sydney")], &sue);
    assert!(made.body.contains("Australia/Sydney"));
    let line = ["key", "add", "--tenant", "acme", "--name", "ci", "--scope", "admin"];
    let key = house.json(&line, "")["key"].as_str().unwrap().to_owned();
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
    let body = r#"{"cron_expr": "0 2 * * *"}"#;
    let preview = server.request("POST", "/api/v1/jobs/triggers/preview", &headers, body);
    assert!(preview.body.contains("America/New_York"), "schedules are read on it: {}", preview.body);
}

fn a_tenants_name_is_harmless_in_the_title(house: House) {
    settled(&house);
    let name = "</title><script>alert(1)</script>&amp;";
    house.json(&["tenant", "add", name, "--slug", "odd"], "");
    let server = house.serve(&[]);
    let sue = server.sign_in(SUE);
    let body = page(&server, "/t/odd/settings", &sue).body;
    let (_, rest) = body.split_once("<title>").unwrap();
    let (title, rest) = rest.split_once("</title>").unwrap();
    assert!(title.contains("&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"), "{title}");
    assert!(!rest.contains("<script>alert"), "nor anywhere else");
}
