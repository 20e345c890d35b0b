//! Settings that are each understood but do not fit together. They stop nothing; whoever set them hears what wins.

use super::sources::Sources;

pub fn found_in(sources: &Sources) -> Vec<String> {
    let said = |name: &str| sources.found(name).map(|(value, _)| value.to_ascii_lowercase());
    let is = |name: &str, words: &[&str]| said(name).is_some_and(|value| words.contains(&value.as_str()));
    let on = |name: &str| is(name, &["true", "1", "yes", "on"]);
    let off = |name: &str| is(name, &["false", "0", "no", "off"]);
    let number = |name: &str, default: f64| said(name).and_then(|v| v.parse().ok()).unwrap_or(default);
    let lists = sources.family("JOBS_DOMAIN_ALLOWLIST");
    let listed = lists.iter().any(|(name, _)| name != "JOBS_DOMAIN_ALLOWLIST");
    let scoped = on("JOBS_DOMAIN_SCOPED_RBAC");
    let lease = number("JOBS_LEASE_SECONDS", 60.0);
    let checks: [(bool, &str); 13] = [
        (
            on("JOBS_SECRET_REJECT") && on("JOBS_SECRET_REDACT"),
            "JOBS_SECRET_REJECT and JOBS_SECRET_REDACT are both on: payloads with a secret are refused, nothing is redacted",
        ),
        (
            on("JOBS_REQUIRE_DOMAIN_FILTER") && !scoped,
            "JOBS_REQUIRE_DOMAIN_FILTER has no effect without JOBS_DOMAIN_SCOPED_RBAC",
        ),
        (on("JOBS_RBAC_FORCE") && !scoped, "JOBS_RBAC_FORCE has no effect without JOBS_DOMAIN_SCOPED_RBAC"),
        (listed && !scoped, "JOBS_DOMAIN_ALLOWLIST_… has no effect without JOBS_DOMAIN_SCOPED_RBAC"),
        (
            scoped && !listed,
            "JOBS_DOMAIN_SCOPED_RBAC is on and no JOBS_DOMAIN_ALLOWLIST_… is set: nobody but who governs sees any domain",
        ),
        (
            lists.iter().any(|(name, _)| name == "JOBS_DOMAIN_ALLOWLIST"),
            "JOBS_DOMAIN_ALLOWLIST has no effect alone: its name must end in a user's id or a key's prefix",
        ),
        (
            on("JOBS_TRUST_FORWARDED") && said("JOBS_TRUSTED_PROXIES").is_some(),
            "JOBS_TRUST_FORWARDED has no effect beside JOBS_TRUSTED_PROXIES: only proxies of the list are trusted",
        ),
        (
            on("JOBS_INSECURE_COOKIES"),
            "JOBS_INSECURE_COOKIES is on: by plain http, whoever can listen on the network can take over a session",
        ),
        (
            said("JOBS_LEASE_RENEW_SECONDS").is_some() && said("JOBS_HEARTBEAT_SECONDS").is_some(),
            "JOBS_LEASE_RENEW_SECONDS and JOBS_HEARTBEAT_SECONDS are both set: the first one wins",
        ),
        (
            number("JOBS_LEASE_RENEW_SECONDS", 0.0) > lease / 2.0,
            "JOBS_LEASE_RENEW_SECONDS is more than half of JOBS_LEASE_SECONDS: leases are renewed at half time instead",
        ),
        (
            off("JOBS_EVENTS_OUTBOX") || off("JOBS_EVENTS_ENABLED"),
            "events are always kept here: the dashboard and the streams live on them, so switching them off has no effect",
        ),
        (
            on("JOBS_EVENTS_OUTBOX") && off("JOBS_EVENTS_ENABLED"),
            "JOBS_EVENTS_OUTBOX is on and JOBS_EVENTS_ENABLED is off: events are kept",
        ),
        (
            on("JOBS_WEBHOOKS_ENABLED") && off("JOBS_EVENTS_OUTBOX"),
            "JOBS_WEBHOOKS_ENABLED needs the outbox, and JOBS_EVENTS_OUTBOX is off: events are kept all the same",
        ),
    ];
    checks.into_iter().filter(|(found, _)| *found).map(|(_, sentence)| sentence.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn warnings(env: &[(&str, &str)]) -> Vec<String> {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        found_in(&Sources { flags: BTreeMap::new(), env, file: BTreeMap::new() })
    }

    #[test]
    fn what_fits_together_is_not_mentioned() {
        assert_eq!(warnings(&[]), [""; 0]);
        let fine = [("JOBS_DOMAIN_SCOPED_RBAC", "true"), ("JOBS_DOMAIN_ALLOWLIST_AB12", "decks")];
        assert_eq!(warnings(&fine), [""; 0]);
    }

    #[test]
    fn what_does_not_is() {
        for env in [
            &[("JOBS_SECRET_REJECT", "true"), ("JOBS_SECRET_REDACT", "on")][..],
            &[("JOBS_RBAC_FORCE", "1")],
            &[("JOBS_DOMAIN_ALLOWLIST_AB12", "decks")],
            &[("JOBS_DOMAIN_SCOPED_RBAC", "true")],
            &[("JOBS_LEASE_SECONDS", "20"), ("JOBS_LEASE_RENEW_SECONDS", "15")],
            &[("JOBS_EVENTS_OUTBOX", "false")],
            &[("JOBS_TRUST_FORWARDED", "true"), ("JOBS_TRUSTED_PROXIES", "10.0.0.1")],
            &[("JOBS_INSECURE_COOKIES", "true")],
        ] {
            assert_eq!(warnings(env).len(), 1, "{env:?}");
        }
    }
}
