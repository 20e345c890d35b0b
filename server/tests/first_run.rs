//! The first minutes of an installation: the setup link, and the same from a terminal.

mod common;

use common::{House, PASSWORD};

const FORM: [(&str, &str); 4] =
    [("name", "Ann"), ("email", "ann@example.org"), ("password", PASSWORD), ("tenant_name", "Acme Photos")];

fn token(path: &str) -> &str {
    path.split_once("token=").expect("a token").1
}

#[test]
fn the_setup_link_makes_the_first_admin_and_works_once() {
    let house = House::new();
    let server = house.serve(&[]);
    let path = server.path_of_setup_link();
    assert_eq!(server.get(&path, &[("accept", "text/html")]).status, 200);
    let form = [&FORM[..], &[("token", token(&path))]].concat();
    let answer = server.post("/do/set_up", &form, &[("sec-fetch-site", "same-origin")]);
    assert_eq!(answer.header("location"), Some("/t/acme-photos"), "{}", answer.head);
    let cookie = answer.cookie().expect("signed in");
    assert!(cookie.starts_with("leasehold="));
    let set = answer.header("set-cookie").unwrap();
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Lax") && !set.contains("Secure"), "{set}");
    assert_eq!(server.get("/t/acme-photos", &[("cookie", &cookie)]).status, 200);
    assert_eq!(server.get("/", &[("cookie", &cookie)]).header("location"), Some("/t/acme-photos"));

    let again: Vec<_> =
        form.iter().map(|(k, v)| (*k, if *k == "email" { "eve@example.org" } else { v })).collect();
    server.post("/do/set_up", &again, &[]);
    let refused = server.post("/do/sign_in", &[("email", "eve@example.org"), ("password", PASSWORD)], &[]);
    assert!(refused.header("location").is_some_and(|to| to.starts_with("/login")), "{}", refused.head);

    drop(server);
    assert!(house.serve(&[]).setup_link.is_none(), "a second start offers no link");
}

#[test]
fn an_expired_setup_link_makes_nobody() {
    let house = House::new();
    let server = house.serve(&[("JOBS_SETUP_TTL_SECONDS", "0")]);
    let path = server.path_of_setup_link();
    let page = server.get(&path, &[("accept", "text/html")]);
    assert!(page.body.contains("expired"), "{}", page.body);
    server.post("/do/set_up", &[&FORM[..], &[("token", token(&path))]].concat(), &[]);
    drop(server);
    assert!(house.serve(&[]).setup_link.is_some(), "still nobody, so a new link");
}

#[test]
fn a_terminal_can_set_everything_up() {
    let house = House::new();
    let tenant = house.json(&["tenant", "add", "Acme Photos", "--slug", "acme"], "");
    assert_eq!(tenant["slug"], "acme");
    let args = ["user", "add", "Ann@Example.org", "--role", "admin", "--tenant", "acme", "--password-stdin"];
    let user = house.json(&args, &format!("{PASSWORD}\n"));
    assert_eq!(user["email"], "ann@example.org");
    assert_eq!(user["super_admin"], false);
    let args =
        ["key", "add", "--tenant", "acme", "--name", "ci", "--scopes", "write,read", "--expires-days", "30"];
    let key = house.json(&args, "");
    let parts: Vec<_> = key["key"].as_str().unwrap().splitn(3, '_').collect();
    assert_eq!((parts[0], parts[1]), ("lh", key["prefix"].as_str().unwrap()));
    assert_eq!(parts[2].len(), 43);
    assert_eq!(key["scopes"], serde_json::json!(["read", "write"]));
    assert!(key["expires_at"].is_string());

    let server = house.serve(&[]);
    assert!(server.setup_link.is_none());
    let cookie = server.sign_in("ann@example.org");
    assert_eq!(server.get("/t/acme", &[("cookie", &cookie)]).status, 200);
    assert_eq!(server.get("/t/other", &[("cookie", &cookie)]).status, 404);
}

#[test]
fn errors_are_problems_and_say_what_to_do() {
    let house = House::new();
    let short = ["user", "add", "a@b.c", "--role", "super_admin", "--password-stdin", "--json"];
    let output = house.run(&short, "short\n");
    assert_eq!(output.status.code(), Some(1));
    let problem: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(problem["code"], "INVALID_INPUT");
    assert_eq!(problem["errors"][0]["field"], "password");

    assert_eq!(house.run(&["tenant", "add", "Acme"], "").status.code(), Some(0));
    let twice = house.run(&["tenant", "add", "Acme"], "");
    assert_eq!(twice.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&twice.stderr).starts_with("leasehold: "));

    let no_tenant = ["user", "add", "a@b.c", "--role", "viewer", "--password-stdin"];
    assert_eq!(house.run(&no_tenant, PASSWORD).status.code(), Some(2));
    assert_eq!(house.run(&["serve", "--db", "mysql://x"], "").status.code(), Some(1));
}

#[test]
fn a_stale_schema_is_refused_when_migrating_is_switched_off() {
    let house = House::new();
    let output = house
        .command(&["serve", "--addr", "127.0.0.1:0"])
        .env("JOBS_AUTO_MIGRATE", "false")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("leasehold migrate"));
    assert_eq!(house.json(&["migrate"], "")["current"], true);
    assert!(house.serve(&[("JOBS_AUTO_MIGRATE", "false")]).setup_link.is_some());
}

#[test]
fn a_terminal_can_limit_a_tenant_and_lift_the_limits() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let limit =
        |args: &[&str]| house.json(&[&["tenant", "limit", "acme"], args].concat(), "")["limits"].clone();
    assert_eq!(limit(&[]), serde_json::json!({}));
    assert_eq!(limit(&["--max-queued", "5"]), serde_json::json!({"max_queued": 5}));
    let both = serde_json::json!({"max_queued": 5, "submits_per_minute": 60});
    assert_eq!(limit(&["--submits-per-minute", "60"]), both, "what is not given stays");
    assert_eq!(limit(&[]), both);
    assert_eq!(limit(&["--none", "--max-in-flight", "2"]), serde_json::json!({"max_in_flight": 2}));
    let refused = house.run(&["tenant", "limit", "acme", "--max-queued", "0", "--json"], "");
    assert!(!refused.status.success());
    let problem: serde_json::Value = serde_json::from_slice(&refused.stderr).unwrap();
    assert_eq!(problem["code"], "INVALID_INPUT");
    assert_eq!(limit(&["--none"]), serde_json::json!({}));
    assert!(!house.run(&["tenant", "limit", "nobody"], "").status.success());
}

#[test]
fn domains_that_settings_cannot_tell_apart_are_warned_about() {
    let house = House::new();
    let command = |key: &str, domain: &str| {
        format!("[commands.{key}]\nprogram = \"/bin/true\"\ndomain = \"{domain}\"\n")
    };
    let book =
        command("one", "prompt-studio") + &command("two", "prompt_studio") + &command("three", "decks");
    std::fs::write(house.dir.path().join("commands.toml"), book).unwrap();
    let _server = house.serve(&[("JOBS_QUOTA_MAX_QUEUED_DECKS", "5"), ("JOBS_QUOTA_MAX_QUEUE", "5")]);
    let log = std::fs::read_to_string(house.dir.path().join("serve.log")).unwrap();
    assert!(log.contains("prompt-studio and prompt_studio"), "{log}");
    assert!(log.contains("JOBS_QUOTA_MAX_QUEUE in the environment") && !log.contains("_DECKS"), "{log}");
}
