//! The JSON Schema of a definition: draft 2020-12, not too large or deep, references only to itself, and nothing that
//! would keep a validator busy for ever. Checked when it is saved, and again before it is used, because what was saved
//! by an older version was held to less.

mod checker;
mod cost;
mod graph;
mod pattern;
mod wording;

pub use checker::{Allowance, Checker};
use graph::Graph;
use jsonschema::PatternOptions;
use leasehold_types::Problem;
use serde_json::Value;

const LARGEST: usize = 65_536;
const DEEPEST: usize = 32;
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// What one pattern may become when it is compiled, in bytes.
const LARGEST_PATTERN: usize = 1_048_576;
/// What matching one pattern may keep in memory to be fast, in bytes.
const LARGEST_AUTOMATON: usize = 262_144;

/// A schema that may be saved; the error says why not.
pub fn check(schema: &Value) -> Result<(), Problem> {
    Checker::new(schema).map(drop).map_err(|why| {
        Problem::invalid("arg_schema", format!("The JSON Schema cannot be used. {why} Nothing was changed."))
    })
}

/// Everything that can be wrong with a schema, the cheapest first.
fn compile(schema: &Value) -> Result<(Graph, jsonschema::Validator), String> {
    let Value::Object(root) = schema else {
        return Err("It must be a JSON object.".into());
    };
    check_depth(schema, 0)?;
    let size = crate::payload::bytes(schema);
    if size > LARGEST {
        return Err(format!("It has {size} bytes; at most {LARGEST} are allowed."));
    }
    if let Some(draft) = root.get("$schema")
        && draft.as_str().map(|name| name.trim_end_matches('#')) != Some(DRAFT)
    {
        return Err(format!("`$schema` may only be {DRAFT}."));
    }
    check_references(schema)?;
    let graph = Graph::read(schema)?;
    let validator = jsonschema::draft202012::options()
        .should_validate_formats(true)
        // Patterns take linear time, so there is no look-around.
        .with_pattern_options(
            PatternOptions::regex().size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_AUTOMATON),
        )
        .build(schema)
        .map_err(|wrong| wording::of_schema(&wrong))?;
    Ok((graph, validator))
}

fn check_depth(value: &Value, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("It is nested deeper than {DEEPEST} levels."));
    }
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| check_depth(item, depth + 1)),
        Value::Object(map) => map.values().try_for_each(|item| check_depth(item, depth + 1)),
        Value::String(text) if text.contains('\0') => Err("It contains a NUL character.".into()),
        _ => Ok(()),
    }
}

/// Nothing outside is ever fetched; saying so here is kinder than a validator that cannot be built.
fn check_references(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(check_references),
        Value::Object(map) => map.iter().try_for_each(|(key, inner)| match inner {
            Value::String(target)
                if matches!(key.as_str(), "$ref" | "$dynamicRef") && !target.starts_with('#') =>
            {
                let target = wording::cut(target, 200);
                Err(format!("`{key}` may only point into the schema itself (#…), not to “{target}”."))
            }
            _ => check_references(inner),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
