//! A form made from a definition's JSON Schema, and the payload made from that form.
//!
//! Only plain values of a flat object become fields; everything else is written as JSON. The schema itself is
//! checked by the engine: here text only turns into values of the right kind.

use leasehold_types::{Problem, ProblemCode};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Clone, PartialEq, Debug)]
pub struct SchemaField {
    pub name: String,
    pub label: String,
    pub description: Option<String>,
    pub required: bool,
    pub kind: Kind,
    /// As it stands in the form.
    pub default: String,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Text {
        max_length: Option<u64>,
    },
    /// Text of many lines.
    Lines {
        max_length: Option<u64>,
    },
    Integer {
        min: Option<String>,
        max: Option<String>,
    },
    Number {
        min: Option<String>,
        max: Option<String>,
    },
    Boolean,
    Choice(Vec<String>),
}

/// The fields of a schema, required ones first in their order; none when it cannot be a form. What need not be given
/// and cannot be a field is left to those who write JSON.
pub fn fields(schema: &Value) -> Option<Vec<SchemaField>> {
    let properties = schema.get("properties")?.as_object()?;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let rank = |name: &str| required.iter().position(|r| *r == name).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for (name, property) in properties {
        let is_required = required.contains(&name.as_str());
        match field(name, property, is_required) {
            Some(field) => found.push(field),
            None if is_required => return None,
            None => {}
        }
    }
    // Among what need not be given, a long text is what the form is about.
    found.sort_by_key(|f| (rank(&f.name), !matches!(f.kind, Kind::Lines { .. })));
    (!found.is_empty() || properties.is_empty()).then_some(found)
}

fn field(name: &str, property: &Value, required: bool) -> Option<SchemaField> {
    // The name becomes part of a form key, `field[name]`.
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if !plain {
        return None;
    }
    let text = |key: &str| property.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(SchemaField {
        name: name.to_owned(),
        label: text("title").unwrap_or_else(|| readable(name)),
        description: text("description"),
        required,
        kind: kind(property)?,
        default: property.get("default").map(as_text).unwrap_or_default(),
    })
}

fn kind(property: &Value) -> Option<Kind> {
    if let Some(choices) = property.get("enum").and_then(Value::as_array) {
        let plain = choices.iter().all(|c| !c.is_array() && !c.is_object());
        return plain.then(|| Kind::Choice(choices.iter().map(as_text).collect()));
    }
    let limit = |key: &str| property.get(key).filter(|v| v.is_number()).map(as_text);
    match property.get("type")?.as_str()? {
        "string" => {
            let max_length = property.get("maxLength").and_then(Value::as_u64);
            let media = property.get("contentMediaType").and_then(Value::as_str).unwrap_or_default();
            let lines = media.starts_with("text/");
            Some(if lines { Kind::Lines { max_length } } else { Kind::Text { max_length } })
        }
        "integer" => Some(Kind::Integer { min: limit("minimum"), max: limit("maximum") }),
        "number" => Some(Kind::Number { min: limit("minimum"), max: limit("maximum") }),
        "boolean" => Some(Kind::Boolean),
        _ => None,
    }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `fail_at` → `Fail at`
fn readable(name: &str) -> String {
    let spaced = name.replace(['_', '-', '.'], " ");
    let mut chars = spaced.chars();
    chars.next().map(|c| c.to_uppercase().collect::<String>() + chars.as_str()).unwrap_or_default()
}

/// The payload of a submitted form. Fields left empty are left out.
pub fn payload(schema: &Value, values: &BTreeMap<String, String>) -> Result<Value, Problem> {
    let fields = fields(schema).ok_or_else(|| {
        Problem::new(
            ProblemCode::InvalidPayload,
            "This command takes its payload as JSON. Nothing was enqueued.",
        )
    })?;
    let mut object = Map::new();
    let mut problem: Option<Problem> = None;
    for field in fields {
        let given = values.get(&field.name).map(|v| v.trim()).unwrap_or_default();
        match read(&field, given, schema) {
            Ok(Some(value)) => {
                object.insert(field.name, value);
            }
            Ok(None) => {}
            Err(message) => {
                let current = problem.take().unwrap_or_else(|| {
                    Problem::new(
                        ProblemCode::InvalidPayload,
                        "Please look at the marked fields. Nothing was enqueued.",
                    )
                });
                problem = Some(current.with_field(format!("payload/{}", field.name), message));
            }
        }
    }
    problem.map_or(Ok(Value::Object(object)), Err)
}

fn read(field: &SchemaField, given: &str, schema: &Value) -> Result<Option<Value>, String> {
    if matches!(field.kind, Kind::Boolean) {
        return Ok(Some(Value::Bool(given == "true")));
    }
    if given.is_empty() {
        return if field.required { Err("Please fill this in.".into()) } else { Ok(None) };
    }
    match &field.kind {
        Kind::Integer { .. } => given
            .parse::<i64>()
            .map(|n| Some(Value::from(n)))
            .map_err(|_| format!("“{given}” is not a whole number.")),
        Kind::Number { .. } => given
            .parse::<f64>()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map(|n| Some(Value::Number(n)))
            .ok_or_else(|| format!("“{given}” is not a number.")),
        Kind::Choice(_) => {
            let choices = schema["properties"][&field.name]["enum"].as_array();
            let chosen = choices.and_then(|all| all.iter().find(|c| as_text(c) == given));
            chosen.cloned().map(Some).ok_or_else(|| format!("“{given}” is not one of the choices."))
        }
        Kind::Text { .. } | Kind::Lines { .. } | Kind::Boolean => Ok(Some(Value::from(given))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "required": ["seconds", "rows"], "properties": {
            "fail_at": {"type": "string", "enum": ["reading", "writing"], "description": "Break here."},
            "dry": {"type": "boolean"},
            "ratio": {"type": "number", "minimum": 0.5},
            "rows": {"type": "integer", "default": 1200},
            "seconds": {"title": "Seconds", "type": "integer", "minimum": 1, "maximum": 600},
        }})
    }

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_flat_schema_becomes_fields() {
        let fields = fields(&schema()).unwrap();
        let names: Vec<_> = fields.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["seconds", "rows", "dry", "fail_at", "ratio"]);
        assert_eq!(fields[0].kind, Kind::Integer { min: Some("1".into()), max: Some("600".into()) });
        assert_eq!((fields[1].label.as_str(), fields[1].default.as_str()), ("Rows", "1200"));
        assert_eq!(fields[3].kind, Kind::Choice(vec!["reading".into(), "writing".into()]));
    }

    #[test]
    fn nested_schemas_are_written_as_json() {
        assert_eq!(fields(&json!({"properties": {"a": {"type": "array"}}})), None);
        assert_eq!(fields(&json!({"properties": {"a]b": {"type": "string"}}})), None);
        assert_eq!(fields(&json!({"type": "object"})), None);
        let required =
            json!({"required": ["a"], "properties": {"a": {"type": "array"}, "b": {"type": "string"}}});
        assert_eq!(fields(&required), None);
    }

    #[test]
    fn what_need_not_be_given_and_is_no_plain_value_is_left_out() {
        let schema = json!({"properties": {
            "deck": {"type": "object"},
            "markdown": {"type": "string", "contentMediaType": "text/markdown", "maxLength": 9},
        }});
        let fields = fields(&schema).unwrap();
        assert_eq!((fields.len(), fields[0].name.as_str()), (1, "markdown"));
        assert_eq!(fields[0].kind, Kind::Lines { max_length: Some(9) });
    }

    #[test]
    fn text_turns_into_values_and_empty_fields_are_left_out() {
        let given = values(&[("seconds", " 3 "), ("rows", "10"), ("ratio", "0.5"), ("fail_at", "")]);
        assert_eq!(
            payload(&schema(), &given).unwrap(),
            json!({"seconds": 3, "rows": 10, "ratio": 0.5, "dry": false})
        );
    }

    #[test]
    fn every_wrong_field_is_named() {
        let problem = payload(&schema(), &values(&[("rows", "many"), ("fail_at", "sleeping")])).unwrap_err();
        let fields: Vec<_> = problem.errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!(fields, ["payload/seconds", "payload/rows", "payload/fail_at"]);
    }
}
