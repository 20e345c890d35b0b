//! A request one can paste into a shell. Values come from the description's examples, else from the kind of field.

use super::fields::resolve;
use serde_json::{Map, Value, json};
use std::fmt::Write;

const DEEPEST: usize = 5;

pub fn curl(api: &Value, method: &str, path: &str, said: &Value) -> String {
    let path = filled(path, said);
    let mut shell =
        if method == "get" { "curl".to_owned() } else { format!("curl -X {}", method.to_uppercase()) };
    let needed = parameters(said, "query").filter(|p| p["required"] == true);
    let query: Vec<_> = needed
        .map(|p| {
            format!("{}={}", p["name"].as_str().unwrap_or_default(), plain(&value(api, &p["schema"], 0)))
        })
        .collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let _ = write!(shell, " \"$LEASEHOLD_URL{path}{query}\" \\\n  -H \"X-API-KEY: $LEASEHOLD_API_KEY\"");
    for header in parameters(said, "header").filter(|p| p["name"] == "X-Confirm") {
        let _ = write!(shell, " \\\n  -H \"{}: true\"", header["name"].as_str().unwrap_or_default());
    }
    if said["responses"]["200"]["content"]["text/event-stream"].is_object() {
        shell = shell.replacen("curl", "curl -N", 1);
    }
    let content = &said["requestBody"]["content"]["application/json"];
    if content.is_object() {
        let body = match &content["example"] {
            Value::Null => value(api, &content["schema"], 0),
            given => given.clone(),
        };
        let body = serde_json::to_string_pretty(&body).unwrap_or_default().replace('\n', "\n  ");
        let quoted = body.replace('\'', "'\\''");
        let _ = write!(shell, " \\\n  -H \"Content-Type: application/json\" \\\n  -d '{quoted}'");
    }
    shell
}

/// The path with its examples in it.
fn filled(path: &str, said: &Value) -> String {
    let mut filled = path.to_owned();
    for parameter in parameters(said, "path") {
        let name = parameter["name"].as_str().unwrap_or_default();
        let example = parameter["example"].as_str().or(parameter["schema"]["examples"][0].as_str());
        filled = filled.replace(&format!("{{{name}}}"), example.unwrap_or("42"));
    }
    filled
}

fn parameters<'a>(said: &'a Value, place: &'a str) -> impl Iterator<Item = &'a Value> {
    said["parameters"].as_array().into_iter().flatten().filter(move |p| p["in"] == place)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Only what must be there, and what has an example: a request that shows everything shows nothing.
fn value(api: &Value, schema: &Value, depth: usize) -> Value {
    let schema = resolve(api, schema);
    if depth > DEEPEST {
        return Value::Null;
    }
    let given = schema.get("example").or_else(|| schema["examples"].get(0));
    if let Some(given) = given.or_else(|| schema["enum"].get(0)) {
        return given.clone();
    }
    for part in ["oneOf", "anyOf", "allOf"] {
        let choice = schema[part].as_array().and_then(|some| some.iter().find(|c| c["type"] != "null"));
        if let Some(choice) = choice {
            return value(api, choice, depth + 1);
        }
    }
    let kind = schema["type"].as_str().or_else(|| schema["type"][0].as_str()).unwrap_or("object");
    match (kind, schema["format"].as_str()) {
        ("string", Some("uuid")) => json!("6f46a1d8-6e2b-4ecf-8b46-9ec2e6a37f09"),
        ("string", _) => json!("…"),
        ("integer" | "number", _) => schema.get("minimum").cloned().unwrap_or(json!(1)),
        ("boolean", _) => json!(true),
        ("array", _) => json!([value(api, &schema["items"], depth + 1)]),
        _ => object(api, schema, depth),
    }
}

fn object(api: &Value, schema: &Value, depth: usize) -> Value {
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut object = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let shown = required.contains(&name.as_str()) || field.get("example").is_some();
        if shown {
            let example = field.get("example").cloned();
            object.insert(name.clone(), example.unwrap_or_else(|| value(api, field, depth + 1)));
        }
    }
    Value::Object(object)
}
