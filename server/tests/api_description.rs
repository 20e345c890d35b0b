//! `/api/openapi.json`: complete enough to make a client from.

mod common;

use common::House;
use serde_json::Value;

#[test]
fn the_description_names_every_operation_its_key_and_its_problems() {
    let house = House::new();
    let serving = house.serve(&[]);
    let answer = serving.get("/api/openapi.json", &[]);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let api: Value = serde_json::from_str(&answer.body).unwrap();
    assert!(api["openapi"].as_str().unwrap().starts_with("3.1"), "{}", api["openapi"]);
    let mut ids = std::collections::BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = format!("{method} {path}");
            assert!(operation["summary"].is_string(), "{name} says what it does");
            assert!(operation["security"][0]["api_key"][0].is_string(), "{name} says which key it needs");
            assert!(
                ids.insert(operation["operationId"].as_str().unwrap().to_owned()),
                "{name} has its own id"
            );
            let problem = &operation["responses"]["422"]["content"]["application/problem+json"];
            assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem", "{name}");
        }
    }
    for reference in references(&api) {
        let place = reference.strip_prefix('#').expect("it needs no other document");
        assert!(api.pointer(place).is_some(), "{reference} leads somewhere");
    }
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
