//! Two hundred secrets and more, sent into every field a program or a worker can fill, and looked for wherever they
//! could show: pages, API, streams, database, log, figures, audit log, command line.

#[path = "../common/mod.rs"]
mod common;
mod places;
mod sending;

use common::House;
use leasehold_queue::secrets::corpus::{harmless, secrets};
use places::Places;
use sending::Sender;
use serde_json::{Value, json};

on_both_databases! {
    no_secret_is_kept_or_shown_anywhere,
    everything_that_would_be_hidden_is_refused_on_request,
    what_only_looks_like_a_secret_stays_readable,
    payloads_that_are_let_in_are_shown_without_their_secrets,
}

fn no_secret_is_kept_or_shown_anywhere(house: House) {
    let sender =
        Sender::new(house, &[("JOBS_SECRET_REDACT", "true"), ("RUST_LOG", "debug,sqlx=info,hyper=info")]);
    let all = secrets();
    sender.trigger("listens", &json!({"note": "{{event.note}}"}), "plain.event");
    let jobs = sender.enqueue_each(&all);
    assert_eq!(jobs.len(), all.len());
    sender.work(&all);
    for (secret, number) in all.iter().zip(&jobs) {
        sender.attach(*number, secret);
        sender.event(secret);
        sender.trigger(&secret.text, &json!({"note": secret.text}), "other.event");
        sender.claim_as(secret);
    }
    sender.cancel_what_waits(&all);
    let places = Places::read(&sender, &jobs);
    assert!(places.all.len() > 12, "{:?}", places.names());
    for secret in &all {
        let seen = places.with(&secret.core);
        assert!(seen.is_empty(), "{secret:?} is seen in {seen:?}");
    }
    assert!(!places.with("***REDACTED***").is_empty(), "something was hidden");
}

fn everything_that_would_be_hidden_is_refused_on_request(house: House) {
    let sender = Sender::new(house, &[("JOBS_SECRET_REJECT", "true")]);
    let all = secrets();
    let mut jobs = vec![json!({"definition_key": "steps", "payload": {"note": "harmless"}})];
    for secret in &all {
        let text = &secret.text;
        jobs.push(json!({"definition_key": "steps", "payload": {"note": text}}));
        jobs.push(json!({"definition_key": "steps", "metadata": {"note": text}}));
        if sending::fits_an_id(text) {
            for field in sending::IDS {
                jobs.push(json!({"definition_key": "steps", field: text}));
            }
        }
    }
    for some in jobs[1..].chunks(400) {
        let some: Vec<Value> = [&jobs[..1], some].concat();
        let (status, answer) = sender.post("/jobs/bulk", &json!({"jobs": some}));
        assert_eq!((status, &answer["created"]), (201, &json!(1)), "{answer}");
        let codes = answer["jobs"].as_array().unwrap()[1..].iter().map(|item| &item["problem"]["code"]);
        assert!(codes.clone().all(|code| code == "SECRET_IN_PAYLOAD"), "{:?}", codes.collect::<Vec<_>>());
    }
    for secret in all.iter().step_by(7) {
        let event = json!({"name": "an.event", "payload": {"note": secret.text}});
        assert_eq!(sender.post("/events", &event).0, 422, "{secret:?}");
        let (status, _) = sender.new_trigger("a label", &json!({"note": secret.text}), "an.event");
        assert_eq!(status, 422, "{secret:?}");
    }
    // Work that is done is not lost: a worker's result is kept without the secrets in it.
    let claim = sender.claim();
    let number = claim.number();
    assert_eq!(sender.tell(&claim, "complete", json!({"result": {"note": all[2].text}})).0, 200);
    let (_, job) = sender.get(&format!("/jobs/{number}"));
    assert_eq!(
        (&job["status"], &job["result"]["note"]),
        (&json!("completed"), &json!("***REDACTED***")),
        "{job}"
    );
    let kept = sender.house.database_content();
    let kept = String::from_utf8_lossy(&kept);
    assert!(all.iter().all(|secret| !kept.contains(&secret.core)));
}

fn what_only_looks_like_a_secret_stays_readable(house: House) {
    let sender = Sender::new(house, &[("JOBS_SECRET_REJECT", "true")]);
    let texts = harmless();
    let jobs: Vec<_> = texts
        .iter()
        .map(|text| json!({"definition_key": "steps", "payload": {"note": text}, "metadata": {"note": text}, "correlation_id": text}))
        .map(|mut job| {
            if job["correlation_id"].as_str().is_some_and(|id| id.len() > 200) {
                job["correlation_id"] = Value::Null;
            }
            job
        })
        .collect();
    let (status, answer) = sender.post("/jobs/bulk", &json!({ "jobs": jobs }));
    assert_eq!((status, &answer["refused"]), (201, &json!(0)), "{answer}");
    for (text, job) in texts.iter().zip(answer["jobs"].as_array().unwrap()).step_by(5) {
        let (_, shown) = sender.get(&format!("/jobs/{}", job["number"]));
        assert_eq!((&shown["payload"]["note"], &shown["metadata"]["note"]), (&json!(text), &json!(text)));
    }
    let claim = sender.claim();
    let lines: Vec<_> = texts.iter().zip(1..).map(|(text, seq)| json!({"seq": seq, "text": text})).collect();
    assert_eq!(sender.tell(&claim, "logs", json!({ "lines": lines })).0, 200);
    assert_eq!(sender.tell(&claim, "complete", json!({"result": {"texts": texts}})).0, 200);
    let (_, shown) = sender.get(&format!("/jobs/{}", claim.number()));
    assert_eq!(shown["result"]["texts"], json!(texts));
    let (_, log) = sender.get(&format!("/jobs/{}/logs?limit=1000", claim.number()));
    let logged: Vec<_> = log["lines"].as_array().unwrap().iter().map(|line| line["text"].clone()).collect();
    assert_eq!(json!(logged), json!(texts));
}

fn payloads_that_are_let_in_are_shown_without_their_secrets(house: House) {
    let sender = Sender::new(house, &[]);
    let all = secrets();
    let jobs = sender.enqueue_each(&all);
    // It is the worker's to use.
    let claim = sender.claim();
    assert!(claim.job["payload"]["note"].as_str().unwrap().contains(&all[0].core), "{:?}", claim.job);
    let known = "sesame-opens-the-door";
    let job = json!({"definition_key": "steps", "priority": 1, "payload": {"login": {"password": known}}});
    assert_eq!(sender.post("/jobs", &job).0, 201);
    let claim = sender.claim();
    assert_eq!(
        sender.tell(&claim, "complete", json!({"result": {"said": format!("it was {known}")}})).0,
        200
    );
    let (_, job) = sender.get(&format!("/jobs/{}", claim.number()));
    assert_eq!(job["result"]["said"], "it was ***REDACTED***");
    let places = Places::read(&sender, &jobs);
    for secret in &all {
        let seen: Vec<_> =
            places.with(&secret.core).into_iter().filter(|place| *place != "database").collect();
        assert!(seen.is_empty(), "{secret:?} is seen in {seen:?}");
    }
}
