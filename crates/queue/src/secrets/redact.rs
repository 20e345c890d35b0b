//! Secrets do not reach the log. Works on whole lines, so a secret cut in two by a pipe's chunks is still seen whole.
//!
//! Three nets: names that announce a secret (`password=…`), shapes that are one (`ghp_…`, `AKIA…`, PEM blocks), and
//! the very values this job was given as secrets.

use super::known::{NAMES, REDACTED, SHAPES, alternatives, is_secret_name};
use regex::Regex;
use serde_json::Value;
use std::{borrow::Cow, sync::LazyLock};

/// Shorter values would blot out ordinary words.
const SHORTEST_KNOWN: usize = 6;
/// A block that is never closed must not silence the log for ever.
const LONGEST_BLOCK: u32 = 200;

static RULES: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let names = alternatives(&NAMES);
    let named = format!(
        r#"(?i)\b((?:[\w.-]*?)(?:{names})\\?["']?\s*[:=]\s*)(\\?"[^"]*"?|'[^']*'?|(?:bearer|basic)\s+[^\s,;"']+|[^\s,;&"']+)"#
    );
    let flag = format!(r"(?i)(--?(?:[\w-]*-)?(?:{names})\s+)([^\s-]\S*)");
    let worded = [
        (r"\b([a-z][a-z0-9+.-]*://[^\s:/@]*):[^\s@/]+@", "$1:***REDACTED***@"),
        (named.as_str(), "${1}***REDACTED***"),
        (flag.as_str(), "${1}***REDACTED***"),
        (r"(?i)\b(bearer\s+)[a-z0-9._~+/=-]{8,}", "${1}***REDACTED***"),
    ];
    let rules = worded.into_iter().chain(SHAPES.into_iter().map(|shape| (shape, REDACTED)));
    // A rule that does not compile is caught by the test below, not by a panic in a worker.
    rules.filter_map(|(pattern, with)| Some((Regex::new(pattern).ok()?, with))).collect()
});

/// Blots out secrets; knows the secrets of one job.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    known: Vec<String>,
}

impl Redactor {
    /// Values of secret-looking properties of the payload are blotted out wherever they show up.
    pub fn for_payload(payload: &Value) -> Self {
        let mut known = Vec::new();
        collect_known(payload, false, &mut known);
        // A secret that contains another must go first.
        known.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { known }
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.known {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), REDACTED));
            }
        }
        for (regex, with) in RULES.iter() {
            if let Cow::Owned(changed) = regex.replace_all(&text, *with) {
                text = Cow::Owned(changed);
            }
        }
        text
    }

    pub fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.json(item)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(key, item)| {
                    let hide = is_secret_name(&key) && !item.is_null();
                    let item = if hide { Value::from(REDACTED) } else { self.json(item) };
                    (key, item)
                })
                .collect(),
            plain => plain,
        }
    }
}

fn collect_known(value: &Value, secret: bool, known: &mut Vec<String>) {
    match value {
        Value::String(text) if secret && text.len() >= SHORTEST_KNOWN => known.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_known(item, secret, known)),
        Value::Object(map) => {
            map.iter().for_each(|(key, item)| collect_known(item, secret || is_secret_name(key), known));
        }
        _ => {}
    }
}

/// Follows one stream through blocks that are secret as a whole.
#[derive(Debug, Default)]
pub struct SecretBlock {
    lines_inside: u32,
}

impl SecretBlock {
    /// Whether this line belongs to a private key.
    pub fn covers(&mut self, line: &str) -> bool {
        let edge = line.contains("PRIVATE KEY-----");
        if edge && line.contains("-----BEGIN") {
            // A key on one line, as in an escaped string, ends where it begins.
            self.lines_inside = u32::from(!line.contains("-----END"));
            return true;
        }
        if self.lines_inside == 0 {
            return false;
        }
        self.lines_inside += 1;
        if edge || self.lines_inside > LONGEST_BLOCK {
            self.lines_inside = 0;
        }
        true
    }
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
