//! Requests and answers to begin with, by the id of their operation. The tests hold each to its schema.

use serde_json::Value;

const EXAMPLES: &str = include_str!("examples.json");

pub fn all() -> Value {
    // The file is part of the program, and a test reads it.
    serde_json::from_str(EXAMPLES).unwrap_or_default()
}

pub fn add(operation: &mut Value, examples: &Value) {
    let of = &examples[operation["operationId"].as_str().unwrap_or_default()];
    if let Some(request) = of.get("request") {
        operation["requestBody"]["content"]["application/json"]["example"] = request.clone();
    }
    if let Some(answers) = of["answers"].as_object() {
        for (status, answer) in answers {
            operation["responses"][status]["content"]["application/json"]["example"] = answer.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_can_be_read() {
        assert!(all().as_object().is_some_and(|all| all.len() > 20));
    }
}
