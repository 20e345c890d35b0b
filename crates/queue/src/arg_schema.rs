//! The JSON Schema of a definition, checked when it is saved: draft 2020-12, not too large or deep, references only
//! to itself, and no pattern or reference that would keep a validator busy for ever.

use crate::payload::compile;
use leasehold_types::Problem;
use serde_json::{Map, Value};
use std::collections::HashSet;

const LARGEST: usize = 65_536;
const DEEPEST: usize = 32;
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Keywords whose schemas look at the same value again.
const IN_PLACE: [&str; 8] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"];

/// A schema that may be saved; the error says why not.
pub fn check(schema: &Value) -> Result<(), Problem> {
    let Value::Object(root) = schema else {
        return Err(refused("It must be a JSON object."));
    };
    check_depth(schema, 0)?;
    let size = schema.to_string().len();
    if size > LARGEST {
        return Err(refused(format!("It has {size} bytes; at most {LARGEST} are allowed.")));
    }
    if let Some(draft) = root.get("$schema")
        && draft.as_str().map(|name| name.trim_end_matches('#')) != Some(DRAFT)
    {
        return Err(refused(format!("`$schema` may only be {DRAFT}.")));
    }
    check_references(schema)?;
    check_cycles(schema)?;
    compile(schema).map(drop)
}

fn check_depth(value: &Value, depth: usize) -> Result<(), Problem> {
    if depth > DEEPEST {
        return Err(refused(format!("It is nested deeper than {DEEPEST} levels.")));
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| check_depth(item, depth + 1)),
        Value::Object(map) => map.values().try_for_each(|item| check_depth(item, depth + 1)),
        Value::String(text) if text.contains('\0') => Err(refused("It contains a NUL character.")),
        _ => Ok(()),
    }
}

/// Nothing outside is ever fetched; saying so here is kinder than a validator that cannot be built.
fn check_references(value: &Value) -> Result<(), Problem> {
    match value {
        Value::Array(items) => items.iter().try_for_each(check_references),
        Value::Object(map) => map.iter().try_for_each(|(key, inner)| match inner {
            Value::String(target)
                if matches!(key.as_str(), "$ref" | "$dynamicRef") && !target.starts_with('#') =>
            {
                Err(refused(format!(
                    "`{key}` may only point into the schema itself (#…), not to “{target}”."
                )))
            }
            _ => check_references(inner),
        }),
        _ => Ok(()),
    }
}

/// A schema that leads back to itself without going deeper into the value would never be done.
fn check_cycles(root: &Value) -> Result<(), Problem> {
    let mut targets = Vec::new();
    collect_targets(root, &mut targets);
    for start in targets {
        let mut seen = HashSet::new();
        let mut open = vec![start];
        while let Some(target) = open.pop() {
            let Some(schema) = root.pointer(target.trim_start_matches('#')) else { continue };
            let mut next = Vec::new();
            same_value_targets(schema, &mut next);
            for reached in next {
                if reached == start {
                    return Err(refused(format!("`{start}` leads back to itself without going deeper.")));
                }
                if seen.insert(reached) {
                    open.push(reached);
                }
            }
        }
    }
    Ok(())
}

fn collect_targets<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect_targets(item, found)),
        Value::Object(map) => {
            found.extend(reference(map));
            map.values().for_each(|inner| collect_targets(inner, found));
        }
        _ => {}
    }
}

fn reference(map: &Map<String, Value>) -> Option<&str> {
    map.get("$ref").or_else(|| map.get("$dynamicRef")).and_then(Value::as_str)
}

/// Where a schema leads while it looks at one and the same value.
fn same_value_targets<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    let Value::Object(map) = schema else { return };
    found.extend(reference(map));
    for inner in IN_PLACE.iter().filter_map(|keyword| map.get(*keyword)) {
        same_value_targets(inner, found);
        match inner {
            Value::Array(items) => items.iter().for_each(|item| same_value_targets(item, found)),
            Value::Object(named) => named.values().for_each(|item| same_value_targets(item, found)),
            _ => {}
        }
    }
}

fn refused(why: impl std::fmt::Display) -> Problem {
    Problem::invalid("arg_schema", format!("The JSON Schema cannot be used. {why} Nothing was changed."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::check_schema;
    use serde_json::json;

    fn why_not(schema: &Value) -> String {
        let problem = check(schema).expect_err(&schema.to_string());
        assert_eq!(problem.errors[0].field, "arg_schema");
        problem.detail
    }

    #[test]
    fn a_usual_schema_is_fine_and_its_formats_count() {
        let schema = json!({"$schema": DRAFT, "type": "object", "required": ["provider_id"],
            "properties": {"provider_id": {"type": "string", "format": "uuid"}}});
        check(&schema).unwrap();
        assert!(check_schema(&schema, &json!({"provider_id": "no"})).is_err());
    }

    #[test]
    fn references_stay_inside() {
        for target in ["http://127.0.0.1:1/a.json", "file:///etc/passwd", "other.json", "//host/x"] {
            assert!(why_not(&json!({"properties": {"a": {"$ref": target}}})).contains(target));
        }
        let own = json!({"$defs": {"id": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/id"}}});
        check(&own).unwrap();
        assert!(check_schema(&own, &json!({"a": "x"})).is_err());
        assert!(check(&json!({"$ref": "#/$defs/nowhere"})).is_err());
    }

    #[test]
    fn a_tree_may_refer_to_itself_but_a_circle_may_not() {
        let tree = json!({"type": "object", "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
        check(&tree).unwrap();
        assert!(check_schema(&tree, &json!({"left": {"right": 1}})).is_err());
        why_not(&json!({"$ref": "#"}));
        why_not(&json!({"allOf": [{"$ref": "#"}]}));
        let two = json!({"$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}},
            "properties": {"x": {"$ref": "#/$defs/a"}}});
        why_not(&two);
    }

    #[test]
    fn patterns_take_linear_time() {
        why_not(&json!({"pattern": "(?=look)ahead"}));
        why_not(&json!({"pattern": r"(a)\1"}));
        why_not(&json!({"pattern": "((a{1000}){1000}){1000}"}));
        let slow_elsewhere = json!({"type": "string", "pattern": "^(a+)+$"});
        check(&slow_elsewhere).unwrap();
        let began = std::time::Instant::now();
        assert!(check_schema(&slow_elsewhere, &json!(format!("{}!", "a".repeat(50_000)))).is_err());
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    #[test]
    fn size_and_depth_are_bounded() {
        let deep = (0..100).fold(json!({}), |inner, _| json!({"properties": {"a": inner}}));
        assert!(why_not(&deep).contains("deeper"));
        assert!(why_not(&json!({"description": "x".repeat(70_000)})).contains("bytes"));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for wrong in [json!([]), json!(true), json!({"type": "strung"}), json!({"required": "a"})] {
            why_not(&wrong);
        }
        assert!(why_not(&json!({"$schema": "http://json-schema.org/draft-07/schema#"})).contains("2020-12"));
    }
}
