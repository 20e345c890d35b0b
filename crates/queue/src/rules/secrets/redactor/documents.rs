//! JSON: whatever stands under a telling name, and what is secret in any text, keys included.

use super::Redactor;
use crate::secrets::{
    REDACTED,
    names::Announces,
    prefilter,
    shapes::SHORTEST_WITHOUT_LETTERS,
    values::{is_harmless, looks_random},
};
use serde_json::{Map, Value};
use std::borrow::Cow;

impl Redactor {
    /// Hides names' values and what is secret in any text, keys included.
    pub fn json(&self, value: &mut Value) {
        self.visit(value, &Path::root(""), &mut |_| {});
    }

    /// Hides the same, and names the places: `payload/a/0/Api-Key`.
    pub fn places(&self, root: &str, value: &Value) -> Vec<String> {
        let mut places = Vec::new();
        self.visit(&mut value.clone(), &Path::root(root), &mut |path| places.push(path.to_string()));
        places
    }

    fn visit(&self, value: &mut Value, path: &Path<'_>, found: &mut impl FnMut(&Path<'_>)) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(shown) = self.text(text) {
                    *text = shown;
                    found(path);
                }
            }
            Value::Array(items) => self.visit_list(items, path, found),
            Value::Object(map) => self.visit_map(map, path, found),
            _ => {}
        }
    }

    fn visit_list(&self, items: &mut [Value], path: &Path<'_>, found: &mut impl FnMut(&Path<'_>)) {
        let mut announced_by_the_one_before = false;
        for (i, item) in items.iter_mut().enumerate() {
            let here = path.with(Step::Index(i));
            // Arguments (`--token`, `x`) and pairs of a header (`Authorization`, `x`).
            let announces =
                item.as_str().is_some_and(|text| is_flag_or_header(text) && self.is_secret_name(text));
            if announced_by_the_one_before && says_something(item) && !announces {
                *item = Value::from(REDACTED);
                found(&here);
            } else {
                self.visit(item, &here, found);
            }
            announced_by_the_one_before = announces;
        }
    }

    fn visit_map(&self, map: &mut Map<String, Value>, path: &Path<'_>, found: &mut impl FnMut(&Path<'_>)) {
        let named_beside = self.names_its_value(map);
        let mut renamed = Vec::new();
        for (key, item) in map.iter_mut() {
            // A key may be the secret itself; then even its place must not be spelt out.
            let (shown, announces) = self.key(key);
            let here = path.with(Step::Name(&shown));
            let announces = match announces {
                Announces::Secret => true,
                Announces::Perhaps => item.as_str().is_some_and(looks_random),
                Announces::Nothing => named_beside && is_value_word(key),
            };
            if announces && says_something(item) {
                *item = Value::from(REDACTED);
                found(&here);
            } else {
                self.visit(item, &here, found);
            }
            if let Cow::Owned(shown) = &shown {
                renamed.push((key.clone(), shown.clone()));
                found(&here);
            }
        }
        let mut twins = 1;
        for (key, shown) in renamed {
            let item = map.remove(&key).unwrap_or_default();
            let mut name = shown.clone();
            while map.contains_key(&name) {
                twins += 1;
                name = format!("{shown} {twins}");
            }
            map.insert(name, item);
        }
    }

    /// As it may be shown, and what it says of its value. Most keys are done with after one look.
    fn key<'a>(&self, key: &'a str) -> (Cow<'a, str>, Announces) {
        let is_plain = self.known.is_none() && self.given.is_empty() && key.len() < SHORTEST_WITHOUT_LETTERS;
        if is_plain && prefilter::look(key).is_none() {
            return (Cow::Borrowed(key), Announces::Nothing);
        }
        (self.text(key), self.announces(key))
    }

    /// `{"name": "DB_PASSWORD", "value": "…"}`
    pub(in super::super) fn names_its_value(&self, map: &Map<String, Value>) -> bool {
        let name = |word: &str| map.get(word).and_then(Value::as_str);
        map.keys().any(|key| is_value_word(key))
            && ["name", "key", "field", "variable", "header", "Name", "Key"]
                .into_iter()
                .filter_map(name)
                .any(|name| self.is_secret_name(name))
    }
}

pub(in super::super) fn is_value_word(key: &str) -> bool {
    matches!(key, "value" | "val" | "content" | "data" | "Value")
}

fn is_flag_or_header(text: &str) -> bool {
    let header = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_header =
        text.contains('-') || matches!(text.to_ascii_lowercase().as_str(), "authorization" | "cookie");
    text.len() <= super::LONGEST_NAME && is_header && text.chars().all(header)
}

/// `"token": null` or `"password": false` gives nothing away, and what was hidden before is no secret.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => true,
        Value::String(text) => !is_harmless(text),
        Value::Array(items) => items.iter().any(says_something),
        Value::Object(map) => map.values().any(says_something),
    }
}

/// Where in a document one is.
struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    fn with(&'a self, step: Step<'a>) -> Self {
        Self { parent: Some(self), step }
    }
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}/")?;
        }
        match self.step {
            Step::Name(name) => f.write_str(name),
            Step::Index(index) => write!(f, "{index}"),
        }
    }
}
