//! What people see of units and providers.

use crate::common::{House, PASSWORD, Serving};
use std::time::{Duration, Instant};

#[test]
fn units_and_providers_are_on_their_pages() {
    let house = House::new();
    house.json(&["tenant", "add", "Acme"], "");
    let ann = ["user", "add", "ann@example.org", "--role", "admin", "--tenant", "acme", "--password-stdin"];
    house.json(&ann, PASSWORD);
    house.json(&["user", "add", "root@example.org", "--role", "super_admin", "--password-stdin"], PASSWORD);
    let server = house.serve(&[]);
    let ann = server.sign_in("ann@example.org");
    let payload = r#"{"pages": [{"text": "The har-\nbour"}, {"file": "a.png"}], "llm_provider": "ghost"}"#;
    let form = [("slug", "acme"), ("definition_key", "books.ocr-correct"), ("payload_json", payload)];
    let answer = server.post("/do/enqueue", &form, &[("cookie", &ann)]);
    let job = answer.header("location").unwrap().to_owned();

    let page = until(&server, &job, &ann, ">Completed<");
    for shown in [
        "Work units",
        "1 succeeded",
        "2 failed",
        "Page 2, reading",
        "local, deterministic",
        "unknown_provider",
    ] {
        assert!(page.contains(shown), "no “{shown}” in {page}");
    }
    let root = server.sign_in("root@example.org");
    let workers = server.get("/admin/workers", &[("cookie", &root)]).body;
    for shown in ["Providers", "local-llm", "local-ocr", "local, deterministic", "0 of 4"] {
        assert!(workers.contains(shown), "no “{shown}” in {workers}");
    }
    let listed = house.json(&["provider", "off", "local-llm"], "");
    assert_eq!((&listed[0]["name"], &listed[0]["is_active"]), (&"local-llm".into(), &false.into()));
    assert!(server.get("/admin/workers", &[("cookie", &root)]).body.contains("Switched off"));
    assert!(!house.run(&["provider", "on", "ghost"], "").status.success());
    // Providers belong to the whole house, not to a tenant.
    assert_eq!(server.get("/admin/workers", &[("cookie", &ann)]).status, 404);
}

fn until(server: &Serving, path: &str, cookie: &str, shown: &str) -> String {
    let began = Instant::now();
    loop {
        let page = server.get(path, &[("cookie", cookie)]).body;
        if page.contains(shown) {
            return page;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "no “{shown}” in {page}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
