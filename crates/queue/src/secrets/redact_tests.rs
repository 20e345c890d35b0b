use super::*;
use serde_json::json;

fn redacted(text: &str) -> String {
    Redactor::default().text(text).into_owned()
}

#[test]
fn every_rule_compiles() {
    assert_eq!(RULES.len(), 4 + SHAPES.len());
    assert!(crate::secrets::known::SECRET_NAME.is_some());
}

#[test]
fn named_secrets_lose_their_value_and_keep_their_name() {
    for (line, expected) in [
        ("password=hunter2", "password=***REDACTED***"),
        ("DB_PASSWORD: hunter2, next", "DB_PASSWORD: ***REDACTED***, next"),
        (r#"{"api_key": "abc def", "n": 1}"#, r#"{"api_key": ***REDACTED***, "n": 1}"#),
        ("accessToken='a b' rest", "accessToken=***REDACTED*** rest"),
        ("Authorization: Bearer abc.def.ghi", "Authorization: ***REDACTED***"),
        ("run --token abc123 --rows=4", "run --token ***REDACTED*** --rows=4"),
        ("url?token=abc&rows=4", "url?token=***REDACTED***&rows=4"),
    ] {
        assert_eq!(redacted(line), expected);
    }
}

#[test]
fn secrets_are_known_by_their_shape() {
    for line in [
        "postgres://app:s3cret@db/jobs",
        "key AKIAABCDEFGHIJKLMNOP used",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "using lh_ab12cd_0123456789abcdefXYZ",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
    ] {
        let seen = redacted(line);
        assert!(seen.contains(REDACTED), "{seen}");
        assert!(!seen.contains("s3cret") && !seen.contains("0123456789"), "{seen}");
    }
}

#[test]
fn ordinary_lines_stay_as_they_are() {
    for line in ["max_tokens=512", "1,200 rows written", "tokens: 5", "https://example.org:8080/a@b", ""] {
        assert_eq!(redacted(line), line);
    }
}

#[test]
fn values_given_as_secrets_are_blotted_out_anywhere() {
    let redactor = Redactor::for_payload(&json!({"login": {"password": "correct horse"}, "rows": "4000000"}));
    assert_eq!(redactor.text("trying correct horse now 4000000"), "trying ***REDACTED*** now 4000000");
}

#[test]
fn results_are_redacted_by_name_and_by_shape() {
    let result = json!({"rows": 4, "client_secret": "x", "log": ["password=abc"], "token": null});
    assert_eq!(
        Redactor::default().json(result),
        json!({"rows": 4, "client_secret": REDACTED, "log": ["password=***REDACTED***"], "token": null})
    );
}

#[test]
fn a_private_key_is_hidden_from_its_first_to_its_last_line() {
    let mut block = SecretBlock::default();
    let lines = ["a", "-----BEGIN RSA PRIVATE KEY-----", "MIIE", "-----END RSA PRIVATE KEY-----", "b"];
    assert_eq!(lines.map(|line| block.covers(line)), [false, true, true, true, false]);
    assert!(block.covers(r"-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----"));
    assert!(!block.covers("after"));
}
