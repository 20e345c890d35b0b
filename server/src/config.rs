//! Configuration: one typed [`Config`] from flags, the environment (`JOBS_*`) and `leasehold.toml`, in that
//! order of precedence. A name nobody knows is warned about, a value nobody understands stops the start.

use leasehold_queue::{EngineConfig, cadence::Cadence};
use leasehold_types::{Problem, ProblemCode};
use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

/// Every setting, its default and its meaning. In `leasehold.toml` the names are the same, in lower case and
/// without `JOBS_`.
const SETTINGS: &[(&str, &str)] = &[
    ("JOBS_ADDR", "where to listen; 127.0.0.1:3000"),
    ("JOBS_DB_URL", "postgres://… or sqlite:…; sqlite:data/leasehold.db. DATABASE_URL is read after it"),
    ("JOBS_COMMANDS_FILE", "the commands workers may run; ./commands.toml, else the built-in demo commands"),
    ("JOBS_MAX_CONCURRENCY", "jobs one process runs at a time; 8"),
    ("JOBS_AUTO_MIGRATE", "bring the schema up to date at the start; true"),
    ("JOBS_LEASE_SECONDS", "how long a job is held without a renewal; 60"),
    ("JOBS_LEASE_MAX_SECONDS", "the longest a lease may be extended to; 3600"),
    ("JOBS_LEASE_RENEW_SECONDS", "how often a lease is renewed, at most half of it; 30"),
    ("JOBS_LEASE_RENEW_JITTER_SECONDS", "how much earlier a renewal may come, by chance; 5"),
    ("JOBS_HEARTBEAT_SECONDS", "the same as JOBS_LEASE_RENEW_SECONDS, which wins"),
    ("JOBS_MAX_JSON_BYTES", "the largest payload and result; 1048576"),
    ("JOBS_ALLOWED_QUEUES", "queues beside default, high and low, separated by commas"),
    ("JOBS_IDEMPOTENCY_TTL_SECONDS", "how long idempotency keys are remembered, 0 = for ever; 86400"),
    ("JOBS_QUARANTINE_THRESHOLD", "equal failures in a row until a job is quarantined, 0 = never; 3"),
    ("JOBS_SHUTDOWN_WAIT_FOR_LEASES_SEC", "how long running jobs may finish when the process ends; 0"),
    ("JOBS_SETUP_TTL_SECONDS", "how long the setup link works; 86400"),
    ("JOBS_TRUST_FORWARDED", "take the client's address from X-Forwarded-For, behind a proxy; false"),
    ("JOBS_LOG_JSON", "log in JSON; false"),
    ("JOBS_TEST_NOW_EPOCH", "freeze the clock (tests)"),
    ("JOBS_CONFIG_FILE", "another file than ./leasehold.toml"),
];

#[derive(Clone, Debug)]
pub struct Config {
    pub addr: SocketAddr,
    pub db_url: String,
    pub commands_file: Option<PathBuf>,
    pub concurrency: usize,
    pub auto_migrate: bool,
    pub longest_lease: Duration,
    pub engine: EngineConfig,
    pub renewal: Cadence,
    pub shutdown_wait: Duration,
    pub setup_ttl: Duration,
    pub trust_forwarded: bool,
    pub log_json: bool,
    /// Said once the log is there.
    pub warnings: Vec<String>,
}

impl Config {
    /// `flags` are settings given on the command line, by the names of the environment.
    pub fn load(flags: Vec<(&'static str, String)>) -> Result<Self, Problem> {
        let env: BTreeMap<_, _> = std::env::vars_os()
            .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
            .filter(|(k, _)| k.starts_with("JOBS_") || k == "DATABASE_URL")
            .collect();
        let flags: BTreeMap<_, _> = flags.into_iter().collect();
        let file = read_file(env.get("JOBS_CONFIG_FILE").map(String::as_str))?;
        Self::from_sources(&Sources { flags, env, file })
    }

    fn from_sources(sources: &Sources) -> Result<Self, Problem> {
        let mut engine = EngineConfig {
            lease: sources.seconds("JOBS_LEASE_SECONDS", 60)?,
            max_json_bytes: sources.parsed("JOBS_MAX_JSON_BYTES", 1_048_576)?,
            allowed_queues: sources.list("JOBS_ALLOWED_QUEUES"),
            idempotency_ttl: sources.seconds("JOBS_IDEMPOTENCY_TTL_SECONDS", 86_400)?,
            ..EngineConfig::default()
        };
        engine.rules.quarantine_threshold =
            sources.parsed("JOBS_QUARANTINE_THRESHOLD", engine.rules.quarantine_threshold)?;
        let longest_lease = sources.seconds("JOBS_LEASE_MAX_SECONDS", 3_600)?;
        engine.longest_lease = longest_lease;
        let heartbeat = sources.seconds("JOBS_HEARTBEAT_SECONDS", 30)?;
        let renewal = Cadence {
            every: sources.seconds("JOBS_LEASE_RENEW_SECONDS", heartbeat.as_secs())?,
            jitter: sources.seconds("JOBS_LEASE_RENEW_JITTER_SECONDS", 5)?,
        };
        if engine.lease.is_zero() || engine.lease > longest_lease {
            let rule = "must be at least 1 and at most JOBS_LEASE_MAX_SECONDS";
            return Err(wrong("JOBS_LEASE_SECONDS", &engine.lease.as_secs().to_string(), rule));
        }
        Ok(Self {
            addr: sources.parsed("JOBS_ADDR", SocketAddr::from(([127, 0, 0, 1], 3_000)))?,
            db_url: sources.database(),
            commands_file: sources.get("JOBS_COMMANDS_FILE").map(PathBuf::from),
            concurrency: sources.parsed("JOBS_MAX_CONCURRENCY", 8)?,
            auto_migrate: sources.switch("JOBS_AUTO_MIGRATE", true)?,
            longest_lease,
            engine,
            renewal,
            shutdown_wait: sources.seconds("JOBS_SHUTDOWN_WAIT_FOR_LEASES_SEC", 0)?,
            setup_ttl: sources.seconds("JOBS_SETUP_TTL_SECONDS", 86_400)?,
            trust_forwarded: sources.switch("JOBS_TRUST_FORWARDED", false)?,
            log_json: sources.switch("JOBS_LOG_JSON", false)?,
            warnings: sources.unknown(),
        })
    }
}

struct Sources {
    flags: BTreeMap<&'static str, String>,
    env: BTreeMap<String, String>,
    /// By the names of the environment.
    file: BTreeMap<String, String>,
}

impl Sources {
    fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(SETTINGS.iter().any(|(known, _)| *known == name), "{name} is not in the list");
        let found = self.flags.get(name).or_else(|| self.env.get(name)).or_else(|| self.file.get(name));
        found.map(String::as_str).filter(|v| !v.is_empty())
    }

    fn database(&self) -> String {
        let flag_or_env = self.flags.get("JOBS_DB_URL").or_else(|| self.env.get("JOBS_DB_URL"));
        let found = flag_or_env.or_else(|| self.env.get("DATABASE_URL")).filter(|v| !v.is_empty());
        found
            .map_or_else(|| self.get("JOBS_DB_URL").unwrap_or("sqlite:data/leasehold.db"), String::as_str)
            .into()
    }

    fn parsed<T: FromStr>(&self, name: &str, default: T) -> Result<T, Problem>
    where
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.get(name) else { return Ok(default) };
        text.trim().parse().map_err(|error: T::Err| wrong(name, text, &error.to_string()))
    }

    fn seconds(&self, name: &str, default: u64) -> Result<Duration, Problem> {
        let seconds: f64 = self.parsed(name, default as f64)?;
        Duration::try_from_secs_f64(seconds)
            .map_err(|error| wrong(name, &seconds.to_string(), &error.to_string()))
    }

    fn switch(&self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.get(name).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(default),
            Some("true" | "1" | "yes" | "on") => Ok(true),
            Some("false" | "0" | "no" | "off") => Ok(false),
            Some(other) => Err(wrong(name, other, "say true or false")),
        }
    }

    fn list(&self, name: &str) -> Vec<String> {
        let items = self.get(name).unwrap_or_default().split(',').map(str::trim);
        items.filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    fn unknown(&self) -> Vec<String> {
        let known = |name: &str| name == "DATABASE_URL" || SETTINGS.iter().any(|(k, _)| *k == name);
        let from_env = self.env.keys().filter(|k| !known(k)).map(|k| (k, "the environment"));
        let from_file = self.file.keys().filter(|k| !known(k)).map(|k| (k, "the configuration file"));
        let sentence =
            |(name, place)| format!("{name} in {place} is not a setting of this version; it has no effect");
        from_env.chain(from_file).map(sentence).collect()
    }
}

/// The configuration file as settings; a file that was asked for must exist.
fn read_file(asked_for: Option<&str>) -> Result<BTreeMap<String, String>, Problem> {
    let path = asked_for.unwrap_or("leasehold.toml");
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && asked_for.is_none() => {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(unreadable(path, &error.to_string())),
    };
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| unreadable(path, &error.to_string()))?;
    let setting = |(name, value): (String, toml::Value)| {
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Array(items) => {
                items.iter().map(|i| i.as_str().unwrap_or_default()).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        (format!("JOBS_{}", name.to_ascii_uppercase()), text)
    };
    Ok(table.into_iter().map(setting).collect())
}

fn unreadable(path: &str, why: &str) -> Problem {
    Problem::new(ProblemCode::InvalidInput, format!("The configuration file {path} cannot be read: {why}"))
}

fn wrong(name: &str, value: &str, why: &str) -> Problem {
    Problem::invalid(name, format!("{name} cannot be “{value}”: {why}."))
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

    /// `docs/configuration.md` is written from the list above; `UPDATE_DOCS=1` writes it anew.
    #[test]
    fn the_document_lists_every_setting() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
        let rows = SETTINGS.iter().map(|(name, meaning)| {
            let (meaning, default) = meaning.rsplit_once("; ").unwrap_or((meaning, ""));
            format!("| `{name}` | {meaning} | {default} |\n")
        });
        let head = "# Configuration\n\nFlags win over the environment, and that over `leasehold.toml` (the same names in lower \
            case, without `JOBS_`).\nAn unknown `JOBS_*` name is warned about; a value that cannot be understood stops the \
            start.\n\n| setting | meaning | default |\n|---|---|---|\n";
        let text = std::iter::once(head.to_owned()).chain(rows).collect::<String>();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "docs/configuration.md is out of date: run this test with UPDATE_DOCS=1");
    }

    fn sources(flags: &[(&'static str, &str)], env: &[(&str, &str)], file: &[(&str, &str)]) -> Sources {
        let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        Sources {
            flags: flags.iter().map(|(k, v)| (*k, (*v).to_owned())).collect(),
            env: owned(env),
            file: owned(file),
        }
    }

    #[test]
    fn flags_win_over_the_environment_and_that_over_the_file() {
        let file = [("JOBS_MAX_CONCURRENCY", "1"), ("JOBS_LEASE_SECONDS", "30")];
        let env = [("JOBS_MAX_CONCURRENCY", "2"), ("DATABASE_URL", "sqlite:b.db")];
        let config = Config::from_sources(&sources(&[("JOBS_MAX_CONCURRENCY", "3")], &env, &file)).unwrap();
        assert_eq!(config.concurrency, 3);
        assert_eq!(config.engine.lease, Duration::from_secs(30));
        assert_eq!(config.db_url, "sqlite:b.db");
        assert!(config.warnings.is_empty());
    }

    #[test]
    fn the_database_is_found_under_both_names() {
        let url = |flags: &[(&'static str, &str)], env: &[(&str, &str)], file: &[(&str, &str)]| {
            sources(flags, env, file).database()
        };
        let file = [("JOBS_DB_URL", "sqlite:file.db")];
        assert_eq!(url(&[], &[], &[]), "sqlite:data/leasehold.db");
        assert_eq!(url(&[], &[], &file), "sqlite:file.db");
        assert_eq!(url(&[], &[("DATABASE_URL", "d"), ("JOBS_DB_URL", "j")], &file), "j");
        assert_eq!(url(&[("JOBS_DB_URL", "f")], &[("JOBS_DB_URL", "j")], &file), "f");
    }

    #[test]
    fn the_renewal_has_two_names() {
        let every = |env: &[(&str, &str)]| {
            Config::from_sources(&sources(&[], env, &[])).unwrap().renewal.every.as_secs()
        };
        assert_eq!(every(&[]), 30);
        assert_eq!(every(&[("JOBS_HEARTBEAT_SECONDS", "7")]), 7);
        assert_eq!(every(&[("JOBS_HEARTBEAT_SECONDS", "7"), ("JOBS_LEASE_RENEW_SECONDS", "9")]), 9);
    }

    #[test]
    fn unknown_names_are_warned_about_and_wrong_values_refused() {
        let config = Config::from_sources(&sources(&[], &[("JOBS_LEASE_SECOND", "5")], &[])).unwrap();
        assert!(config.warnings[0].contains("JOBS_LEASE_SECOND"));
        for (name, value) in
            [("JOBS_LEASE_SECONDS", "soon"), ("JOBS_LEASE_SECONDS", "0"), ("JOBS_LOG_JSON", "maybe")]
        {
            assert!(Config::from_sources(&sources(&[], &[(name, value)], &[])).is_err(), "{name}={value}");
        }
    }
}
