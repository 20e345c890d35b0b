use super::*;
use crate::secrets::{KeyBlock, OnSecret, REDACTED, Redactor, SecretPolicy};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

#[test]
fn the_corpus_is_large_and_without_repetitions() {
    let cores: BTreeSet<_> = secrets().into_iter().map(|secret| secret.core).collect();
    assert!(cores.len() >= 200, "{}", cores.len());
    assert_eq!(cores.len(), secrets().len());
    assert!(harmless().len() >= 200, "{}", harmless().len());
}

#[test]
fn every_secret_is_found_in_text() {
    let redactor = Redactor::default();
    for secret in secrets() {
        for text in [
            secret.text.clone(),
            format!("at 12:00 {} and so on", secret.text),
            format!("[{}]", secret.text),
            format!("first line\n{}\nlast line", secret.text),
        ] {
            let shown = redactor.text(&text);
            assert!(!shown.contains(&secret.core), "{}: {text} → {shown}", secret.kind);
            assert_eq!(redactor.text(&shown), shown, "hidden once is hidden for good: {}", secret.kind);
        }
    }
}

#[test]
fn every_secret_is_found_in_json_wherever_it_stands() {
    let policy = SecretPolicy::new(OnSecret::Reject, None, None).unwrap();
    for secret in secrets() {
        let text = &secret.text;
        for value in [
            json!({"note": text}),
            json!({"deep": [[{"note": format!("see {text} there")}]]}),
            json!({text.clone(): 1}),
            json!({"config": json!({"note": text}).to_string()}),
        ] {
            let mut shown = value.clone();
            Redactor::default().json(&mut shown);
            assert!(!shown.to_string().contains(&secret.core), "{}: {value} → {shown}", secret.kind);
            let refused = policy.apply("payload", &mut value.clone()).unwrap_err();
            let told = format!("{refused:?}");
            assert!(!told.contains(&secret.core), "{}: {told}", secret.kind);
        }
    }
}

#[test]
fn every_secret_under_a_telling_name_is_found_again() {
    for (n, name) in ["password", "apiKey", "X-Auth-Token", "client_secret"].into_iter().enumerate() {
        let value = letters(ALPHANUMERIC, 12, 70 + n);
        let redactor = Redactor::default().knowing(&json!({"login": {name: value.clone()}}));
        let said = format!("it was {value} and {value}");
        assert_eq!(redactor.text(&said), format!("it was {REDACTED} and {REDACTED}"));
    }
    let payload = json!({"env": [{"name": "DB_PASSWORD", "value": "a \"b\" &ü6"}]});
    let redactor = Redactor::default().knowing(&payload);
    for dressed in [r#"a "b" &ü6"#, r#"a \"b\" &ü6"#, "a%20%22b%22%20%26%C3%BC6"] {
        assert_eq!(redactor.text(&format!("say {dressed}!")), format!("say {REDACTED}!"), "{dressed}");
    }
}

#[test]
fn harmless_texts_stay_as_they_are() {
    let (redactor, strict) = (Redactor::default(), SecretPolicy::new(OnSecret::Reject, None, None).unwrap());
    let mut block = KeyBlock::default();
    for text in harmless() {
        assert_eq!(redactor.text(&text), text);
        for value in [json!({"note": text}), json!([[format!("so: {text}, yes")]])] {
            assert_eq!(strict.apply("payload", &mut value.clone()), Ok(()), "{value}");
        }
        assert!(!block.covers(&text), "{text}");
    }
}

#[test]
fn harmless_names_stay_as_they_are() {
    let value = json!({
        "max_tokens": 512, "token_count": 4, "author": "Ann", "keyboard": "de", "secretary": "Bob",
        "password_reset_url": "https://example.org/reset", "tokens": 3, "cookie_policy": "strict",
        "required": ["password", "email"], "token": null, "password": false, "secret": "", "cookies": [],
        "key": "value", "args": ["--rows", "3", "-v"], "headers": [["Accept", "text/html"]],
        "api_key": "${API_KEY}", "has_password": true, "auth": "basic", "pass": "first"
    });
    let mut shown = value.clone();
    Redactor::default().json(&mut shown);
    assert_eq!(shown, value);
}

#[test]
fn names_in_json_hide_whatever_stands_under_them() {
    let mut shown = json!({
        "db": {"Password": 7}, "tokens": {"refresh_token": ["a"]}, "args": ["run", "--api-key", "k", "x"],
        "headers": [["Authorization", "Basic x"], ["Cookie", "a=b"]], "env": {"name": "S3_SECRET", "value": {"a": 1}},
        "auth": "dXNlcjpwYXNzd29yZDE=", "credentials": {"user": "ann"}
    });
    Redactor::default().json(&mut shown);
    let expected = json!({
        "db": {"Password": REDACTED}, "tokens": {"refresh_token": REDACTED},
        "args": ["run", "--api-key", REDACTED, "x"],
        "headers": [["Authorization", REDACTED], ["Cookie", REDACTED]],
        "env": {"name": "S3_SECRET", "value": REDACTED}, "auth": REDACTED, "credentials": REDACTED
    });
    assert_eq!(shown, expected);
}

#[test]
fn what_is_hidden_keeps_what_stands_around_it() {
    for (text, expected) in [
        ("DB_PASSWORD: hunter2, next", "DB_PASSWORD: *, next"),
        (r#"{"api_key": "abc def", "n": 1}"#, r#"{"api_key": "*", "n": 1}"#),
        ("accessToken='a b' rest", "accessToken='*' rest"),
        ("Authorization: Bearer abc.def.ghi", "Authorization: *"),
        ("run --token abc123 --rows=4", "run --token * --rows=4"),
        ("url?token=abc&rows=4", "url?token=*&rows=4"),
        ("postgres://app:s3cret@db/jobs", "postgres://app:*@db/jobs"),
        ("curl -H 'Cookie: a=1; b=2' https://x", "curl -H 'Cookie: *' https://x"),
        ("Cookie: a=1; b=2\nHost: x", "Cookie: *\nHost: x"),
        ("ann's token=abc.", "ann's token=*"),
        ("ü password=ü€x é", "ü password=* é"),
    ] {
        assert_eq!(Redactor::default().text(text), expected.replace('*', REDACTED), "{text}");
    }
}

#[test]
fn names_and_patterns_of_the_installation_are_found_in_text_too() {
    let redactor = Redactor::new(&["card_pin".into(), "pin".into()], &[r"\bcard-\d+".into()]).unwrap();
    assert_eq!(
        redactor.text("cardPin=1234 spin=3 for card-99"),
        format!("cardPin={REDACTED} spin=3 for {REDACTED}")
    );
    assert!(redactor.is_secret_name("user-pin") && !redactor.is_secret_name("spin"));
}

/// The shortest of many runs: the others were interrupted.
fn shortest(mut work: impl FnMut()) -> Duration {
    (0..200)
        .map(|_| {
            let began = Instant::now();
            work();
            began.elapsed()
        })
        .min()
        .unwrap_or_default()
}

#[test]
fn an_ordinary_payload_costs_little_beside_reading_it() {
    let rows: Vec<Value> = (0..12)
        .map(|n| json!({"id": n, "title": "Harbour lights at dusk", "path": "/var/lib/app/in.csv", "size": 4_096}))
        .collect();
    let text = json!({"rows": rows, "note": "Imported by the nightly run"}).to_string();
    let value: Value = serde_json::from_str(&text).unwrap();
    let redactor = Redactor::default();
    let parse = shortest(|| assert!(serde_json::from_str::<Value>(&text).is_ok()));
    let as_text = shortest(|| assert!(!redactor.finds(&text)));
    let mut copy = value.clone();
    let as_json = shortest(|| redactor.json(&mut copy));
    assert_eq!(copy, value);
    let ratio = |time: Duration| time.as_secs_f64() / parse.as_secs_f64();
    println!(
        "{} bytes: parsed in {parse:?}, text {:.2}, JSON {:.2} of that",
        text.len(),
        ratio(as_text),
        ratio(as_json)
    );
    assert!(ratio(as_json) < 20.0 && ratio(as_text) < 10.0);
}

#[test]
fn time_grows_with_the_length_and_no_faster() {
    let redactor = Redactor::default();
    for unit in [
        "password",
        "pass.",
        "token=",
        "://a:",
        "-----BEGIN ",
        "key-",
        "\\\"",
        "password=a,",
        "cookie: a=b;",
        "{\"a\":",
    ] {
        let time = |times: usize| {
            let text = unit.repeat(times / unit.len());
            (0..3)
                .map(|_| {
                    let began = Instant::now();
                    redactor.text(&text);
                    began.elapsed()
                })
                .min()
                .unwrap()
        };
        let (short, long) = (time(20_000).max(Duration::from_micros(50)), time(160_000));
        assert!(long < short * 8 * 6, "{unit}: {short:?} → {long:?}");
    }
}

/// Pieces that begin, end and bend what is read, in any order.
const PIECES: &[&str] = &[
    "password",
    "=",
    ":",
    " ",
    "\"",
    "'",
    "\\",
    "ü",
    "🚀",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    "://",
    "@",
    "a1B2c3D4",
    "-u",
    "--token",
    "Cookie",
    "Authorization",
    "Basic ",
    ";",
    ",",
    "&",
    "\n",
    "%3D",
    "value",
    "name",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "${",
    "***REDACTED***",
    "key",
    "\u{202e}",
    "0",
    "/",
    "?",
];

proptest::proptest! {
    #[test]
    fn any_text_can_be_read_and_hiding_never_shows_more(picks in proptest::collection::vec(0..PIECES.len(), 0..40)) {
        let text: String = picks.into_iter().map(|i| PIECES[i]).collect();
        let redactor = Redactor::default().knowing(&json!({"token": "a1B2c3D4"}));
        let shown = redactor.text(&text).into_owned();
        assert!(!shown.contains("a1B2c3D4"), "{text} → {shown}");
        let mut value = json!({"note": text, text.clone(): [text.clone()]});
        redactor.json(&mut value);
        assert!(!value.to_string().contains("a1B2c3D4"));
        let mut block = KeyBlock::default();
        for line in text.lines() {
            block.covers(line);
        }
    }
}
