//! The values that one job was given as secrets: hidden wherever they turn up again, in whatever dress.

use super::{redactor::Redactor, values::is_harmless};
use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::Value;
use std::{fmt::Write, ops::Range, sync::Arc};

/// Shorter values would hide ordinary words.
const SHORTEST: usize = 6;
/// A payload with more secrets than this is searched for the first ones.
const MOST: usize = 1_000;

#[derive(Clone, Debug)]
pub struct Known(Arc<AhoCorasick>);

impl Known {
    /// None: the payload has no secrets that could be known again.
    pub fn of(redactor: &Redactor, payload: &Value) -> Option<Self> {
        let mut values = Vec::new();
        collect(redactor, payload, false, &mut values);
        values.truncate(MOST);
        if values.is_empty() {
            return None;
        }
        let dressed: Vec<String> = values.iter().flat_map(|value| dresses(value)).collect();
        let found = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(dressed).ok()?;
        Some(Self(Arc::new(found)))
    }

    pub fn find(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        spans.extend(self.0.find_iter(text).map(|found| found.range()));
    }
}

fn collect(redactor: &Redactor, value: &Value, secret: bool, values: &mut Vec<String>) {
    match value {
        Value::String(text) if secret && text.len() >= SHORTEST && !is_harmless(text) => {
            values.push(text.clone());
        }
        Value::Number(number) if secret && number.to_string().len() >= SHORTEST => {
            values.push(number.to_string());
        }
        Value::Array(items) => items.iter().for_each(|item| collect(redactor, item, secret, values)),
        Value::Object(map) => {
            let named_beside = redactor.names_its_value(map);
            for (key, item) in map {
                let beside = named_beside && super::redactor::is_value_word(key);
                collect(redactor, item, secret || beside || redactor.is_secret_name(key), values);
            }
        }
        _ => {}
    }
}

/// As it is, inside JSON, in an address, in base64, and line by line.
fn dresses(value: &str) -> Vec<String> {
    let json = Value::from(value).to_string();
    let mut encoded = String::new();
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            // Writing to a String cannot fail.
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    let mut all =
        vec![value.to_owned(), json[1..json.len() - 1].to_owned(), encoded, base64(value.as_bytes())];
    all.extend(value.lines().map(str::trim).filter(|line| line.len() >= 16).map(str::to_owned));
    all.sort();
    all.dedup();
    all
}

/// Without the end, which depends on what follows.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks_exact(3) {
        let bits = u32::from(group[0]) << 16 | u32::from(group[1]) << 8 | u32::from(group[2]);
        for shift in [18, 12, 6, 0] {
            text.push(char::from(LETTERS[((bits >> shift) & 63) as usize]));
        }
    }
    text
}
