//! Finds secrets in JSON: names that announce one, and shapes that are one.

use super::known::{NAMES, REDACTED, SHAPES, field_pattern, looks_secret};
use leasehold_types::Problem;
use regex::Regex;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Places named in one refusal.
const MOST_NAMED: usize = 20;

/// Catches nothing by default.
#[derive(Clone, Debug, Default)]
pub struct Net {
    names: Vec<Regex>,
    shapes: Vec<Regex>,
    /// Those we know are caught too.
    our_names: bool,
    our_shapes: bool,
    /// Also names that merely look like a secret's.
    wide: bool,
}

/// Compiled when first needed: that takes longer than everything else a short command does.
/// One that does not compile is caught by the policy's tests, not by a panic in a server.
static OUR_NAMES: LazyLock<Vec<Regex>> =
    LazyLock::new(|| Regex::new(&field_pattern(&NAMES)).into_iter().collect());
static OUR_SHAPES: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SHAPES.iter().filter_map(|shape| Regex::new(shape).ok()).collect());

impl Net {
    pub fn new(deny_keys: &[String], patterns: &[String]) -> Result<Self, Problem> {
        let names = if deny_keys.is_empty() { None } else { Some(field_pattern(deny_keys)) };
        let names = names.map(|pattern| compile("JOBS_SECRET_DENY_KEYS", &pattern));
        let shapes = patterns.iter().map(|pattern| compile("JOBS_SECRET_PATTERNS", pattern));
        Ok(Self {
            names: names.into_iter().collect::<Result<_, _>>()?,
            shapes: shapes.collect::<Result<_, _>>()?,
            ..Self::default()
        })
    }

    #[must_use]
    pub fn with_ours(self, names: bool, shapes: bool) -> Self {
        Self { our_names: names, our_shapes: shapes, ..self }
    }

    #[must_use]
    pub fn widened(self) -> Self {
        Self { wide: true, ..self }
    }

    fn names(&self) -> impl Iterator<Item = &Regex> {
        let ours = self.our_names.then(|| OUR_NAMES.iter());
        self.names.iter().chain(ours.into_iter().flatten())
    }

    fn shapes(&self) -> impl Iterator<Item = &Regex> {
        let ours = self.our_shapes.then(|| OUR_SHAPES.iter());
        self.shapes.iter().chain(ours.into_iter().flatten())
    }

    /// Where there seem to be secrets: `payload/a/0/Api-Key`.
    pub fn places(&self, payload: &Value) -> Vec<String> {
        let mut places = Vec::new();
        self.find(payload, "payload", &mut places);
        places
    }

    fn find(&self, value: &Value, path: &str, places: &mut Vec<String>) {
        if places.len() >= MOST_NAMED {
            return;
        }
        match value {
            Value::String(text) if self.is_secret(text) => places.push(path.to_owned()),
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.find(item, &format!("{path}/{i}"), places);
                }
            }
            Value::Object(map) => {
                for (key, item) in map {
                    // A key may be the secret itself; then even its place must not be spelt out.
                    if self.is_secret(key) {
                        places.push(format!("{path}/{REDACTED}"));
                    } else if self.is_denied(key) && says_something(item) {
                        places.push(format!("{path}/{key}"));
                    } else {
                        self.find(item, &format!("{path}/{key}"), places);
                    }
                }
            }
            _ => {}
        }
    }

    pub fn blot_out(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.blot(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.blot_out(item)),
            Value::Object(map) => {
                for (mut key, mut item) in std::mem::take(map) {
                    if self.is_denied(&key) && says_something(&item) {
                        item = Value::from(REDACTED);
                    } else {
                        self.blot_out(&mut item);
                    }
                    self.blot(&mut key);
                    Map::insert(map, key, item);
                }
            }
            _ => {}
        }
    }

    fn blot(&self, text: &mut String) {
        for shape in self.shapes() {
            if shape.is_match(text) {
                *text = shape.replace_all(text, REDACTED).into_owned();
            }
        }
    }

    fn is_secret(&self, text: &str) -> bool {
        self.shapes().any(|shape| shape.is_match(text))
    }

    pub fn is_denied(&self, key: &str) -> bool {
        self.names().any(|names| names.is_match(key)) || (self.wide && looks_secret(key))
    }
}

/// `"token": null` or `"password": false` gives nothing away, and what was blotted out before is no secret.
fn says_something(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(_)) && !matches!(value.as_str(), Some("" | REDACTED))
}

fn compile(setting: &str, pattern: &str) -> Result<Regex, Problem> {
    Regex::new(pattern).map_err(|error| {
        let why = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
        Problem::invalid(setting, format!("{setting}: “{pattern}” is not a pattern that can be used: {why}."))
    })
}
