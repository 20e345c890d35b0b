//! Secrets in payloads at the door: let in, blotted out, or refused.

use super::known::{NAMES, REDACTED, SHAPES, field_pattern};
use leasehold_types::{Problem, ProblemCode};
use regex::Regex;
use serde_json::{Map, Value};

/// Places named in one refusal.
const MOST_NAMED: usize = 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnSecret {
    #[default]
    Allow,
    /// `JOBS_SECRET_REDACT`: what is stored has `***REDACTED***` in its place.
    Redact,
    /// `JOBS_SECRET_REJECT`, which wins over redacting.
    Reject,
}

/// The default lets everything in.
#[derive(Clone, Debug, Default)]
pub struct SecretPolicy {
    on_secret: OnSecret,
    names: Option<Regex>,
    shapes: Vec<Regex>,
}

impl SecretPolicy {
    /// `deny_keys` and `patterns` replace ours when given. A pattern that cannot be understood is refused with
    /// the setting's name: skipping it would leave a hole nobody sees.
    pub fn new(
        on_secret: OnSecret,
        deny_keys: Option<&[String]>,
        patterns: Option<&[String]>,
    ) -> Result<Self, Problem> {
        let looks = on_secret != OnSecret::Allow;
        let ours: Vec<String> = SHAPES.iter().map(|shape| (*shape).to_owned()).collect();
        // What nobody will look for need not be compiled; what was given is checked all the same.
        let patterns = patterns.unwrap_or(if looks { &ours } else { &[] });
        let shapes = patterns.iter().map(|p| compile("JOBS_SECRET_PATTERNS", p)).collect::<Result<_, _>>()?;
        let names = match deny_keys {
            Some([]) => None,
            Some(keys) => Some(field_pattern(keys)),
            None => looks.then(|| field_pattern(&NAMES)),
        };
        let names = names.map(|pattern| compile("JOBS_SECRET_DENY_KEYS", &pattern)).transpose()?;
        Ok(Self { on_secret, names, shapes })
    }

    pub fn apply(&self, payload: &mut Value) -> Result<(), Problem> {
        match self.on_secret {
            OnSecret::Allow => Ok(()),
            OnSecret::Redact => {
                self.redact(payload);
                Ok(())
            }
            OnSecret::Reject => self.reject(payload),
        }
    }

    /// Names the places, never what stands there.
    fn reject(&self, payload: &Value) -> Result<(), Problem> {
        let mut places = Vec::new();
        self.find(payload, "payload", &mut places);
        if places.is_empty() {
            return Ok(());
        }
        let detail = format!("There seems to be a secret in {}. Nothing was enqueued.", places.join(", "));
        let message = "This looks like a secret; refer to it by name instead.";
        let problem = Problem::new(ProblemCode::SecretInPayload, detail);
        Err(places.into_iter().fold(problem, |problem, place| problem.with_field(place, message)))
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

    fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.blot(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(map) => {
                for (mut key, mut item) in std::mem::take(map) {
                    if self.is_denied(&key) && says_something(&item) {
                        item = Value::from(REDACTED);
                    } else {
                        self.redact(&mut item);
                    }
                    self.blot(&mut key);
                    Map::insert(map, key, item);
                }
            }
            _ => {}
        }
    }

    fn blot(&self, text: &mut String) {
        for shape in &self.shapes {
            if shape.is_match(text) {
                *text = shape.replace_all(text, REDACTED).into_owned();
            }
        }
    }

    fn is_secret(&self, text: &str) -> bool {
        self.shapes.iter().any(|shape| shape.is_match(text))
    }

    fn is_denied(&self, key: &str) -> bool {
        self.names.as_ref().is_some_and(|names| names.is_match(key))
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn policy(on_secret: OnSecret) -> SecretPolicy {
        SecretPolicy::new(on_secret, None, None).unwrap()
    }

    fn places(payload: Value) -> Vec<String> {
        match policy(OnSecret::Reject).apply(&mut payload.clone()) {
            Ok(()) => Vec::new(),
            Err(problem) => {
                assert_eq!(problem.code, ProblemCode::SecretInPayload);
                problem.errors.into_iter().map(|e| e.field).collect()
            }
        }
    }

    #[test]
    fn denied_keys_are_found_at_any_depth_and_in_any_case() {
        assert_eq!(places(json!({"a": [{"Api-Key": "k"}]})), ["payload/a/0/Api-Key"]);
        assert_eq!(places(json!({"AUTHORIZATION": {"scheme": "x"}})), ["payload/AUTHORIZATION"]);
        assert_eq!(places(json!({"db_password": 7, "token": null})), ["payload/db_password"]);
        assert!(places(json!({"max_tokens": 5, "author": "x", "secret": "", "cookie": false})).is_empty());
    }

    #[test]
    fn shapes_of_the_known_kinds_are_found_inside_strings() {
        for secret in [
            "sk-abcdefghijklmnopqrstuv",
            "AKIAABCDEFGHIJKLMNOP",
            "ghp_abcdefghijklmnopqrstuvwxyz",
            "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
            "AIzaabcdefghijklmnopqrstuvwxyz012345678",
            "xoxb-1234567890-abc",
        ] {
            assert_eq!(
                places(json!({"note": [format!("use {secret} here")]})),
                ["payload/note/0"],
                "{secret}"
            );
        }
    }

    #[test]
    fn a_refusal_never_spells_out_the_secret() {
        let secret = "ghp_abcdefghijklmnopqrstuvwxyz";
        let mut payload = json!({secret: 1, "password": "hunter2", "x": secret});
        let problem = policy(OnSecret::Reject).apply(&mut payload).unwrap_err();
        let said = format!("{problem:?}");
        assert!(!said.contains(secret) && !said.contains("hunter2"), "{said}");
        assert_eq!(problem.errors.len(), 3);
    }

    #[test]
    fn redacting_keeps_everything_else() {
        let mut payload =
            json!({"rows": 3, "token": "t", "list": ["a AKIAABCDEFGHIJKLMNOP b", {"pwd": [1]}]});
        policy(OnSecret::Redact).apply(&mut payload).unwrap();
        assert!(policy(OnSecret::Reject).apply(&mut payload).is_ok(), "what was blotted out may be retried");
        assert_eq!(
            payload,
            json!({"rows": 3, "token": REDACTED, "list": [format!("a {REDACTED} b"), {"pwd": REDACTED}]})
        );
    }

    #[test]
    fn own_keys_and_patterns_replace_ours() {
        let (keys, patterns) = (vec!["pin".to_owned()], vec![r"^\d{16}$".to_owned()]);
        let own = SecretPolicy::new(OnSecret::Reject, Some(&keys), Some(&patterns)).unwrap();
        assert!(own.apply(&mut json!({"password": "x"})).is_ok());
        assert!(own.apply(&mut json!({"PIN": 1234})).is_err());
        assert!(own.apply(&mut json!(["4111111111111111"])).is_err());
        assert!(policy(OnSecret::Allow).apply(&mut json!({"password": "x"})).is_ok());
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_refused() {
        let problem = SecretPolicy::new(OnSecret::Reject, None, Some(&["(?<=x)y".into()])).unwrap_err();
        assert!(problem.detail.contains("JOBS_SECRET_PATTERNS") && problem.detail.contains("(?<=x)y"));
    }
}
