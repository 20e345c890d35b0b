//! A call as the line of curl that does the same. The key stays a variable: a line is easily copied to others.

use super::{Target, call::Call};

pub fn line(target: &Target, call: &Call) -> String {
    let mut words = vec!["curl -sS".to_owned()];
    if call.method != "GET" {
        words.push(format!("-X {}", call.method));
    }
    words.push(quoted(&call.url(&target.url)));
    words.push("-H \"X-API-KEY: $LEASEHOLD_API_KEY\"".to_owned());
    if let Some(tenant) = &target.tenant {
        words.push(format!("-H {}", quoted(&format!("X-Tenant: {tenant}"))));
    }
    if call.confirmed {
        words.push("-H 'X-Confirm: true'".to_owned());
    }
    if let Some(body) = &call.body {
        words.push("-H 'Content-Type: application/json'".to_owned());
        words.push(format!("--data-raw {}", quoted(&body.to_string())));
    }
    words.join(" ")
}

/// One word for a shell, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::process::Command;

    fn target() -> Target {
        Target { url: "http://127.0.0.1:3000".into(), tenant: Some("it's".into()), curl: true }
    }

    #[test]
    fn a_line_keeps_the_key_a_variable() {
        let call = Call::post("/jobs/prune", json!({"dry_run": false})).confirmed(true);
        let expected = "curl -sS -X POST 'http://127.0.0.1:3000/api/v1/jobs/prune' \
            -H \"X-API-KEY: $LEASEHOLD_API_KEY\" -H 'X-Tenant: it'\\''s' -H 'X-Confirm: true' \
            -H 'Content-Type: application/json' --data-raw '{\"dry_run\":false}'";
        assert_eq!(line(&target(), &call), expected);
    }

    /// A shell sees exactly the words that were meant, and nothing is run.
    #[test]
    fn a_shell_takes_a_hostile_payload_as_one_word() {
        let hostile = "a'b\"c $(touch pwned) `id` \\ \n !! ; rm -rf * # é";
        let call = Call::post("/jobs", json!({"payload": {"text": hostile}}));
        let line = line(&target(), &call).replacen("curl", "printf '%s\\0'", 1);
        let said =
            Command::new("sh").args(["-c", &line]).env("LEASEHOLD_API_KEY", "lh_a_b c").output().unwrap();
        let words: Vec<_> = said.stdout.split(|byte| *byte == 0).collect();
        let body: serde_json::Value = serde_json::from_slice(words[words.len() - 2]).unwrap();
        assert_eq!(body["payload"]["text"], hostile);
        assert!(
            words.contains(&b"X-API-KEY: lh_a_b c".as_slice())
                && words.contains(&b"X-Tenant: it's".as_slice())
        );
    }
}
