//! The list of settings, and what is written from it.

use leasehold_queue::quota::Quota;

/// Every setting, its default and its meaning. In `leasehold.toml` the names are the same, in lower case and
/// without `JOBS_`.
pub const SETTINGS: &[(&str, &str)] = &[
    ("JOBS_ADDR", "where to listen; 127.0.0.1:3000"),
    ("JOBS_DB_URL", "postgres://… or sqlite:…; sqlite:data/leasehold.db. DATABASE_URL is read after it"),
    ("JOBS_COMMANDS_FILE", "the commands workers may run; ./commands.toml, else the built-in demo commands"),
    (
        "JOBS_PROVIDERS_FILE",
        "the providers of composite jobs; ./providers.toml, else two local, deterministic ones",
    ),
    ("JOBS_MAX_CONCURRENCY", "jobs one process runs at a time; 8"),
    (
        "JOBS_WORKER_QUEUES",
        "queues this process works for, as queue or domain/queue, separated by commas; all",
    ),
    ("JOBS_WORKER_DOMAINS", "domains this process works for, separated by commas; all"),
    ("JOBS_AUTO_MIGRATE", "bring the schema up to date at the start; true"),
    ("JOBS_LEASE_SECONDS", "how long a job is held without a renewal; 60"),
    ("JOBS_LEASE_MAX_SECONDS", "the longest a lease may be extended to; 3600"),
    ("JOBS_LEASE_RENEW_SECONDS", "how often a lease is renewed, at most half of it; 30"),
    ("JOBS_LEASE_RENEW_JITTER_SECONDS", "how much earlier a renewal may come, by chance; 5"),
    ("JOBS_HEARTBEAT_SECONDS", "the same as JOBS_LEASE_RENEW_SECONDS, which wins"),
    ("JOBS_MAX_JSON_BYTES", "the largest payload and result; 1048576"),
    ("JOBS_MAX_ATTACHMENT_BYTES", "the largest file a job may keep; 26214400"),
    ("JOBS_ATTACHMENT_URL_TTL_SECONDS", "how long a link to such a file works, at least 300; 3600"),
    (
        "JOBS_ALLOWED_QUEUES",
        "queues beside default, high, low and each definition's own, separated by commas",
    ),
    ("JOBS_ALLOWED_JOB_TYPES", "job types that may be enqueued, separated by commas; all"),
    ("JOBS_QUOTA_MAX_QUEUED", "the most jobs that may wait, 0 = any number; 0"),
    (
        "JOBS_QUOTA_SUBMITS_PER_MIN",
        "the most jobs that may come in per minute of the clock, 0 = any number; 0",
    ),
    ("JOBS_QUOTA_MAX_INFLIGHT", "the most jobs that may run at a time, 0 = any number; 0"),
    (
        "JOBS_QUEUE_HIGH_WATERMARK",
        "the most jobs that may wait in one queue over all tenants, 0 = any number; 0",
    ),
    ("JOBS_SECRET_REJECT", "refuse jobs, events and triggers with a secret in them; false"),
    (
        "JOBS_SECRET_REDACT",
        "store `***REDACTED***` in place of secrets in payloads, metadata and events, unless they are refused; false",
    ),
    (
        "JOBS_SECRET_DENY_KEYS",
        "names of fields that hold a secret, separated by commas; password, token, api_key and the like",
    ),
    (
        "JOBS_SECRET_PATTERNS",
        "regular expressions of secrets, separated by semicolons; OpenAI, AWS, GitHub, JWT and some eighty more",
    ),
    ("JOBS_WORKER_MAX_PER_KEY", "names one worker key may be known under at a time; 200"),
    ("JOBS_WORKER_MAX_WAITING_PER_KEY", "claims of one worker key that one process keeps waiting; 100"),
    ("JOBS_WORKER_MAX_WAITING", "claims of all worker keys that one process keeps waiting; 2000"),
    ("JOBS_IDEMPOTENCY_TTL_SECONDS", "how long idempotency keys are remembered, 0 = for ever; 86400"),
    ("JOBS_QUARANTINE_THRESHOLD", "equal failures in a row until a job is quarantined, 0 = never; 5"),
    ("JOBS_ARCHIVE_BEFORE_DELETE", "keep a copy of jobs that are pruned; false"),
    ("JOBS_EVENTS_RETENTION_HOURS", "how long events can be read, 0 = for ever; 168"),
    ("JOBS_OPERATIONS_RETENTION_DAYS", "how long finished bulk operations are listed, 0 = for ever; 30"),
    ("JOBS_DOMAIN_SCOPED_RBAC", "keep people and keys to the domains listed for them; false"),
    ("JOBS_REQUIRE_DOMAIN_FILTER", "then programs must also name the domain they mean; false"),
    ("JOBS_RBAC_FORCE", "keep also those to their domains who govern the installation; false"),
    ("JOBS_DOMAIN_ALLOWLIST", "the domains of one user or key, separated by commas; none (see below)"),
    ("JOBS_SHUTDOWN_WAIT_FOR_LEASES_SEC", "how long running jobs may finish when the process ends; 0"),
    ("JOBS_SETUP_TTL_SECONDS", "how long the setup link works; 86400"),
    ("JOBS_SSE_MAX_STREAMS", "live streams one process keeps open; 2000"),
    ("JOBS_SSE_MAX_STREAMS_PER_TENANT", "of those, in one tenant, and by one key; 1000"),
    ("JOBS_SSE_MAX_STREAMS_PER_SESSION", "of those, by one signed-in browser; 20"),
    ("JOBS_MAX_CONNECTIONS_PER_ADDRESS", "connections one address may hold, 0 = any number; 512"),
    (
        "JOBS_HTTP_WRITE_TIMEOUT_SECONDS",
        "a client that reads nothing of what is sent to it for so long is cut off; 30",
    ),
    ("JOBS_HTTP_IDLE_TIMEOUT_SECONDS", "a connection without a request for so long is closed; 30"),
    (
        "JOBS_API_RATE_PER_KEY",
        "requests per second one key may make on one process, on average, 0 = any number; 1000",
    ),
    ("JOBS_API_BURST_PER_KEY", "of those, how many at once; 5000"),
    (
        "JOBS_API_RATE_PER_ADDRESS",
        "requests per second to the API from one address without a key that works, 0 = any number; 100",
    ),
    ("JOBS_API_BURST_PER_ADDRESS", "of those, how many at once; 1000"),
    (
        "JOBS_TRUSTED_PROXIES",
        "proxies whose X-Forwarded-For, -Proto and -Host count: addresses and networks, or `private`, separated by commas; none",
    ),
    (
        "JOBS_TRUST_FORWARDED",
        "older form: true is the same as JOBS_TRUSTED_PROXIES=private (loopback and private networks); false",
    ),
    (
        "JOBS_ALLOWED_HOSTS",
        "names this server answers to, separated by commas, `*.` for all below one; any name",
    ),
    (
        "JOBS_PUBLIC_URL",
        "the address people open, such as https://jobs.example.org: for links, and https there means https everywhere; unknown",
    ),
    (
        "JOBS_INSECURE_COOKIES",
        "let people sign in by plain http from other machines, on a network that is trusted; false",
    ),
    ("JOBS_LOG_JSON", "log in JSON; false"),
    ("JOBS_ENABLE_METRICS", "serve /metrics, and count events for it; true"),
    (
        "JOBS_METRICS_ANONYMOUS",
        "who may read /metrics without a key: nobody, loopback (programs on this machine) or everyone; loopback",
    ),
    ("JOBS_DURATION_BUCKETS", "bounds of duration histograms in seconds, rising, separated by commas"),
    ("JOBS_QUEUE_LATENCY_BUCKETS", "the same for queue latency"),
    (
        "JOBS_METRICS_MAX_GROUPS",
        "groups, tenants, error codes and stages with a label of their own, later ones are `other`; 100",
    ),
    ("JOBS_METRICS_EXEMPLARS", "show trace ids beside durations, in OpenMetrics; false"),
    ("JOBS_METRICS_EXEMPLAR_SAMPLING", "the share of finished jobs that are shown so; 0.01"),
    ("JOBS_SLO_ENABLE", "percentiles of latency and duration per owner; false"),
    ("JOBS_METRICS_GAUGES_ENABLED", "the same as JOBS_SLO_ENABLE; either switches them on; false"),
    ("JOBS_SLO_WINDOW_HOURS", "how far back these percentiles look; 6"),
    ("JOBS_METRICS_RECONCILE_GROUPS_PER_TICK", "owners, by kind of job, that get percentiles; 100"),
    (
        "JOBS_GAUGES_DEBOUNCE_MS",
        "how old figures from the database may be on /metrics, two seconds at least; 0",
    ),
    ("JOBS_TEST_NOW_EPOCH", "freeze the clock (tests)"),
    ("JOBS_CONFIG_FILE", "another file than ./leasehold.toml"),
];

/// Settings that may be said more narrowly, in names built from the setting's own.
const FAMILIES: &[(&str, &[&str])] = &[
    ("JOBS_ALLOWED_QUEUES", &["<DOMAIN>"]),
    ("JOBS_ALLOWED_JOB_TYPES", &["<DOMAIN>"]),
    ("JOBS_DOMAIN_ALLOWLIST", &["<USER_ID>", "<KEY_PREFIX>"]),
    (Quota::Queued.setting(), BY_OWNER),
    (Quota::SubmitsPerMinute.setting(), BY_OWNER),
    (Quota::InFlight.setting(), BY_OWNER),
];
const BY_OWNER: &[&str] = &["<DOMAIN>", "USER_<USER_ID>", "<DOMAIN>_USER_<USER_ID>"];

/// A setting, or a member of a family. Names are looked up in upper case, so one that is not is never found.
pub fn is_known(name: &str) -> bool {
    let written_well = |rest: &str| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    let member = |family: &str| {
        name.strip_prefix(family).and_then(|rest| rest.strip_prefix('_')).is_some_and(written_well)
    };
    SETTINGS.iter().any(|(known, _)| *known == name) || FAMILIES.iter().any(|(family, _)| member(family))
}

/// What `leasehold --help` says about the environment.
pub fn help() -> String {
    let lines = SETTINGS.iter().map(|(name, meaning)| format!("  {name:<34} {meaning}"));
    let head = "Settings (environment, or leasehold.toml with the same names in lower case without JOBS_):";
    std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::unavailable::{UNAVAILABLE, Unavailable, WhenSet};

    fn document() -> String {
        let head = "# Configuration\n\nFlags win over the environment, and that over `leasehold.toml` (the same names in lower \
            case, without `JOBS_`).\nAn unknown `JOBS_*` name is warned about; a value that cannot be understood stops the \
            start. So does a\nsetting that protects something and cannot be honoured: one that is not available, misspelt, or \
            without effect beside the others.\n\n| setting | meaning | default |\n|---|---|---|\n";
        let row = |(name, meaning): &(&str, &'static str)| {
            let (meaning, default) = meaning.rsplit_once("; ").unwrap_or((meaning, ""));
            format!("| `{name}` | {meaning} | {default} |\n")
        };
        let narrower = "\n## More narrowly\n\nSome settings may be said for a domain, a user, or both. A domain or user id \
            stands in the name in upper case, with `_` for\neverything but letters and digits: the user `a-7` in the domain \
            `prompt-studio` is `…_PROMPT_STUDIO_USER_A_7`. Domains that\nbecome the same name are warned about at the start.\n\n";
        let members = |(family, members): &(&str, &[&str])| {
            let names: Vec<_> = members.iter().map(|m| format!("`{family}_{m}`")).collect();
            format!("- {}\n", names.join(", "))
        };
        let rules = "\nAllow-lists unite: a queue or type on either list is allowed. Types are held against a list only where \
            there is one.\nOf quotas the most specific one decides (domain and user, user, domain, all), even when it is the \
            larger, and it counts the\njobs of whom it was said for; 0 lifts the limit there. Jobs without an owner have no \
            user;\nan owner is whatever a caller says, so it is counted within each tenant. A tenant's own limits\n(`leasehold tenant limit`) stand beside the quotas: both must have room.\n";
        let missing = "\n## Not available\n\nNames that programs of this kind know and this version does not obey. Those that would \
            protect something stop the start,\nunless they are switched off; the others are warned about.\n\n| setting | when it \
            is set | why |\n|---|---|---|\n";
        let absent = |unavailable: &Unavailable| {
            let family =
                if unavailable.family { format!(", `{}_<DOMAIN>`", unavailable.name) } else { String::new() };
            let effect = match unavailable.when_set {
                WhenSet::Stops => "stops the start",
                WhenSet::Warns => "warning",
            };
            format!("| `{}`{family} | {effect} | {} |\n", unavailable.name, unavailable.reason)
        };
        let rows = SETTINGS.iter().map(row).collect::<String>();
        let families = FAMILIES.iter().map(members).collect::<String>();
        let absent = UNAVAILABLE.iter().map(absent).collect::<String>();
        [head, &rows, narrower, &families, rules, missing, &absent].concat()
    }

    /// `docs/configuration.md` is written from the list above; `UPDATE_DOCS=1` writes it anew.
    #[test]
    fn the_document_lists_every_setting() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
        let text = document();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "docs/configuration.md is out of date: run this test with UPDATE_DOCS=1");
    }

    #[test]
    fn members_of_families_are_known() {
        for name in
            ["JOBS_QUOTA_MAX_QUEUED_DECKS_USER_7", "JOBS_ALLOWED_QUEUES_DECKS", "JOBS_QUOTA_MAX_INFLIGHT"]
        {
            assert!(is_known(name), "{name}");
        }
        for name in ["JOBS_QUOTA_MAX_QUEUED_decks", "JOBS_QUOTA_MAX_QUEUE", "JOBS_LEASE_SECONDS_DECKS"] {
            assert!(!is_known(name), "{name}");
        }
    }
}
