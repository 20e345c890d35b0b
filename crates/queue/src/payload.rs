//! Payloads at the door: size, characters a database cannot keep, and the definition's JSON Schema.

use jsonschema::PatternOptions;
use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;
use sha2::{Digest, Sha256};

const DEEPEST: usize = 64;
/// What one pattern may become when it is compiled, in bytes.
const LARGEST_PATTERN: usize = 1_048_576;

/// A payload any job may carry: not too large, not too deep, no NUL (Postgres cannot store it).
pub fn check_shape(payload: &Value, max_bytes: usize) -> Result<(), Problem> {
    check_size(payload, max_bytes)?;
    check_content(payload)
}

pub fn check_size(payload: &Value, max_bytes: usize) -> Result<(), Problem> {
    let size = payload.to_string().len();
    if size > max_bytes {
        let detail =
            format!("The payload has {size} bytes; at most {max_bytes} are allowed. Nothing was enqueued.");
        return Err(Problem::new(ProblemCode::PayloadTooLarge, detail));
    }
    Ok(())
}

/// Not too deep, and no NUL.
pub fn check_content(payload: &Value) -> Result<(), Problem> {
    check_value(payload, 0)
}

fn check_value(value: &Value, depth: usize) -> Result<(), Problem> {
    if depth > DEEPEST {
        return Err(invalid("", format!("The payload is nested deeper than {DEEPEST} levels.")));
    }
    match value {
        Value::String(s) if s.contains('\0') => Err(invalid("", "The payload contains a NUL character.")),
        Value::Array(items) => items.iter().try_for_each(|v| check_value(v, depth + 1)),
        Value::Object(map) => map.iter().try_for_each(|(key, v)| {
            if key.contains('\0') {
                return Err(invalid("", "The payload contains a NUL character."));
            }
            check_value(v, depth + 1)
        }),
        _ => Ok(()),
    }
}

/// The payload against its definition's JSON Schema: draft 2020-12, formats asserted, references only inside
/// the schema itself (the validator is built without network and file access).
pub fn check_schema(schema: &Value, payload: &Value) -> Result<(), Problem> {
    check_against(&compile(schema)?, payload)
}

/// The same with a schema that is compiled already.
pub fn check_against(validator: &jsonschema::Validator, payload: &Value) -> Result<(), Problem> {
    let mut problem: Option<Problem> = None;
    for error in validator.iter_errors(payload).take(20) {
        let field = format!("payload{}", error.instance_path());
        let message = format!("{error}.");
        let current = problem.take().unwrap_or_else(|| {
            Problem::new(ProblemCode::InvalidPayload, "The payload does not fit. Nothing was enqueued.")
        });
        problem = Some(current.with_field(field, message));
    }
    problem.map_or(Ok(()), Err)
}

/// What can be said of a payload whose values are not known yet: members that are missing, and members too many.
pub fn check_frame(validator: &jsonschema::Validator, template: &Value) -> Result<(), Problem> {
    use jsonschema::error::ValidationErrorKind::{AdditionalProperties, Required};
    let about_members = validator
        .iter_errors(template)
        .filter(|error| matches!(error.kind(), Required { .. } | AdditionalProperties { .. }));
    let problem = about_members.take(20).fold(None, |problem: Option<Problem>, error| {
        let current = problem.unwrap_or_else(|| {
            Problem::new(ProblemCode::InvalidPayload, "The payload does not fit. Nothing was enqueued.")
        });
        Some(current.with_field(format!("payload{}", error.instance_path()), format!("{error}.")))
    });
    problem.map_or(Ok(()), Err)
}

/// A schema that can be used; the error says why not. Patterns take linear time, so there is no look-around.
pub fn compile(schema: &Value) -> Result<jsonschema::Validator, Problem> {
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex().size_limit(LARGEST_PATTERN))
        .build(schema)
        .map_err(|e| Problem::invalid("arg_schema", format!("The JSON Schema is not valid: {e}.")))
}

/// A hash that does not depend on the order of keys, to compare payloads by.
pub fn canonical_hash(payload: &Value) -> String {
    let mut text = String::new();
    write_canonical(payload, &mut text);
    Sha256::digest(text.as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.keys().collect();
            keys.sort();
            out.push('{');
            for key in keys {
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(&map[key], out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

fn invalid(path: &str, message: impl Into<String>) -> Problem {
    let message = message.into();
    Problem::new(ProblemCode::InvalidPayload, message.clone()).with_field(format!("payload{path}"), message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_change_the_hash() {
        let a: Value = serde_json::from_str(r#"{"a":1,"b":[{"x":1,"y":2}]}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"b":[{"y":2,"x":1}],"a":1}"#).unwrap();
        assert_eq!(canonical_hash(&a), canonical_hash(&b));
        assert_ne!(canonical_hash(&a), canonical_hash(&json!({"a": 2})));
    }

    #[test]
    fn a_schema_violation_names_the_place() {
        let schema = json!({"type": "object", "required": ["seconds"], "additionalProperties": false,
            "properties": {"seconds": {"type": "integer", "minimum": 1}, "id": {"format": "uuid"}}});
        assert!(check_schema(&schema, &json!({"seconds": 3})).is_ok());
        let problem = check_schema(&schema, &json!({"seconds": 0})).unwrap_err();
        assert_eq!(problem.code, ProblemCode::InvalidPayload);
        assert_eq!(problem.errors[0].field, "payload/seconds");
        assert!(check_schema(&schema, &json!({"seconds": 1, "id": "x"})).is_err(), "formats are asserted");
        assert!(check_schema(&schema, &json!({"seconds": 1, "other": 1})).is_err());
    }

    #[test]
    fn a_schema_cannot_reach_out() {
        for reference in ["http://127.0.0.1:1/s.json", "file:///etc/passwd"] {
            assert!(compile(&json!({"$ref": reference})).is_err(), "{reference}");
        }
    }

    #[test]
    fn what_a_database_cannot_keep_is_refused() {
        assert!(check_shape(&json!({"a": "b"}), 100).is_ok());
        assert_eq!(check_shape(&json!({"a": "x\0y"}), 100).unwrap_err().code, ProblemCode::InvalidPayload);
        assert_eq!(check_shape(&json!("x".repeat(101)), 100).unwrap_err().code, ProblemCode::PayloadTooLarge);
        let deep = (0..70).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(check_shape(&deep, 10_000).unwrap_err().code, ProblemCode::InvalidPayload);
    }
}
