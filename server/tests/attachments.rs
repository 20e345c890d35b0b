//! What a job leaves behind, fetched over HTTP: by whoever has a signed link, until it expires.

mod common;

use common::{House, PASSWORD, Serving};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

/// Far ahead, so that what a browser or a cookie reckons with the real clock has not expired.
const NOW: u64 = 4_000_000_020;

/// Two tenants with one person each.
fn house() -> House {
    let house = House::new();
    for (tenant, person) in [("Acme", "ann@example.org"), ("Birch", "bob@example.org")] {
        house.json(&["tenant", "add", tenant], "");
        let slug = tenant.to_lowercase();
        let add = ["user", "add", person, "--role", "admin", "--tenant", &slug, "--password-stdin"];
        house.json(&add, PASSWORD);
    }
    house
}

/// A server whose clock stands still.
fn serve_at(house: &House, epoch: u64) -> Serving {
    house.serve(&[("JOBS_TEST_NOW_EPOCH", &epoch.to_string())])
}

/// Converts a small deck and returns the path of its job's page.
fn convert(server: &Serving, cookie: &str) -> String {
    let form = [
        ("slug", "acme"),
        ("definition_key", "decks.convert"),
        ("field[markdown]", "# Harbour lights\n\n## Why\n\n- because"),
    ];
    // Brackets in names stay as they are: only values are encoded.
    let answer = server.post("/do/enqueue", &form, &[("cookie", cookie)]);
    let path = answer.header("location").unwrap_or_default().to_owned();
    assert!(path.starts_with("/t/acme/jobs/"), "{} {}", answer.head, answer.body);
    path
}

/// The link on the page, once it is there.
fn link(server: &Serving, cookie: &str, page: &str) -> String {
    let began = Instant::now();
    loop {
        let body = server.get(page, &[("cookie", cookie), ("accept", "text/html")]).body;
        if let Some((_, rest)) = body.split_once("href=\"/attachments/") {
            let link = rest.split('"').next().unwrap().replace("&amp;", "&");
            return format!("/attachments/{link}");
        }
        assert!(began.elapsed() < Duration::from_secs(30), "no file came: {body}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_signed_link_is_enough_and_nothing_else_is() {
    let house = house();
    let server = serve_at(&house, NOW);
    let ann = server.sign_in("ann@example.org");
    let page = convert(&server, &ann);
    let link = link(&server, &ann, &page);

    let file = server.get(&link, &[]);
    assert_eq!(file.status, 200, "{}", file.body);
    assert!(file.body.contains("Harbour lights"), "{}", file.body);
    assert_eq!(file.header("content-type"), Some("application/json"));
    assert_eq!(file.header("cache-control"), Some("no-store"));
    assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
    let name = "attachment; filename=\"deck.json\"; filename*=UTF-8''deck.json";
    assert_eq!(file.header("content-disposition"), Some(name));
    let policy = file.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'"), "{policy}");

    let (path, query) = link.split_once('?').unwrap();
    let other_end = if link.ends_with('0') { '1' } else { '0' };
    let tampered = [
        format!("{}{other_end}", &link[..link.len() - 1]),
        link.replace("expires=4", "expires=5"),
        path.to_owned(),
        format!("{path}?expires=4000003680"),
        format!("/attachments/00000000-0000-7000-8000-000000000000?{query}"),
        format!("/attachments/nonsense?{query}"),
    ];
    for wrong in tampered {
        let refused = server.get(&wrong, &[("cookie", &ann)]);
        assert_eq!(refused.status, 403, "{wrong}");
        assert!(refused.body.contains("FORBIDDEN"), "{}", refused.body);
    }
    let person = server.get(path, &[("accept", "text/html")]);
    assert_eq!((person.status, person.header("content-type")), (403, Some("text/html; charset=utf-8")));
    assert!(person.body.contains("This link is not complete"), "{}", person.body);
}

#[test]
fn a_link_expires_for_everyone_and_the_page_has_a_fresh_one() {
    let house = house();
    let server = serve_at(&house, NOW);
    let ann = server.sign_in("ann@example.org");
    let page = convert(&server, &ann);
    let old = link(&server, &ann, &page);
    drop(server);

    let server = serve_at(&house, NOW + 3_500);
    assert_eq!(server.get(&old, &[]).status, 200, "another process accepts it as well");
    drop(server);
    let server = serve_at(&house, NOW + 3_700);
    let expired = server.get(&old, &[]);
    assert_eq!(expired.status, 403);
    assert!(expired.body.contains("This link has expired"), "{}", expired.body);
    let fresh = link(&server, &ann, &page);
    assert_ne!(fresh, old);
    assert_eq!(server.get(&fresh, &[]).status, 200);
}

#[test]
fn another_tenant_does_not_see_the_page_that_has_the_link() {
    let house = house();
    let server = serve_at(&house, NOW);
    let ann = server.sign_in("ann@example.org");
    let page = convert(&server, &ann);
    link(&server, &ann, &page);
    let bob = server.sign_in("bob@example.org");
    let number = page.rsplit('/').next().unwrap();
    for path in [page.clone(), format!("/t/birch/jobs/{number}")] {
        let answer = server.get(&path, &[("cookie", &bob), ("accept", "text/html")]);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.body.contains("/attachments/"), "{path}");
    }
}

/// The bytes of a file arrive as they were stored, whatever they are.
#[test]
fn an_export_arrives_byte_by_byte() {
    let house = house();
    let server = serve_at(&house, NOW);
    let ann = server.sign_in("ann@example.org");
    let deck = r#"{"deck":{"version":1,"title":"Plan","slides":[{"layout":"title","heading":"Plan"}]},"format":"pdf"}"#;
    let form = [("slug", "acme"), ("definition_key", "decks.export"), ("payload_json", deck)];
    let answer = server.post("/do/enqueue", &form, &[("cookie", &ann)]);
    let page = answer.header("location").unwrap_or_default().to_owned();
    let link = link(&server, &ann, &page);

    let mut stream = TcpStream::connect(server.addr).unwrap();
    let request = format!("GET {link} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.addr);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end_of_head = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    let (head, body) = (String::from_utf8_lossy(&answer[..end_of_head]), &answer[end_of_head..]);
    assert!(body.starts_with(b"%PDF-") && body.trim_ascii_end().ends_with(b"%%EOF"), "{head}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{head}");
    assert!(head.contains("filename=\"plan.pdf\""), "{head}");
}
