//! Examples are requests and answers the API itself would take and give.

use crate::{common::House, description, operations};
use serde_json::{Value, json};

#[test]
fn examples_fit_their_schemas() {
    let api = description(&House::new());
    let mut tried = 0;
    for (name, operation) in operations(&api) {
        let body = &operation["requestBody"]["content"]["application/json"];
        if body["schema"].is_object() {
            assert!(body["example"].is_object(), "{name}: its body has no example");
        }
        let answers = operation["responses"].as_object().unwrap().values();
        let answers = answers.map(|answer| &answer["content"]["application/json"]);
        for content in answers.chain([body]).filter(|content| content["example"].is_object()) {
            assert_eq!(mistakes(&api, content), Vec::<String>::new(), "{name}");
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried} examples");
}

fn mistakes(api: &Value, content: &Value) -> Vec<String> {
    let mut schema = content["schema"].clone();
    schema["components"] = json!({"schemas": api["components"]["schemas"]});
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator
        .iter_errors(&content["example"])
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}
