//! `/api/openapi.json`: valid, complete, and good enough to make a client from.

#[path = "../common/mod.rs"]
mod common;

mod client;
mod examples;
mod words;

use common::{House, python};
use serde_json::Value;

/// The description, as a running server gives it.
pub fn description(house: &House) -> Value {
    let serving = house.serve(&[]);
    let answer = serving.get("/api/openapi.json", &[]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    serde_json::from_str(&answer.body).unwrap()
}

/// Every operation, with its method and path for messages.
pub fn operations(api: &Value) -> Vec<(String, &Value)> {
    let of = |(path, item): (&String, &'_ Value)| -> Vec<(String, String)> {
        item.as_object().unwrap().keys().map(|method| (format!("{method} {path}"), method.clone())).collect()
    };
    let paths = api["paths"].as_object().unwrap();
    let each = |(path, item)| of((path, item)).into_iter().map(move |(name, method)| (name, &item[&method]));
    paths.iter().flat_map(each).collect()
}

#[test]
fn a_validator_finds_nothing_wrong() {
    let house = House::new();
    let api = description(&house);
    assert!(api["openapi"].as_str().unwrap().starts_with("3.1"), "{}", api["openapi"]);
    let file = house.dir.path().join("openapi.json");
    std::fs::write(&file, api.to_string()).unwrap();
    let said = python::said(python::tool("openapi-spec-validator").arg(&file));
    assert!(said.contains("OK"), "{said}");
}

#[test]
fn every_operation_says_its_key_and_its_problems() {
    let api = description(&House::new());
    for (name, operation) in operations(&api) {
        assert!(operation["security"][0]["api_key"][0].is_string(), "{name} says which key it needs");
        assert_eq!(operation["responses"]["422"]["$ref"], "#/components/responses/InvalidInput", "{name}");
    }
    let problem = &api["components"]["responses"]["InvalidInput"]["content"]["application/problem+json"];
    assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem");
    for reference in references(&api) {
        let place = reference.strip_prefix('#').expect("it needs no other document");
        assert!(api.pointer(place).is_some(), "{reference} leads somewhere");
    }
    for requirement in operations(&api).iter().flat_map(|(_, o)| o["security"].as_array().unwrap()) {
        for scheme in requirement.as_object().unwrap().keys() {
            assert!(api["components"]["securitySchemes"][scheme].is_object(), "{scheme}");
        }
    }
}

/// `/jobs/triggers/{id}` and `/jobs/{id}/cancel` look alike to a tool that knows nothing of ids; their patterns must not.
#[test]
fn addresses_that_look_alike_take_different_ids() {
    let api = description(&House::new());
    let paths = api["paths"].as_object().unwrap();
    let mut compared = 0;
    for (path, item) in paths {
        let Some(rest) = path.strip_prefix("/api/v1/jobs/{id}/") else { continue };
        let operation = item.as_object().unwrap().values().next().unwrap();
        let id = &operation["parameters"].as_array().unwrap().iter().find(|p| p["in"] == "path").unwrap()["schema"];
        for other in paths.keys().filter_map(|other| other.strip_prefix("/api/v1/jobs/")) {
            let Some((word, name)) = other.split_once('/') else { continue };
            if word.starts_with('{') || !(name.starts_with('{') || name == rest) || name.contains('/') {
                continue;
            }
            let pattern = jsonschema::validator_for(id).unwrap();
            assert!(!pattern.is_valid(&Value::from(word)), "{path} and /jobs/{other}");
            compared += 1;
        }
        assert!(jsonschema::is_valid(id, &Value::from("48213")), "{path}");
        assert!(jsonschema::is_valid(id, &Value::from("0192f3c4-7f1e-7c3a-9d55-1b2c3d4e5f60")), "{path}");
    }
    assert!(compared > 10, "{compared}");
}

fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value {
                Value::String(text) if key == "$ref" => vec![text.clone()],
                value => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
