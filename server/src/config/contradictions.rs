//! Settings that are each understood but do not fit together. Whoever set them hears what wins; where protection would
//! be the loser, the start stops instead.

use super::sources::Sources;
use leasehold_types::Problem;

/// Settings somebody relies on for protection that would have no effect beside the others.
pub fn check(sources: &Sources) -> Result<(), Problem> {
    let said = |name: &str| sources.found(name).map(|(value, _)| value.to_ascii_lowercase());
    let on = |name: &str| said(name).is_some_and(|v| matches!(v.as_str(), "true" | "1" | "yes" | "on"));
    let refused = |name: &str, why: &str| Err(Problem::invalid(name, format!("{name} has no effect {why}.")));
    for (name, _) in sources.family("JOBS_DOMAIN_ALLOWLIST") {
        if name == "JOBS_DOMAIN_ALLOWLIST" {
            return refused(&name, "alone: its name must end in a user's id or a key's prefix");
        }
        if !on("JOBS_DOMAIN_SCOPED_RBAC") {
            return refused(&name, "without JOBS_DOMAIN_SCOPED_RBAC; switch that on, or remove the list");
        }
    }
    for name in ["JOBS_REQUIRE_DOMAIN_FILTER", "JOBS_RBAC_FORCE"] {
        if on(name) && !on("JOBS_DOMAIN_SCOPED_RBAC") {
            return refused(name, "without JOBS_DOMAIN_SCOPED_RBAC; switch that on, or remove the setting");
        }
    }
    Ok(())
}

pub fn found_in(sources: &Sources) -> Vec<String> {
    let said = |name: &str| sources.found(name).map(|(value, _)| value.to_ascii_lowercase());
    let is = |name: &str, words: &[&str]| said(name).is_some_and(|value| words.contains(&value.as_str()));
    let on = |name: &str| is(name, &["true", "1", "yes", "on"]);
    let off = |name: &str| is(name, &["false", "0", "no", "off"]);
    let number = |name: &str, default: f64| said(name).and_then(|v| v.parse().ok()).unwrap_or(default);
    let listed = !sources.family("JOBS_DOMAIN_ALLOWLIST").is_empty();
    let scoped = on("JOBS_DOMAIN_SCOPED_RBAC");
    let lease = number("JOBS_LEASE_SECONDS", 60.0);
    let checks: [(bool, &str); 8] = [
        (
            on("JOBS_SECRET_REJECT") && on("JOBS_SECRET_REDACT"),
            "JOBS_SECRET_REJECT and JOBS_SECRET_REDACT are both on: payloads with a secret are refused, nothing is redacted",
        ),
        (
            scoped && !listed,
            "JOBS_DOMAIN_SCOPED_RBAC is on and no JOBS_DOMAIN_ALLOWLIST_… is set: nobody but who governs sees any domain",
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

    fn sources(env: &[(&str, &str)]) -> Sources {
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Sources { flags: BTreeMap::new(), env, file: BTreeMap::new() }
    }

    #[test]
    fn what_fits_together_is_not_mentioned() {
        let fine = [("JOBS_DOMAIN_SCOPED_RBAC", "true"), ("JOBS_DOMAIN_ALLOWLIST_AB12", "decks")];
        for env in [&[][..], &fine] {
            assert_eq!(found_in(&sources(env)), [""; 0]);
            assert_eq!(check(&sources(env)), Ok(()));
        }
    }

    #[test]
    fn what_does_not_is() {
        for env in [
            &[("JOBS_SECRET_REJECT", "true"), ("JOBS_SECRET_REDACT", "on")][..],
            &[("JOBS_DOMAIN_SCOPED_RBAC", "true")],
            &[("JOBS_LEASE_SECONDS", "20"), ("JOBS_LEASE_RENEW_SECONDS", "15")],
            &[("JOBS_TRUST_FORWARDED", "true"), ("JOBS_TRUSTED_PROXIES", "10.0.0.1")],
            &[("JOBS_INSECURE_COOKIES", "true")],
        ] {
            assert_eq!(found_in(&sources(env)).len(), 1, "{env:?}");
            assert_eq!(check(&sources(env)), Ok(()), "nothing is less safe: {env:?}");
        }
    }

    #[test]
    fn protection_without_effect_stops_the_start() {
        for env in [
            &[("JOBS_RBAC_FORCE", "1")][..],
            &[("JOBS_REQUIRE_DOMAIN_FILTER", "true"), ("JOBS_DOMAIN_SCOPED_RBAC", "false")],
            &[("JOBS_DOMAIN_ALLOWLIST_AB12", "decks")],
            &[("JOBS_DOMAIN_ALLOWLIST", "decks"), ("JOBS_DOMAIN_SCOPED_RBAC", "true")],
        ] {
            let problem = check(&sources(env)).unwrap_err();
            assert!(
                problem.detail.contains("has no effect") && problem.errors[0].field == env[0].0,
                "{problem}"
            );
        }
    }
}
