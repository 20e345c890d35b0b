//! What every request meets: health, headers, where it came from, who it is.

mod common;

use common::House;

#[test]
fn a_server_says_that_it_is_well() {
    let house = House::new();
    let server = house.serve(&[]);
    let health = server.get("/health", &[]);
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#));
    for path in ["/ready", "/health/ready"] {
        let ready = server.get(path, &[]);
        assert_eq!((ready.status, ready.body.as_str()), (200, r#"{"status":"ready"}"#));
    }
}

#[test]
fn every_answer_carries_the_security_headers() {
    let house = House::new();
    let server = house.serve(&[]);
    for path in ["/health", "/login", "/nothing/here", "/api/v1/nothing", "/t/x/live"] {
        let answer = server.get(path, &[]);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"), "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"), "{path}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(answer.header("x-request-id").is_some(), "{path}");
    }
    let answer = server.get("/health", &[("x-request-id", "mine-1")]);
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
}

#[test]
fn another_site_cannot_change_anything() {
    let house = House::new();
    let server = house.serve(&[]);
    for headers in [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("origin", "https://evil.example")],
    ] {
        let answer = server.request("POST", "/do/sign_in", &headers, "");
        assert_eq!(answer.status, 403, "{headers:?}");
        assert!(answer.body.contains("CROSS_SITE"), "{}", answer.body);
    }
    let seen = server.post("/do/sign_out", &[], &[("sec-fetch-site", "cross-site")]);
    assert_eq!((seen.status, seen.header("content-type")), (403, Some("text/html; charset=utf-8")));
}

#[test]
fn strangers_are_sent_to_the_sign_in_page_and_back() {
    let house = House::new();
    let server = house.serve(&[]);
    let answer = server.get("/t/acme/jobs?status=failed", &[]);
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), Some("/login?next=/t/acme/jobs%3Fstatus%3Dfailed"));
    assert_eq!(server.get("/admin/workers", &[]).status, 303);
    assert_eq!(server.get("/", &[]).header("location"), Some("/login"));
    assert_eq!(server.get("/login", &[]).status, 200);
    assert_eq!(server.get("/nothing/here", &[]).status, 404);
    assert_eq!(server.get("/api/nothing", &[]).status, 404);
    let live = server.get("/t/acme/live", &[]);
    assert_eq!((live.status, live.header("content-type")), (401, Some("application/problem+json")));
}

#[test]
fn a_refused_form_shows_a_page() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let add = ["user", "add", "ann@example.org", "--role", "viewer", "--tenant", "acme", "--password-stdin"];
    house.json(&add, common::PASSWORD);
    let server = house.serve(&[]);
    let (form, from) =
        ([("slug", "other"), ("number", "7")], format!("http://{}/t/acme/jobs/7", server.addr));
    let ended = server.post("/do/cancel", &form, &[("referer", &from)]);
    let sign_in = "/login?ended=yes&next=%2Ft%2Facme%2Fjobs%2F7";
    assert_eq!((ended.status, ended.header("location")), (303, Some(sign_in)));
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(server.request("POST", "/do/cancel", &kind, "slug=other&number=7").status, 401);
    let cookie = server.sign_in("ann@example.org");
    let refused = server.post("/do/cancel", &form, &[("cookie", &cookie)]);
    assert_eq!((refused.status, refused.header("content-type")), (404, Some("text/html; charset=utf-8")));
    assert!(refused.body.contains("<h1>Not found</h1>"), "{}", refused.body);
}

#[test]
fn cookies_are_secure_away_from_this_machine() {
    let house = House::new();
    let server = house.serve(&[]);
    let form = "email=nobody%40example.org&password=wrong-password";
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    let plain = server.request("POST", "/do/sign_in", &headers, form);
    assert!(plain.header("set-cookie").is_some_and(|c| c.starts_with("leasehold=")), "{}", plain.head);
    let elsewhere = server.request_as("jobs.example", "POST", "/do/sign_in", &headers, form);
    let cookie = elsewhere.header("set-cookie").unwrap_or_default();
    assert!(cookie.starts_with("__Host-leasehold=") && cookie.contains("Secure"), "{cookie}");
    assert!(cookie.contains("Path=/") && !cookie.contains("Domain"), "{cookie}");
}

#[test]
fn a_body_may_not_be_endless() {
    let house = House::new();
    let server = house.serve(&[]);
    let answer = server.request("POST", "/do/sign_in", &[], &"x".repeat(2 * 1024 * 1024 + 1));
    assert_eq!(answer.status, 413);
}

#[test]
fn guessing_is_slowed_down() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let add = ["user", "add", "ann@example.org", "--role", "viewer", "--tenant", "acme", "--password-stdin"];
    house.json(&add, common::PASSWORD);
    let server = house.serve(&[]);
    let guess = |password: &str| {
        let form = [("email", "ann@example.org"), ("password", password), ("next", "/t/acme")];
        server.post("/do/sign_in", &form, &[]).header("location").unwrap_or_default().to_owned()
    };
    for _ in 0..10 {
        assert!(guess("wrong password").starts_with("/login"));
    }
    assert!(guess(common::PASSWORD).starts_with("/login"), "even the right one has to wait now");
}
