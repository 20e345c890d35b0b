//! Secrets at the door: let in, hidden, or refused. And on the way out: hidden, always.

use super::Redactor;
use hmac::{Hmac, KeyInit, Mac};
use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;
use sha2::Sha256;

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

/// What is done about secrets at the door, and what is hidden everywhere else. The default lets payloads in as they are
/// and hides what we know to be secret.
#[derive(Clone, Debug, Default)]
pub struct SecretPolicy {
    on_secret: OnSecret,
    door: Redactor,
    /// Ours, and what the installation names beside.
    all: Redactor,
}

impl SecretPolicy {
    /// `deny_keys` and `patterns` replace ours at the door when given; everywhere else they are added. A pattern that
    /// cannot be understood is refused with the setting's name.
    pub fn new(
        on_secret: OnSecret,
        deny_keys: Option<&[String]>,
        patterns: Option<&[String]>,
    ) -> Result<Self, Problem> {
        let all = Redactor::new(deny_keys.unwrap_or_default(), patterns.unwrap_or_default())?;
        let door = all.clone().with_ours(deny_keys.is_none(), patterns.is_none());
        Ok(Self { on_secret, door, all })
    }

    /// What hides secrets in everything that is shown, logged, or kept of what a worker says.
    pub fn redactor(&self) -> &Redactor {
        &self.all
    }

    pub(super) fn door(&self) -> &Redactor {
        &self.door
    }

    pub(super) fn rejects(&self) -> bool {
        self.on_secret == OnSecret::Reject
    }

    /// The same policy for one job: what its payload holds as a secret is one everywhere else, too.
    #[must_use]
    pub fn knowing(&self, payload: &Value) -> Self {
        let all = self.all.knowing(payload);
        // Where the door has names of its own, what it lets in under others is no secret to it.
        let door =
            if self.door.has_our_names() { self.door.sharing(&all) } else { self.door.knowing(payload) };
        Self { on_secret: self.on_secret, door, all }
    }

    /// A document that is about to be kept; `root` is what its sender calls it.
    pub fn apply(&self, root: &str, value: &mut Value) -> Result<(), Problem> {
        match self.on_secret {
            OnSecret::Allow => Ok(()),
            OnSecret::Redact => {
                self.door.json(value);
                Ok(())
            }
            OnSecret::Reject => refusal(self.door.places(root, value)),
        }
    }

    /// What a worker needs back later: as it is where secrets are let in, else without them. It is never refused.
    pub fn keep_for_worker(&self, value: &mut Value) {
        if self.on_secret != OnSecret::Allow {
            self.door.json(value);
        }
    }

    /// A key or an id that is about to be kept. It is never kept with a secret in it, whatever the mode: nobody needs it
    /// in clear. Equal ones stay equal.
    pub fn id(&self, field: &str, value: String, hash: &KeyHash) -> Result<String, Problem> {
        if self.on_secret == OnSecret::Reject && self.door.finds(&value) {
            refusal(vec![field.to_owned()])?;
        }
        Ok(if self.all.finds(&value) { hash.of(&value) } else { value })
    }

    /// Free text of a caller that is about to be kept: a reason, a label.
    pub fn words(&self, field: &str, text: &str) -> Result<String, Problem> {
        if self.on_secret == OnSecret::Reject && self.door.finds(text) {
            refusal(vec![field.to_owned()])?;
        }
        Ok(self.all.text(text).into_owned())
    }

    /// The name of something that others call by it: a worker, an event, a person, a key. It is refused in every mode,
    /// when it has the shape of a secret; words such as `password` may well be part of a name.
    pub fn name(&self, field: &str, name: &str) -> Result<(), Problem> {
        Self::refuse_name(self.all.finds_shape(name), field)
    }

    /// The name a program gives itself: nobody needs `password=…` in one.
    pub fn program_name(&self, field: &str, name: &str) -> Result<(), Problem> {
        Self::refuse_name(self.all.finds(name), field)
    }

    fn refuse_name(is_secret: bool, field: &str) -> Result<(), Problem> {
        if !is_secret {
            return Ok(());
        }
        let message = "This looks like a secret, not like a name. Nothing was changed.";
        Err(Problem::new(ProblemCode::SecretInPayload, message).with_field(field, message))
    }

    /// Before anybody is shown it, whatever was let in.
    pub fn hide(&self, value: &mut Value) {
        self.all.json(value);
    }

    pub fn hide_text(&self, text: &mut String) {
        if let std::borrow::Cow::Owned(shown) = self.all.text(text) {
            *text = shown;
        }
    }

    /// Whether what stands under this name is hidden.
    pub fn hides(&self, name: &str) -> bool {
        self.all.is_secret_name(name)
    }

    /// A complaint about a document, without what it quotes of it.
    pub fn problem(&self, mut problem: Problem) -> Problem {
        self.hide_text(&mut problem.detail);
        for error in &mut problem.errors {
            self.hide_text(&mut error.message);
            self.hide_text(&mut error.field);
        }
        problem
    }
}

/// Names the places, never what stands there.
pub(super) fn refusal(mut places: Vec<String>) -> Result<(), Problem> {
    if places.is_empty() {
        return Ok(());
    }
    places.truncate(MOST_NAMED);
    let detail = format!("There seems to be a secret in {}. Nothing was changed.", places.join(", "));
    let message = "This looks like a secret; refer to it by name instead.";
    let problem = Problem::new(ProblemCode::SecretInPayload, detail);
    Err(places.into_iter().fold(problem, |problem, place| problem.with_field(place, message)))
}

/// Stands for keys and ids that must not be kept as they are: the same for equal ones, in every process that shares
/// the database, and not to be guessed without the installation's secret.
#[derive(Clone)]
pub struct KeyHash(Hmac<Sha256>);

impl KeyHash {
    pub fn new(secret: &str) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let key = Hmac::new_from_slice(secret.as_bytes()).expect("a key of any length");
        Self(key)
    }

    pub fn of(&self, text: &str) -> String {
        let mut mac = self.0.clone();
        mac.update(text.as_bytes());
        let hex: String =
            mac.finalize().into_bytes().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        format!("redacted-{hex}")
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
        match policy(OnSecret::Reject).apply("payload", &mut payload.clone()) {
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
        let problem = policy(OnSecret::Reject).apply("payload", &mut payload).unwrap_err();
        let said = format!("{problem:?}");
        assert!(!said.contains(secret) && !said.contains("hunter2"), "{said}");
        assert_eq!(problem.errors.len(), 3);
    }

    #[test]
    fn redacting_keeps_everything_else() {
        let mut payload =
            json!({"rows": 3, "token": "t", "list": ["a AKIAABCDEFGHIJKLMNOP b", {"pwd": [1]}]});
        policy(OnSecret::Redact).apply("payload", &mut payload).unwrap();
        assert!(
            policy(OnSecret::Reject).apply("payload", &mut payload).is_ok(),
            "what was blotted out may be retried"
        );
        assert_eq!(
            payload,
            json!({"rows": 3, "token": REDACTED, "list": [format!("a {REDACTED} b"), {"pwd": REDACTED}]})
        );
    }

    #[test]
    fn what_a_worker_needs_back_is_refused_in_no_mode() {
        let sent = || json!({"page": 4, "note": "AKIAABCDEFGHIJKLMNOP"});
        let kept = |on_secret| {
            let mut value = sent();
            policy(on_secret).keep_for_worker(&mut value);
            value
        };
        assert_eq!(kept(OnSecret::Allow), sent());
        for mode in [OnSecret::Redact, OnSecret::Reject] {
            assert_eq!(kept(mode), json!({"page": 4, "note": REDACTED}));
        }
    }

    #[test]
    fn own_keys_and_patterns_replace_ours() {
        let (keys, patterns) = (vec!["pin".to_owned()], vec![r"^\d{16}$".to_owned()]);
        let own = SecretPolicy::new(OnSecret::Reject, Some(&keys), Some(&patterns)).unwrap();
        assert!(own.apply("payload", &mut json!({"password": "x"})).is_ok());
        assert!(own.apply("payload", &mut json!({"PIN": 1234})).is_err());
        assert!(own.apply("payload", &mut json!(["4111111111111111"])).is_err());
        assert!(policy(OnSecret::Allow).apply("payload", &mut json!({"password": "x"})).is_ok());
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

    #[test]
    fn an_id_with_a_secret_in_it_is_never_kept_and_equal_ones_stay_equal() {
        let hash = KeyHash::new("of the installation");
        let secret = format!("sync:{}{}", "ghp_", "a1".repeat(18));
        for mode in [OnSecret::Allow, OnSecret::Redact] {
            let id = |value: &str| policy(mode).id("dedupe_key", value.to_owned(), &hash).unwrap();
            assert_eq!(id("import-42"), "import-42");
            assert_eq!(id(&secret), id(&secret));
            assert_ne!(id(&secret), id(&format!("{secret}2")));
            assert!(id(&secret).starts_with("redacted-") && id(&secret).len() == 41);
        }
        assert_ne!(hash.of("a"), KeyHash::new("another's").of("a"));
        let problem = policy(OnSecret::Reject).id("dedupe_key", secret, &hash).unwrap_err();
        assert_eq!((problem.code, &*problem.errors[0].field), (ProblemCode::SecretInPayload, "dedupe_key"));
    }

    #[test]
    fn free_text_is_refused_or_kept_without_its_secret() {
        let text = "because ghp_abcdefghijklmnopqrstuvwxyz";
        for mode in [OnSecret::Allow, OnSecret::Redact] {
            assert_eq!(policy(mode).words("reason", text).unwrap(), format!("because {REDACTED}"));
        }
        let problem = policy(OnSecret::Reject).words("reason", text).unwrap_err();
        assert_eq!((problem.code, &*problem.errors[0].field), (ProblemCode::SecretInPayload, "reason"));
        assert_eq!(policy(OnSecret::Reject).words("reason", "a duplicate").unwrap(), "a duplicate");
    }

    #[test]
    fn a_name_that_is_a_secret_is_refused_in_every_mode() {
        let (token, named) = ("ghp_abcdefghijklmnopqrstuvwxyz", "password=hunter22");
        for mode in [OnSecret::Allow, OnSecret::Redact, OnSecret::Reject] {
            let policy = policy(mode);
            for problem in [policy.name("name", token), policy.program_name("name", token)] {
                let problem = problem.unwrap_err();
                assert_eq!((problem.code, &*problem.errors[0].field), (ProblemCode::SecretInPayload, "name"));
                assert!(!format!("{problem:?}").contains(token), "{problem:?}");
            }
            assert!(policy.name("name", named).is_ok(), "words may be part of a name");
            assert!(policy.program_name("name", named).is_err(), "but not of one a program gives itself");
        }
    }

    #[test]
    fn what_a_payload_holds_as_a_secret_is_one_everywhere() {
        let policy = policy(OnSecret::Redact).knowing(&json!({"login": {"password": "correct horse"}}));
        let mut metadata = json!({"note": "opened by correct horse"});
        policy.apply("metadata", &mut metadata).unwrap();
        assert_eq!(metadata, json!({"note": format!("opened by {REDACTED}")}));
        assert!(policy.id("k", "correct horse".into(), &KeyHash::new("x")).unwrap().starts_with("redacted-"));
    }
}
