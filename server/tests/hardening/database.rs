//! A database that goes away while the server runs, and comes back.

use crate::common::{House, program::Programs};
use scratch_postgres::{ScratchPostgres, StartOptions};
use serde_json::{Value, json};
use std::{
    io::Read,
    time::{Duration, Instant},
};

/// Long enough for any machine; whatever is waited for comes or the test fails.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_database_that_is_gone_is_named_soon_and_its_return_noticed() {
    let cluster = ScratchPostgres::start(StartOptions { fsync: true }).unwrap();
    let programs = Programs::new(House::on(cluster.url()));
    let server = &programs.server;
    let cookie = server.sign_in("ann@example.org");
    let mut live = server.stream("/t/acme/live", &[("cookie", &cookie)]);
    assert!(crate::common::read_until(&mut live, "event:").contains("hello"));
    assert_eq!(server.get("/ready", &[]).status, 200);

    cluster.stop_immediate().unwrap();
    // A look fails several times over before anybody is told that the database is gone for good.
    let answers = std::thread::scope(|scope| {
        let told = scope.spawn(|| {
            until("the page says it", || {
                let page = server.get("/t/acme", &[("cookie", &cookie), ("accept", "text/html")]);
                page.status == 503
                    && page.body.contains("does not answer")
                    && page.body.contains("127.0.0.1:")
            });
        });
        let mut answers = Vec::new();
        while !told.is_finished() {
            answers.push(server.get("/ready", &[]).status);
        }
        told.join().unwrap();
        answers
    });
    assert!(answers.len() >= 2 && answers.iter().all(|status| *status == 503), "{answers:?}");
    assert_eq!(programs.post("/jobs", &json!({"definition_key": "steps"})).0, 503);

    let (status, problem) = programs.get("/jobs");
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert_eq!((status, problem["code"].as_str()), (503, Some("UNAVAILABLE")));
    assert!(
        detail.contains("127.0.0.1:") && !detail.contains("postgres@") && !detail.contains("pool"),
        "{detail}"
    );
    assert_eq!(server.get("/health", &[]).status, 200);
    // The page's light turns: its stream ends, and another is refused.
    live.read_to_end(&mut Vec::new()).expect("the stream ends");
    assert_eq!(server.get("/t/acme/live", &[("cookie", &cookie)]).status, 503);

    cluster.start_again().unwrap();
    until("the server is ready again", || server.get("/ready", &[]).status == 200);
    until("pages are back", || server.get("/t/acme", &[("cookie", &cookie)]).status == 200);
    let mut live = server.stream("/t/acme/live", &[("cookie", &cookie)]);
    crate::common::read_until(&mut live, "event: hello");
    let number = programs.enqueue(json!({}));
    let told: Value = loop {
        let line = crate::common::read_until(&mut live, "data: ");
        let told: Value = serde_json::from_str(line.trim_start_matches("data: ")).unwrap();
        if told["number"].is_i64() {
            break told;
        }
    };
    assert_eq!(told["number"].as_i64(), Some(number), "events flow again");
}
