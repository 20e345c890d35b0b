//! Names that other programs of this kind know and this version does not obey, each with the reason. One that would
//! protect something stops the start when it is asked for: whoever set it relies on it.

use super::sources::Sources;
use leasehold_types::Problem;

pub struct Unavailable {
    pub name: &'static str,
    /// Also with `_<DOMAIN>` behind it.
    pub family: bool,
    pub when_set: WhenSet,
    pub reason: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenSet {
    /// Whoever asks for it must not get less.
    Stops,
    /// Nothing is less safe without it.
    Warns,
}

const fn stops(name: &'static str, reason: &'static str) -> Unavailable {
    Unavailable { name, family: false, when_set: WhenSet::Stops, reason }
}

const fn warns(name: &'static str, reason: &'static str) -> Unavailable {
    Unavailable { name, family: false, when_set: WhenSet::Warns, reason }
}

const ENCRYPTION: &str = "not yet: payloads and results are stored in plain text";
const AUDIT: &str = "left out: the audit log is always on, in the database itself, and kept for ever";
const SWEEPS: &str = "not yet: sweeps are started by hand or by cron, see operations.md";
const EVENTS: &str =
    "left out: dashboard, streams and metrics live on the events, so they are always written";
const WEBHOOKS: &str = "not yet: nothing is sent";
const LEASES: &str = "left out: every write of a worker must show its lease, always";
const COMPRESSION: &str = "not yet: archived jobs are kept as they were";

pub const UNAVAILABLE: &[Unavailable] = &[
    Unavailable { name: "JOBS_ENCRYPT", family: true, when_set: WhenSet::Stops, reason: ENCRYPTION },
    stops("JOBS_CRYPTO_SECONDARY_KEY", ENCRYPTION),
    stops("JOBS_PG_RLS_ENABLE", "not yet: tenants are kept apart by the application, not by Postgres"),
    stops("JOBS_AUDIT_ENABLED", AUDIT),
    stops("JOBS_AUDIT_DB_PATH", AUDIT),
    stops("JOBS_AUDIT_RETENTION_DAYS", AUDIT),
    stops("JOBS_AUDIT_BUFFER_SIZE", AUDIT),
    stops("JOBS_AUDIT_FLUSH_SECONDS", AUDIT),
    warns("JOBS_ENFORCE_LEASE_ACK", LEASES),
    warns("JOBS_DISABLE_LEASE_ENFORCEMENT", LEASES),
    warns("JOBS_REQUIRE_COMPLETION_TOKEN", LEASES),
    warns(
        "JOBS_MAX_LEASE_SECONDS",
        "left out: JOBS_LEASE_SECONDS and JOBS_LEASE_MAX_SECONDS say it more exactly",
    ),
    warns(
        "JOBS_JSON_TRUNCATE",
        "left out: half a payload is worse than none, so one that is too large is refused",
    ),
    warns("JOBS_ARCHIVE_COMPRESS", COMPRESSION),
    warns("JOBS_ARCHIVE_COMPRESS_DROP_JSON", COMPRESSION),
    warns("JOBS_PRUNE_ENFORCE", SWEEPS),
    warns("JOBS_RETENTION_DAYS_TERMINAL", SWEEPS),
    warns("JOBS_RETENTION_DAYS_NONTERMINAL", SWEEPS),
    warns("JOBS_TTL_ENFORCE", SWEEPS),
    warns("JOBS_TTL_AGE_SECONDS", SWEEPS),
    warns("JOBS_TTL_RUNTIME_SECONDS", SWEEPS),
    warns("JOBS_TTL_ACTION", SWEEPS),
    warns("JOBS_INTEGRITY_SWEEP_ENABLED", SWEEPS),
    warns("JOBS_INTEGRITY_SWEEP_INTERVAL_SEC", SWEEPS),
    warns("JOBS_INTEGRITY_SWEEP_FIX", SWEEPS),
    warns("JOBS_EVENTS_ENABLED", EVENTS),
    warns("JOBS_EVENTS_OUTBOX", EVENTS),
    warns(
        "JOBS_EVENTS_POLL_INTERVAL",
        "left out: streams are told of events as they come, nothing is polled",
    ),
    warns("JOBS_EVENTS_RATE_LIMIT_HZ", "left out: an event that is dropped is a gap for whoever follows"),
    warns("JOBS_WEBHOOKS_ENABLED", WEBHOOKS),
    warns("JOBS_WEBHOOKS_URL", WEBHOOKS),
    warns("JOBS_WEBHOOKS_SECRET_KEYS", WEBHOOKS),
    warns("JOBS_WEBHOOKS_INTERVAL_SEC", WEBHOOKS),
    warns("JOBS_WEBHOOKS_TIMEOUT_SEC", WEBHOOKS),
    warns("JOBS_WEBHOOKS_CURSOR_PATH", WEBHOOKS),
    warns("JOBS_TRACING", "left out: log lines of an attempt always carry its ids"),
    warns("JOBS_OTLP_ENDPOINT", "not yet: nothing is sent"),
    warns("JOBS_COUNTERS_ENABLED", "left out: jobs are always counted as they move"),
    warns("JOBS_METRICS_RECONCILE_ENABLE", "left out: counters move with their jobs in one transaction"),
    warns(
        "JOBS_SQLITE_SINGLE_UPDATE_ACQUIRE",
        "left out: there is one way to claim, and it holds under contention",
    ),
    warns("JOBS_EXPORT_PER_DOCUMENT_LIMIT", "left out: the definition's limit `max_active_per_key` says it"),
];

/// Settings that protect something and work here. With what is close to their names the start stops as well.
pub const PROTECTING: &[&str] = &[
    "JOBS_SECRET_REJECT",
    "JOBS_SECRET_REDACT",
    "JOBS_SECRET_DENY_KEYS",
    "JOBS_SECRET_PATTERNS",
    "JOBS_DOMAIN_SCOPED_RBAC",
    "JOBS_REQUIRE_DOMAIN_FILTER",
    "JOBS_RBAC_FORCE",
    "JOBS_DOMAIN_ALLOWLIST",
    "JOBS_ALLOWED_QUEUES",
    "JOBS_ALLOWED_JOB_TYPES",
    "JOBS_METRICS_ANONYMOUS",
];

/// Whoever writes one of these into a name has something to protect.
const TELLING_WORDS: [&str; 7] = ["ENCRYPT", "CRYPTO", "RLS", "RBAC", "AUDIT", "SECRET", "ALLOWLIST"];

impl Unavailable {
    fn is(&self, name: &str) -> bool {
        let rest = name.strip_prefix(self.name);
        rest.is_some_and(|rest| rest.is_empty() || self.family && rest.len() > 1 && rest.starts_with('_'))
    }
}

pub fn find(name: &str) -> Option<&'static Unavailable> {
    UNAVAILABLE.iter().find(|unavailable| unavailable.is(name))
}

/// The first thing somebody relies on and would not get.
pub fn check(sources: &Sources) -> Result<(), Problem> {
    for name in sources.names() {
        let Some((value, _)) = sources.found(name) else { continue };
        let refused = match find(name) {
            Some(known) if known.when_set == WhenSet::Stops && !is_off(value) => Some(format!(
                "{name} is not available in this version ({}); remove the setting.",
                known.reason
            )),
            Some(_) => None,
            None if super::settings::is_known(name) => None,
            None => meant(name).map(|meant| {
                format!("{name} is not a setting of this version, and looks like one that protects something ({meant}); \
                         correct or remove it.")
            }),
        };
        if let Some(detail) = refused {
            return Err(Problem::invalid(name, detail));
        }
    }
    Ok(())
}

/// Nobody relies on what is switched off.
fn is_off(value: &str) -> bool {
    matches!(value.trim().to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// The protecting setting somebody may have had in mind.
fn meant(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    let stopping = UNAVAILABLE.iter().filter(|unavailable| unavailable.when_set == WhenSet::Stops);
    let protecting =
        || PROTECTING.iter().copied().chain(stopping.clone().map(|unavailable| unavailable.name));
    let distance = |known: &str| {
        // A member of a family has more words than the family's own name.
        let words = known.split('_').count();
        let head: Vec<&str> = name.split('_').take(words).collect();
        strsim::damerau_levenshtein(&head.join("_"), known).min(strsim::damerau_levenshtein(&name, known))
    };
    let closest = protecting().min_by_key(|known| distance(known))?;
    let telling = || TELLING_WORDS.iter().any(|word| name.contains(word));
    (distance(closest) <= 2 || telling()).then_some(closest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::{SETTINGS, is_known};
    use std::collections::BTreeMap;

    fn start(name: &str, value: &str) -> Result<(), Problem> {
        let env = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        check(&Sources { flags: BTreeMap::new(), env, file: BTreeMap::new() })
    }

    #[test]
    fn what_protects_and_cannot_be_had_stops_the_start() {
        for (name, value) in [
            ("JOBS_ENCRYPT", "true"),
            ("JOBS_ENCRYPT", "maybe"),
            ("JOBS_ENCRYPT_DECKS", "1"),
            ("JOBS_CRYPTO_SECONDARY_KEY", "c2VjcmV0"),
            ("JOBS_PG_RLS_ENABLE", "on"),
            ("JOBS_AUDIT_ENABLED", "true"),
            ("JOBS_AUDIT_RETENTION_DAYS", "90"),
        ] {
            let problem = start(name, value).unwrap_err();
            assert!(
                problem.detail.starts_with(&format!("{name} is not available in this version")),
                "{problem}"
            );
            assert_eq!(problem.errors[0].field, name);
        }
        for value in ["false", "0", "off", "NO", ""] {
            assert_eq!(start("JOBS_ENCRYPT", value), Ok(()), "nobody relies on {value:?}");
        }
    }

    #[test]
    fn so_does_what_looks_like_it() {
        for (name, meant) in [
            ("JOBS_SECRET_REJCT", "JOBS_SECRET_REJECT"),
            ("JOBS_SECRETS_REDACT", "JOBS_SECRET_REDACT"),
            ("JOBS_ENCRYPTION", "JOBS_ENCRYPT"),
            ("JOBS_ENCYRPT_DECKS", "JOBS_ENCRYPT"),
            ("JOBS_RLS_ENABLED", "JOBS_PG_RLS_ENABLE"),
            ("JOBS_DOMAIN_ALOWLIST_AB12", "JOBS_DOMAIN_ALLOWLIST"),
            ("JOBS_DOMAIN_ALLOWLIST_ab12", "JOBS_DOMAIN_ALLOWLIST"),
            ("JOBS_ALLOWED_JOBTYPES", "JOBS_ALLOWED_JOB_TYPES"),
            ("JOBS_RBAC_FORCED", "JOBS_RBAC_FORCE"),
        ] {
            let problem = start(name, "true").unwrap_err();
            assert!(problem.detail.contains(meant), "{problem}");
        }
    }

    #[test]
    fn other_names_do_not() {
        for name in
            ["JOBS_LEASE_SECOND", "JOBS_COLOUR", "JOBS_WEBHOOKS_SECRET_KEYS", "JOBS_QUOTA_MAX_QUEUED_decks"]
        {
            assert_eq!(start(name, "1"), Ok(()), "{name}");
        }
        for (name, _) in SETTINGS {
            assert_eq!(start(name, "1"), Ok(()), "{name}");
        }
    }

    /// The names of the programs whose settings this one takes over.
    const TAKEN_OVER: &str = "ALLOWED_JOB_TYPES ALLOWED_JOB_TYPES_DECKS ALLOWED_QUEUES ALLOWED_QUEUES_DECKS \
        ARCHIVE_BEFORE_DELETE ARCHIVE_COMPRESS ARCHIVE_COMPRESS_DROP_JSON AUDIT_BUFFER_SIZE AUDIT_DB_PATH AUDIT_ENABLED \
        AUDIT_FLUSH_SECONDS AUDIT_RETENTION_DAYS AUTO_MIGRATE COUNTERS_ENABLED CRYPTO_SECONDARY_KEY DB_URL \
        DISABLE_LEASE_ENFORCEMENT DOMAIN_ALLOWLIST_7 DOMAIN_SCOPED_RBAC DURATION_BUCKETS ENABLE_METRICS ENCRYPT ENCRYPT_DECKS \
        ENFORCE_LEASE_ACK EVENTS_ENABLED EVENTS_OUTBOX EVENTS_POLL_INTERVAL EVENTS_RATE_LIMIT_HZ EVENTS_RETENTION_HOURS \
        EXPORT_PER_DOCUMENT_LIMIT GAUGES_DEBOUNCE_MS HEARTBEAT_SECONDS IDEMPOTENCY_TTL_SECONDS INTEGRITY_SWEEP_ENABLED \
        INTEGRITY_SWEEP_FIX INTEGRITY_SWEEP_INTERVAL_SEC JSON_TRUNCATE LEASE_MAX_SECONDS LEASE_RENEW_JITTER_SECONDS \
        LEASE_RENEW_SECONDS LEASE_SECONDS MAX_CONCURRENCY MAX_JSON_BYTES MAX_LEASE_SECONDS METRICS_EXEMPLARS \
        METRICS_EXEMPLAR_SAMPLING METRICS_GAUGES_ENABLED METRICS_RECONCILE_ENABLE METRICS_RECONCILE_GROUPS_PER_TICK \
        OTLP_ENDPOINT PG_RLS_ENABLE PRUNE_ENFORCE QUARANTINE_THRESHOLD QUEUE_LATENCY_BUCKETS QUOTA_MAX_INFLIGHT \
        QUOTA_MAX_INFLIGHT_DECKS QUOTA_MAX_INFLIGHT_DECKS_USER_7 QUOTA_MAX_INFLIGHT_USER_7 QUOTA_MAX_QUEUED \
        QUOTA_MAX_QUEUED_DECKS QUOTA_MAX_QUEUED_DECKS_USER_7 QUOTA_MAX_QUEUED_USER_7 QUOTA_SUBMITS_PER_MIN \
        QUOTA_SUBMITS_PER_MIN_DECKS QUOTA_SUBMITS_PER_MIN_DECKS_USER_7 QUOTA_SUBMITS_PER_MIN_USER_7 RBAC_FORCE \
        REQUIRE_COMPLETION_TOKEN REQUIRE_DOMAIN_FILTER RETENTION_DAYS_NONTERMINAL RETENTION_DAYS_TERMINAL SECRET_DENY_KEYS \
        SECRET_PATTERNS SECRET_REDACT SECRET_REJECT SHUTDOWN_WAIT_FOR_LEASES_SEC SLO_ENABLE SLO_WINDOW_HOURS \
        SQLITE_SINGLE_UPDATE_ACQUIRE TEST_NOW_EPOCH TRACING TTL_ACTION TTL_AGE_SECONDS TTL_ENFORCE TTL_RUNTIME_SECONDS \
        WEBHOOKS_CURSOR_PATH WEBHOOKS_ENABLED WEBHOOKS_INTERVAL_SEC WEBHOOKS_SECRET_KEYS WEBHOOKS_TIMEOUT_SEC WEBHOOKS_URL";

    #[test]
    fn every_name_taken_over_works_or_is_listed_with_a_reason_and_never_both() {
        for name in TAKEN_OVER.split_whitespace().map(|name| format!("JOBS_{name}")) {
            assert!(is_known(&name) != find(&name).is_some(), "{name}");
        }
        for unavailable in UNAVAILABLE {
            assert!(!is_known(unavailable.name), "{} works", unavailable.name);
        }
        assert!(PROTECTING.iter().all(|name| is_known(name)));
    }
}
