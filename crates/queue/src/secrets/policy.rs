//! Secrets in payloads at the door: let in, blotted out, or refused. And on the way out: hidden, always.

use super::net::Net;
use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnSecret {
    #[default]
    Allow,
    /// `JOBS_SECRET_REDACT`: what is stored has `***REDACTED***` in its place.
    Redact,
    /// `JOBS_SECRET_REJECT`, which wins over redacting.
    Reject,
}

/// What is done about secrets at the door, and what is hidden on the way out. The default lets everything in and
/// hides what we know to be secret.
#[derive(Clone, Debug)]
pub struct SecretPolicy {
    on_secret: OnSecret,
    door: Net,
    /// Ours, and what the installation names beside.
    display: Net,
}

impl Default for SecretPolicy {
    fn default() -> Self {
        let display = Net::default().with_ours(true, true).widened();
        Self { on_secret: OnSecret::Allow, door: Net::default(), display }
    }
}

impl SecretPolicy {
    /// `deny_keys` and `patterns` replace ours at the door when given. A pattern that cannot be understood is refused
    /// with the setting's name: skipping it would leave a hole nobody sees.
    pub fn new(
        on_secret: OnSecret,
        deny_keys: Option<&[String]>,
        patterns: Option<&[String]>,
    ) -> Result<Self, Problem> {
        let given = Net::new(deny_keys.unwrap_or_default(), patterns.unwrap_or_default())?;
        let door = given.clone().with_ours(deny_keys.is_none(), patterns.is_none());
        Ok(Self { on_secret, door, display: given.with_ours(true, true).widened() })
    }

    pub fn apply(&self, payload: &mut Value) -> Result<(), Problem> {
        match self.on_secret {
            OnSecret::Allow => Ok(()),
            OnSecret::Redact => {
                self.door.blot_out(payload);
                Ok(())
            }
            OnSecret::Reject => self.reject(payload),
        }
    }

    /// Before anybody is shown it, whatever was let in.
    pub fn hide(&self, value: &mut Value) {
        self.display.blot_out(value);
    }

    /// Whether what stands under this name is hidden.
    pub fn hides(&self, name: &str) -> bool {
        self.display.is_denied(name)
    }

    /// Names the places, never what stands there.
    fn reject(&self, payload: &Value) -> Result<(), Problem> {
        let places = self.door.places(payload);
        if places.is_empty() {
            return Ok(());
        }
        let detail = format!("There seems to be a secret in {}. Nothing was enqueued.", places.join(", "));
        let message = "This looks like a secret; refer to it by name instead.";
        let problem = Problem::new(ProblemCode::SecretInPayload, detail);
        Err(places.into_iter().fold(problem, |problem, place| problem.with_field(place, message)))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::REDACTED, *};
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
    fn what_is_shown_never_has_a_secret_however_lax_the_door() {
        let (keys, patterns) = (vec!["pin".to_owned()], vec![r"\bcard-\d+".to_owned()]);
        let own = SecretPolicy::new(OnSecret::Allow, Some(&keys), Some(&patterns)).unwrap();
        for policy in [own.clone(), SecretPolicy::default()] {
            let mut shown =
                json!({"pwd": "x", "note": "key AKIAABCDEFGHIJKLMNOP", "rows": 3, "max_tokens": 9});
            policy.hide(&mut shown);
            let note = format!("key {REDACTED}");
            assert_eq!(shown, json!({"pwd": REDACTED, "note": note, "rows": 3, "max_tokens": 9}));
            assert!(policy.hides("db_password") && !policy.hides("author"));
            for name in
                ["api_keys", "passwords", "secret_value", "X-Auth-Token", "tokenValue", "cookie", "pwd"]
            {
                assert!(policy.hides(name), "{name}");
            }
            for name in ["rows", "seconds", "path", "pass_rate", "prompt_tokens", "max_tokens"] {
                assert!(!policy.hides(name), "{name}");
            }
        }
        let mut shown = json!({"PIN": 1234, "text": "card-99"});
        own.hide(&mut shown);
        assert_eq!(shown, json!({"PIN": REDACTED, "text": REDACTED}));
        assert!(own.hides("pin"));
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_refused() {
        let problem = SecretPolicy::new(OnSecret::Reject, None, Some(&["(?<=x)y".into()])).unwrap_err();
        assert!(problem.detail.contains("JOBS_SECRET_PATTERNS") && problem.detail.contains("(?<=x)y"));
    }
}
