//! Proxies, names and cookies: what is believed of whom.

use crate::common::{Answer, House, PASSWORD, Serving};

const FORM: [(&str, &str); 2] =
    [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];

fn sign_in(server: &Serving, host: &str, headers: &[(&str, &str)]) -> Answer {
    let form = "email=nobody%40example.org&password=wrong-password";
    server.request_as(host, "POST", "/do/sign_in", &[&FORM[..], headers].concat(), form)
}

fn cookie(answer: &Answer) -> &str {
    answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {}", answer.head))
}

#[test]
fn the_cookie_follows_the_browsers_connection_not_the_proxys() {
    let house = House::new();
    let server = house.serve(&[("JOBS_TRUSTED_PROXIES", "127.0.0.1")]);
    let behind = sign_in(&server, "127.0.0.1", &[("x-forwarded-proto", "https")]);
    assert!(cookie(&behind).starts_with("__Host-leasehold=") && cookie(&behind).contains("Secure"));
    let here = sign_in(&server, "127.0.0.1", &[]);
    assert!(
        cookie(&here).starts_with("leasehold=") && !cookie(&here).contains("Secure"),
        "{}",
        cookie(&here)
    );
}

#[test]
fn https_is_required_of_browsers_only_where_it_is_known() {
    let house = House::new();
    let server = house.serve(&[("JOBS_TRUSTED_PROXIES", "127.0.0.1")]);
    let of = |server: &Serving, host: &str, headers: &[(&str, &str)]| {
        server
            .request_as(host, "GET", "/login", headers, "")
            .header("strict-transport-security")
            .map(str::to_owned)
    };
    let https = [("x-forwarded-proto", "https")];
    assert!(of(&server, "jobs.example", &https).is_some_and(|value| value.contains("max-age=31536000")));
    assert_eq!(of(&server, "jobs.example", &[("x-forwarded-proto", "http")]), None);
    assert_eq!(of(&server, "jobs.example", &[]), None);
    let policy = server.get("/login", &[]);
    assert!(policy.header("permissions-policy").is_some_and(|p| p.contains("camera=()")), "{}", policy.head);
    drop(server);
    let untrusting = house.serve(&[("JOBS_PUBLIC_URL", "https://jobs.example")]);
    assert_eq!(of(&untrusting, "elsewhere.example", &https), None, "anybody can say so");
    assert!(of(&untrusting, "jobs.example", &[]).is_some(), "the installation itself says so");
}

#[test]
fn a_stranger_cannot_choose_its_address() {
    let house = House::new();
    let limits = [("JOBS_API_RATE_PER_ADDRESS", "1"), ("JOBS_API_BURST_PER_ADDRESS", "3")];
    let statuses = |server: &Serving| -> Vec<u16> {
        let ask = |n: u8| server.get("/api/v1/jobs", &[("x-forwarded-for", &format!("6.6.6.{n}"))]).status;
        (0..40).map(ask).collect()
    };
    let server = house.serve(&limits);
    assert!(statuses(&server).contains(&429), "it is one address, whatever it says");
    drop(server);
    let server = house.serve(&[&limits[..], &[("JOBS_TRUSTED_PROXIES", "127.0.0.0/8")]].concat());
    assert_eq!(statuses(&server), [401; 40], "a trusted proxy speaks for forty");
}

#[test]
fn only_names_of_the_list_are_answered() {
    let house = House::new();
    let server = house.serve(&[("JOBS_ALLOWED_HOSTS", "jobs.example,*.corp.test")]);
    let status = |host: &str, path: &str| server.request_as(host, "GET", path, &[], "").status;
    assert_eq!(status("jobs.example:3000", "/login"), 200);
    assert_eq!(status("a.corp.test", "/login"), 200);
    assert_eq!(status("127.0.0.1", "/login"), 200);
    let refused = server.request_as("evil.example", "GET", "/api/v1/jobs", &[], "");
    assert_eq!(refused.status, 421);
    assert!(
        refused.body.contains("MISDIRECTED_REQUEST") && refused.body.contains("JOBS_ALLOWED_HOSTS"),
        "{}",
        refused.body
    );
    for path in ["/health", "/ready", "/health/ready"] {
        assert_eq!(status("10.0.0.7", path), 200, "{path}");
    }
    // A trusted proxy would name the host; a stranger does not.
    let spoofed =
        server.request_as("evil.example", "GET", "/login", &[("x-forwarded-host", "jobs.example")], "");
    assert_eq!(spoofed.status, 421);
}

#[test]
fn whoever_cannot_sign_in_by_plain_http_is_told_why() {
    let house = House::new();
    let user = ["user", "add", "ann@example.org", "--role", "super_admin", "--password-stdin"];
    house.json(&user, PASSWORD);
    let server = house.serve(&[]);
    let page = |server: &Serving, host: &str, headers: &[(&str, &str)]| {
        server.request_as(host, "GET", "/login", headers, "").body
    };
    let warns = |page: &str| page.contains("You cannot sign in by plain http");
    let told = page(&server, "jobs.lan:3000", &[]);
    assert!(
        warns(&told) && told.contains("jobs.lan:3000") && told.contains("JOBS_INSECURE_COOKIES"),
        "{told}"
    );
    assert!(!warns(&page(&server, "127.0.0.1", &[])));
    assert!(!warns(&page(&server, "jobs.lan", &[("sec-fetch-site", "none")])), "browsers send this by https");
    assert!(!warns(&page(&server, "jobs.lan", &[("x-forwarded-proto", "https")])));
    let log = std::fs::read_to_string(house.dir.path().join("serve.log")).unwrap();
    assert_eq!(log.matches("will not keep the session cookie").count(), 1, "once: {log}");
    drop(server);
    let server = house.serve(&[("JOBS_INSECURE_COOKIES", "true")]);
    assert!(!warns(&page(&server, "jobs.lan:3000", &[])));
    let form = [&FORM[..]].concat();
    let body = format!("email=ann%40example.org&password={}&next=%2F", PASSWORD.replace(' ', "+"));
    let signed = server.request_as("jobs.lan:3000", "POST", "/do/sign_in", &form, &body);
    assert!(!cookie(&signed).contains("Secure"), "{}", cookie(&signed));
    let session = signed.cookie().unwrap();
    let inside = server.request_as("jobs.lan:3000", "GET", "/tenants", &[("cookie", &session)], "");
    assert_eq!(inside.status, 200, "{}", inside.head);
    let log = std::fs::read_to_string(house.dir.path().join("serve.log")).unwrap();
    assert!(log.contains("JOBS_INSECURE_COOKIES is on"), "{log}");
}

#[test]
fn the_nonce_stands_only_where_it_must() {
    let house = House::new();
    let server = house.serve(&[]);
    let page = server.get("/login", &[]);
    let policy = page.header("content-security-policy").unwrap();
    let (_, nonce) = policy.split_once("'nonce-").unwrap();
    let nonce = nonce.split('\'').next().unwrap();
    let whole = page.body.matches(nonce).count();
    let proper = page.body.matches(&format!("nonce=\"{nonce}\"")).count();
    assert_eq!(whole, proper, "{}", page.body);
    assert!(proper >= 3 && page.body.contains("crossorigin=\"anonymous\""), "{}", page.body);
}
