//! Everything has a name programs can use and words people can read.

use crate::{common::House, description, operations};
use serde_json::Value;
use std::collections::BTreeSet;

/// What operations are called after.
const VERBS: [&str; 33] = [
    "abort",
    "acknowledge",
    "add",
    "append",
    "apply",
    "cancel",
    "check",
    "checkpoint",
    "claim",
    "complete",
    "control",
    "create",
    "delete",
    "diagnose",
    "enqueue",
    "expire",
    "fail",
    "get",
    "heartbeat",
    "list",
    "plan",
    "preview",
    "prune",
    "release",
    "report",
    "requeue",
    "reschedule",
    "retry",
    "run",
    "send",
    "stream",
    "update",
    "upload",
];

#[test]
fn operations_are_named_by_a_verb_and_what_it_is_done_to() {
    let api = description(&House::new());
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&api) {
        let id = operation["operationId"].as_str().unwrap();
        assert!(ids.insert(id.to_owned()), "{name}: {id} is taken");
        let (verb, thing) = id.split_once('_').unwrap_or_else(|| panic!("{name}: {id} is one word"));
        assert!(VERBS.contains(&verb), "{name}: {id} begins with no known verb");
        let plain = thing.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(plain && !thing.is_empty(), "{name}: {id}");
    }
    for id in [
        "enqueue_job",
        "list_jobs",
        "get_job",
        "cancel_job",
        "retry_job",
        "list_attempts",
        "stream_events",
        "claim_jobs",
    ] {
        assert!(ids.contains(id), "clients call {id}");
    }
}

#[test]
fn everything_is_described() {
    let api = description(&House::new());
    let tags: Vec<_> = api["tags"].as_array().unwrap().iter().collect();
    assert!(tags.iter().all(|tag| says(&tag["description"])), "{tags:?}");
    let mut wrong = Vec::new();
    for (name, operation) in operations(&api) {
        let tag = &operation["tags"][0];
        check(
            &mut wrong,
            tags.iter().any(|known| known["name"] == *tag),
            format!("{name} has an unknown tag: {tag}"),
        );
        check(&mut wrong, says(&operation["summary"]), format!("{name} has no summary"));
        check(&mut wrong, says(&operation["description"]), format!("{name} has no description"));
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            check(
                &mut wrong,
                says(&parameter["description"]),
                format!("{name}: parameter {} says nothing", parameter["name"]),
            );
        }
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let described = answer["$ref"].is_string() || says(&answer["description"]);
            check(&mut wrong, described, format!("{name}: the answer {status} says nothing"));
        }
    }
    for (name, schema) in api["components"]["schemas"].as_object().unwrap() {
        check(&mut wrong, says(&schema["description"]), format!("the schema {name} says nothing"));
        fields(&mut wrong, name, schema);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn fields(wrong: &mut Vec<String>, name: &str, schema: &Value) {
    for part in ["allOf", "oneOf"] {
        schema[part].as_array().into_iter().flatten().for_each(|part| fields(wrong, name, part));
    }
    for (field, said) in schema["properties"].as_object().into_iter().flatten() {
        let within = said["oneOf"].as_array().into_iter().flatten();
        let described =
            std::iter::once(said).chain(within).any(|s| says(&s["description"]) || s["$ref"].is_string());
        check(wrong, described, format!("{name}.{field} says nothing"));
    }
}

fn check(wrong: &mut Vec<String>, fine: bool, message: String) {
    if !fine {
        wrong.push(message);
    }
}

fn says(text: &Value) -> bool {
    text.as_str().is_some_and(|text| !text.trim().is_empty())
}
