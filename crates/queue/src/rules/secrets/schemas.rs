//! JSON Schemas about to be kept. A schema speaks of passwords without having one (`properties.password`), so it is read
//! keyword by keyword: what a property is called says what its `default`, `examples`, `const` and `enum` are, and nothing
//! about its `type`.

use super::{Redactor, SecretPolicy, policy::refusal};
use leasehold_types::Problem;
use serde_json::{Map, Value, json};

/// Names of schemas, each with a schema.
const MAPS: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
/// A schema, or a list of them, about the same value or a part of it.
const SCHEMAS: [&str; 15] = [
    "items",
    "prefixItems",
    "contains",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
    "propertyNames",
    "contentSchema",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
];

impl SecretPolicy {
    /// Refused with `JOBS_SECRET_REJECT`. Otherwise it is kept without: a default or an example with a secret is left
    /// out, text is redacted. What decides which payloads fit (`const`, `enum`, `pattern`, a name) cannot be changed
    /// without changing that, so it is refused in every mode when it has the shape of a secret.
    pub fn schema(&self, root: &str, schema: &mut Value) -> Result<(), Problem> {
        let redactor = if self.rejects() { self.door() } else { self.redactor() };
        let mut search = Search {
            redactor,
            shapes: redactor.clone().with_ours(false, true),
            rejects: self.rejects(),
            refused: Vec::new(),
        };
        search.schema(schema, root, None);
        refusal(search.refused)
    }
}

struct Search<'a> {
    redactor: &'a Redactor,
    /// The same without names.
    shapes: Redactor,
    rejects: bool,
    refused: Vec<String>,
}

impl Search<'_> {
    /// `name` is what the value it describes is called.
    fn schema(&mut self, schema: &mut Value, path: &str, name: Option<&str>) {
        match schema {
            Value::Array(schemas) => {
                for (i, schema) in schemas.iter_mut().enumerate() {
                    self.schema(schema, &format!("{path}/{i}"), name);
                }
            }
            Value::Object(keywords) => self.keywords(keywords, path, name),
            _ => {}
        }
    }

    fn keywords(&mut self, keywords: &mut Map<String, Value>, path: &str, name: Option<&str>) {
        let mut dropped = Vec::new();
        for (keyword, value) in keywords.iter_mut() {
            let here = format!("{path}/{}", self.redactor.text(keyword));
            match keyword.as_str() {
                keyword if MAPS.contains(&keyword) => self.named(value, &here, keyword == "properties"),
                keyword if SCHEMAS.contains(&keyword) => self.schema(value, &here, name),
                "default" | "examples" => {
                    if self.is_secret(value, name) {
                        self.refuse_or(&here, || dropped.push(keyword.clone()));
                    }
                }
                "const" | "enum" => {
                    let of_shape = !self.shapes.places("", value).is_empty();
                    if of_shape || self.rejects && self.is_secret(value, name) {
                        self.refused.push(here);
                    }
                }
                "pattern" => {
                    if !self.shapes.places("", value).is_empty() {
                        self.refused.push(here);
                    }
                }
                keyword => self.annotation(keyword, value, &here),
            }
        }
        for keyword in dropped {
            keywords.remove(&keyword);
        }
    }

    /// The names are what payloads must use.
    fn named(&mut self, schemas: &mut Value, path: &str, are_properties: bool) {
        let Value::Object(schemas) = schemas else { return };
        for (name, schema) in schemas.iter_mut() {
            let here = format!("{path}/{}", self.redactor.text(name));
            if self.shapes.finds(name) {
                self.refused.push(here.clone());
            }
            self.schema(schema, &here, are_properties.then_some(name.as_str()));
        }
    }

    /// A list is one of values of that name.
    fn is_secret(&self, value: &Value, name: Option<&str>) -> bool {
        let Some(name) = name else { return !self.redactor.places("", value).is_empty() };
        let is_secret = |value: &Value| !self.redactor.places("", &json!({ name: value })).is_empty();
        match value {
            Value::Array(values) => values.iter().any(is_secret),
            value => is_secret(value),
        }
    }

    /// Text for people, and keywords nobody knows.
    fn annotation(&mut self, keyword: &str, value: &mut Value, here: &str) {
        let mut shown = json!({ keyword: value });
        if self.redactor.places("", &shown).is_empty() {
            return;
        }
        let redactor = self.redactor;
        self.refuse_or(here, || {
            redactor.json(&mut shown);
            *value = shown[keyword].take();
        });
    }

    fn refuse_or(&mut self, place: &str, hide: impl FnOnce()) {
        if self.rejects { self.refused.push(place.to_owned()) } else { hide() }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::OnSecret, *};
    use leasehold_types::ProblemCode;

    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz";

    fn kept(mode: OnSecret, schema: &Value) -> Result<Value, Vec<String>> {
        let mut schema = schema.clone();
        match SecretPolicy::new(mode, None, None).unwrap().schema("arg_schema", &mut schema) {
            Ok(()) => Ok(schema),
            Err(problem) => {
                assert_eq!(problem.code, ProblemCode::SecretInPayload);
                assert!(!format!("{problem:?}").contains(TOKEN), "{problem:?}");
                Err(problem.errors.into_iter().map(|error| error.field).collect())
            }
        }
    }

    #[test]
    fn a_schema_that_speaks_of_passwords_has_none() {
        let schema = json!({
            "type": "object",
            "properties": {
                "password": {"type": "string", "title": "Password", "minLength": 8, "pattern": "^[^ ]+$"},
                "api_key": {"$ref": "#/$defs/token", "description": "As shown once.", "default": ""},
                "cookie": {"type": "array", "items": {"type": "string", "format": "uri"}},
            },
            "$defs": {"token": {"type": "string", "maxLength": 64}},
            "required": ["password", "api_key"],
            "additionalProperties": false,
        });
        for mode in [OnSecret::Allow, OnSecret::Redact, OnSecret::Reject] {
            assert_eq!(kept(mode, &schema), Ok(schema.clone()), "{mode:?}");
        }
    }

    #[test]
    fn what_holds_one_is_hidden_or_refused() {
        let schema = json!({
            "description": format!("Use {TOKEN}."),
            "properties": {
                "password": {"type": "string", "default": "hunter2-hunter2", "examples": ["correct horse"]},
                "note": {"anyOf": [{"type": "string", "examples": ["fine", TOKEN]}]},
                "rows": {"type": "integer", "default": 3, "x-token": "abcdef123456"},
            },
        });
        for mode in [OnSecret::Allow, OnSecret::Redact] {
            let expected = json!({
                "description": "Use ***REDACTED***.",
                "properties": {
                    "password": {"type": "string"},
                    "note": {"anyOf": [{"type": "string"}]},
                    "rows": {"type": "integer", "default": 3, "x-token": "***REDACTED***"},
                },
            });
            assert_eq!(kept(mode, &schema), Ok(expected), "{mode:?}");
        }
        let mut places = kept(OnSecret::Reject, &schema).unwrap_err();
        places.sort();
        let expected = [
            "arg_schema/description",
            "arg_schema/properties/note/anyOf/0/examples",
            "arg_schema/properties/password/default",
            "arg_schema/properties/password/examples",
            "arg_schema/properties/rows/x-token",
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn what_decides_which_payloads_fit_is_never_changed_silently() {
        let all = [OnSecret::Allow, OnSecret::Redact, OnSecret::Reject];
        for schema in [
            json!({"properties": {"note": {"const": TOKEN}}}),
            json!({"properties": {"note": {"enum": ["a", TOKEN]}}}),
            json!({"properties": {"note": {"pattern": format!("^{TOKEN}$")}}}),
            json!({"properties": {TOKEN: {"type": "string"}}}),
        ] {
            for mode in all {
                assert!(kept(mode, &schema).is_err(), "{mode:?} {schema}");
            }
        }
        // By its name alone a choice is no secret, unless payloads with that name are refused anyway.
        let choice = json!({"properties": {"cookie": {"enum": ["accept-all", "necessary-only"]}}});
        assert_eq!(kept(OnSecret::Allow, &choice), Ok(choice.clone()));
        assert_eq!(kept(OnSecret::Reject, &choice).unwrap_err(), ["arg_schema/properties/cookie/enum"]);
    }
}
