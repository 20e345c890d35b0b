//! Payloads at the door: size, and characters a database cannot keep. Their definition's schema is
//! [`crate::arg_schema`]'s part.

use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;
use sha2::{Digest, Sha256};

const DEEPEST: usize = 64;

/// A payload any job may carry: not too large, not too deep, no NUL (Postgres cannot store it).
pub fn check_shape(payload: &Value, max_bytes: usize) -> Result<(), Problem> {
    check_size(payload, max_bytes)?;
    check_content(payload)
}

pub fn check_size(payload: &Value, max_bytes: usize) -> Result<(), Problem> {
    let size = bytes(payload);
    if size > max_bytes {
        let detail =
            format!("The payload has {size} bytes; at most {max_bytes} are allowed. Nothing was enqueued.");
        return Err(Problem::new(ProblemCode::PayloadTooLarge, detail));
    }
    Ok(())
}

/// The length of its text, which is counted and not made.
pub fn bytes(value: &Value) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
            self.0 += part.len();
            Ok(part.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // A counter takes everything, and a value can always be written.
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX, |()| counter.0)
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
    fn bytes_are_those_of_the_text() {
        for value in [json!({"a": [1, 2.5, "ü\n\u{1}", null, true]}), json!("x".repeat(1_000)), json!([])] {
            assert_eq!(bytes(&value), value.to_string().len());
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
