//! Schemas as tables: one row per field, those of objects inside objects under their path.

use super::html::{code, escape, line};
use serde_json::Value;
use std::fmt::Write;

/// Deeper than this a path says more than a table could.
const DEEPEST: usize = 4;

pub fn of_parameters(api: &Value, parameters: &[Value], title: &str) -> String {
    let mut rows = String::new();
    for parameter in parameters {
        let place = parameter["in"].as_str().unwrap_or_default();
        let name = parameter["name"].as_str().unwrap_or_default();
        let required = parameter["required"] == true;
        let about = parameter["description"].as_str().unwrap_or_default();
        let schema = resolve(api, &parameter["schema"]);
        rows.push_str(&row(name, &format!("{} · {place}", kind(api, schema)), required, about));
    }
    table("Parameter", title, &rows)
}

/// `title` names the table for those who do not see it.
pub fn of_schema(api: &Value, schema: &Value, title: &str) -> String {
    let mut rows = String::new();
    collect(api, schema, "", 0, &mut rows);
    if rows.is_empty() {
        let kind = kind(api, resolve(api, schema));
        return if kind.is_empty() { String::new() } else { format!("<p>{}</p>", code(&kind)) };
    }
    table("Field", title, &rows)
}

pub fn table(head: &str, title: &str, rows: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<div class=\"api-scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"api-fields\"><thead><tr>\
         <th scope=\"col\">{head}</th><th scope=\"col\">Type</th><th scope=\"col\">Meaning</th></tr></thead><tbody>{rows}</tbody></table></div>",
        escape(title)
    )
}

fn row(name: &str, kind: &str, required: bool, about: &str) -> String {
    let needed = if required { " <span class=\"api-needed\">required</span>" } else { "" };
    format!("<tr><td>{}{needed}</td><td>{}</td><td>{}</td></tr>", code(name), escape(kind), line(about))
}

fn collect(api: &Value, schema: &Value, path: &str, depth: usize, rows: &mut String) {
    let schema = resolve(api, schema);
    if depth > DEEPEST {
        return;
    }
    for part in ["oneOf", "anyOf", "allOf"] {
        for choice in schema[part].as_array().into_iter().flatten() {
            if choice["type"] != "null" {
                collect(api, choice, path, depth + 1, rows);
            }
        }
    }
    if schema["items"].is_object() {
        return collect(api, &schema["items"], &format!("{path}[]"), depth, rows);
    }
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let place = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}").trim_start_matches('.').into()
        };
        let target = resolve(api, field);
        let about = field["description"].as_str().or(target["description"].as_str()).unwrap_or_default();
        let _ = write!(rows, "{}", row(&place, &kind(api, field), required.contains(&name.as_str()), about));
        collect(api, field, &place, depth + 1, rows);
    }
}

/// What a `$ref` leads to.
pub fn resolve<'a>(api: &'a Value, schema: &'a Value) -> &'a Value {
    let place = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    place.and_then(|place| api.pointer(place)).unwrap_or(schema)
}

fn kind(api: &Value, schema: &Value) -> String {
    let schema = resolve(api, schema);
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | ");
    }
    for part in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[part].as_array() {
            let kinds: Vec<_> = choices.iter().map(|choice| kind(api, choice)).collect();
            return kinds
                .into_iter()
                .filter(|k| !k.is_empty() && k != "null")
                .collect::<Vec<_>>()
                .join(" or ");
        }
    }
    let named = match &schema["type"] {
        Value::String(one) => one.clone(),
        Value::Array(some) => {
            let words: Vec<_> =
                some.iter().filter_map(Value::as_str).filter(|word| *word != "null").collect();
            words.join(" or ")
        }
        _ => "any".to_owned(),
    };
    match (named.as_str(), schema["format"].as_str()) {
        ("array", _) => format!("list of {}", kind(api, &schema["items"])),
        ("string", Some(format)) if !format.is_empty() => format.replace("date-time", "time"),
        _ => named,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_of_objects_in_lists_stand_under_their_path() {
        let api = json!({"components": {"schemas": {"Line": {"type": "object", "required": ["seq"], "properties":
            {"seq": {"type": "integer", "description": "From 1 on."}}}}}});
        let schema = json!({"type": "object", "properties": {"lines": {"type": "array",
            "items": {"$ref": "#/components/schemas/Line"}}}});
        let text = of_schema(&api, &schema, "Fields");
        assert!(text.contains("<code>lines</code>") && text.contains("list of object"), "{text}");
        assert!(
            text.contains("<code>lines[].seq</code> <span class=\"api-needed\">required</span>"),
            "{text}"
        );
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let api = json!({"components": {"schemas": {"Tree": {"type": "object", "properties":
            {"next": {"$ref": "#/components/schemas/Tree"}}}}}});
        assert!(of_schema(&api, &json!({"$ref": "#/components/schemas/Tree"}), "").len() < 2_000);
    }
}
