//! Conditions on an event's payload: `{"path.to.value": condition}`, all of which must hold.
//!
//! A condition is a value to be equal to, a list of which one must be equal, `{"prefix": "…"}` or
//! `{"exists": true|false}`.

use super::template::child;
use leasehold_types::Problem;
use serde_json::{Map, Value};

const MOST_CONDITIONS: usize = 20;
const MOST_CHOICES: usize = 100;
const LONGEST_PATH: usize = 200;

pub fn check(filter: &Value) -> Result<(), Problem> {
    let Value::Object(conditions) = filter else {
        return Err(Problem::invalid("filter", "A filter is a JSON object of paths and conditions."));
    };
    if conditions.len() > MOST_CONDITIONS {
        return Err(Problem::invalid(
            "filter",
            format!("A filter has at most {MOST_CONDITIONS} conditions."),
        ));
    }
    conditions.iter().try_for_each(|(path, condition)| {
        check_condition(path, condition)
            .map_err(|message| Problem::invalid(format!("filter/{path}"), message))
    })
}

fn check_condition(path: &str, condition: &Value) -> Result<(), String> {
    if path.len() > LONGEST_PATH || path.contains('\0') || path.split('.').any(str::is_empty) {
        return Err("This is not a path such as folder.name.".into());
    }
    match condition {
        Value::Array(choices) if choices.is_empty() || choices.len() > MOST_CHOICES => {
            Err(format!("A list has 1 to {MOST_CHOICES} values."))
        }
        Value::Object(operator) => check_operator(operator),
        _ => Ok(()),
    }
}

fn check_operator(operator: &Map<String, Value>) -> Result<(), String> {
    let known = operator.len() == 1
        && (operator.get("prefix").is_some_and(Value::is_string)
            || operator.get("exists").is_some_and(Value::is_boolean));
    if known { Ok(()) } else { Err("Use {\"prefix\": \"text\"} or {\"exists\": true}.".into()) }
}

pub fn passes(filter: &Value, event: &Value) -> bool {
    let Value::Object(conditions) = filter else { return true };
    conditions.iter().all(|(path, condition)| {
        let found = path.split('.').try_fold(event, child);
        holds(condition, found)
    })
}

fn holds(condition: &Value, found: Option<&Value>) -> bool {
    match condition {
        Value::Array(choices) => found.is_some_and(|found| choices.contains(found)),
        Value::Object(operator) => match (operator.get("exists"), operator.get("prefix")) {
            (Some(exists), _) => exists.as_bool() == Some(found.is_some()),
            (_, Some(Value::String(prefix))) => {
                found.and_then(Value::as_str).is_some_and(|text| text.starts_with(prefix.as_str()))
            }
            _ => false,
        },
        plain => found == Some(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_conditions_must_hold() {
        let event = json!({"folder": {"path": "/inbox/a", "size": 3}, "tags": ["x"], "none": null});
        let cases = [
            (json!({}), true),
            (json!({"folder.size": 3}), true),
            (json!({"folder.size": 4}), false),
            (json!({"folder.size": [1, 2, 3]}), true),
            (json!({"folder.size": ["3"]}), false),
            (json!({"folder.path": {"prefix": "/inbox/"}}), true),
            (json!({"folder.path": {"prefix": "/out/"}}), false),
            (json!({"folder.size": {"prefix": "3"}}), false),
            (json!({"tags.0": "x"}), true),
            (json!({"none": null}), true),
            (json!({"missing": null}), false),
            (json!({"missing": {"exists": false}}), true),
            (json!({"none": {"exists": true}, "folder.size": 4}), false),
        ];
        for (filter, expected) in cases {
            check(&filter).unwrap();
            assert_eq!(passes(&filter, &event), expected, "{filter}");
        }
    }

    #[test]
    fn a_filter_that_makes_no_sense_is_refused() {
        let many: Map<String, Value> = (0..21).map(|n| (format!("p{n}"), json!(1))).collect();
        for wrong in [
            json!([]),
            json!({"": 1}),
            json!({"a..b": 1}),
            json!({"a": []}),
            json!({"a": {"regex": "x"}}),
            json!({"a": {"prefix": 1}}),
            json!({"a": {}}),
            Value::Object(many),
        ] {
            assert!(check(&wrong).unwrap_err().errors[0].field.starts_with("filter"), "{wrong}");
        }
    }
}
