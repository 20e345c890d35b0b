//! Secrets in payloads and results are masked on the server, before a page or an island sees them.

use super::json::MASK;
use serde_json::Value;

/// Keys whose values are secrets, compared without case, dashes and underscores.
const SECRET_PARTS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "authorization",
    "credential",
    "privatekey",
];

pub fn looks_secret(key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    // How many tokens a model has read is no secret.
    let counts_tokens = plain.ends_with("tokens");
    SECRET_PARTS.iter().any(|part| plain.contains(part) && !(counts_tokens && *part == "token"))
}

/// Replaces every value under a secret-looking key; how many were replaced.
pub fn mask(value: &mut Value) -> usize {
    match value {
        Value::Object(map) => map.iter_mut().map(|(key, inner)| mask_entry(key, inner)).sum(),
        Value::Array(items) => items.iter_mut().map(mask).sum(),
        _ => 0,
    }
}

fn mask_entry(key: &str, value: &mut Value) -> usize {
    // An empty or absent secret tells nothing, and seeing that it is absent helps.
    if looks_secret(key) && !matches!(value, Value::Null | Value::Bool(_)) {
        *value = Value::String(MASK.into());
        return 1;
    }
    mask(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_masked_at_any_depth() {
        let mut value = json!({
            "api_key": "k", "nested": [{"X-Auth-Token": "t", "rows": 3}], "Authorization": {"scheme": "x"},
            "password": null, "name": "plain",
        });
        assert_eq!(mask(&mut value), 3);
        assert_eq!(
            value,
            json!({
                "api_key": MASK, "nested": [{"X-Auth-Token": MASK, "rows": 3}], "Authorization": MASK,
                "password": null, "name": "plain",
            })
        );
    }

    #[test]
    fn ordinary_keys_are_left_alone() {
        for key in ["rows", "seconds", "path", "author", "pass_rate", "prompt_tokens", "max_tokens"] {
            assert!(!looks_secret(key), "{key}");
        }
    }
}
