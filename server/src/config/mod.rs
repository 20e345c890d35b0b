//! Configuration: one typed [`Config`] from flags, the environment (`JOBS_*`) and `leasehold.toml`, in that
//! order of precedence. A name nobody knows is warned about, a value nobody understands stops the start, and so does
//! everything somebody relies on for protection and would not get.

mod clock;
mod contradictions;
mod http;
mod metrics;
mod report;
mod served;
mod settings;
mod sources;
#[cfg(test)]
mod tests;
mod unavailable;
mod workers;

use crate::sse::StreamLimits;
pub use http::HttpConfig;
use leasehold_queue::{
    Clock, EngineConfig,
    allow::AllowList,
    cadence::Cadence,
    domains::DomainPolicy,
    quota::{Quota, Quotas},
    secrets::{OnSecret, SecretPolicy},
    signing::SHORTEST_LIFE,
};
use leasehold_types::{Problem, Timestamp};
pub use metrics::{Anonymous, MetricsConfig};
pub use report::{Report, Setting};
use served::Served;
pub use settings::help;
use sources::{Sources, read_file, wrong};
use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use url::Url;

#[derive(Clone, Debug)]
pub struct Config {
    pub addr: SocketAddr,
    pub db_url: String,
    pub commands_file: Option<PathBuf>,
    pub providers_file: Option<PathBuf>,
    pub concurrency: usize,
    pub served: Served,
    pub auto_migrate: bool,
    /// The clock stands still, for tests.
    pub frozen_at: Option<Timestamp>,
    pub longest_lease: Duration,
    pub renewal: Cadence,
    pub engine: EngineConfig,
    pub shutdown_wait: Duration,
    pub setup_ttl: Duration,
    /// Where people find this installation; links that leave the dashboard begin with it.
    pub public_url: Option<Url>,
    pub http: HttpConfig,
    pub log_json: bool,
    pub metrics: MetricsConfig,
    pub streams: StreamLimits,
    /// Said once the log is there.
    pub warnings: Vec<String>,
    /// Every setting as it is in effect, for those who run the installation.
    pub report: Arc<Report>,
}

impl Config {
    /// `flags` are settings given on the command line, by the names of the environment.
    pub fn load(flags: Vec<(&'static str, String)>) -> Result<Self, Problem> {
        Self::from_sources(&sources(flags)?)
    }

    pub fn clock(&self) -> Clock {
        self.frozen_at.map_or_else(Clock::system, Clock::frozen)
    }

    /// As far as it can be understood: what cannot is left out, and comes as a problem each.
    pub fn inspect(flags: Vec<(&'static str, String)>) -> (Option<Self>, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut sources = match sources(flags) {
            Ok(sources) => sources,
            Err(problem) => return (None, vec![problem]),
        };
        loop {
            match Self::from_sources(&sources) {
                Ok(config) => return (Some(config), problems),
                Err(problem) => {
                    let named = problem.errors.first().map(|error| error.field.clone());
                    problems.push(problem);
                    if !named.is_some_and(|name| sources.forget(&name)) {
                        return (None, problems);
                    }
                }
            }
        }
    }

    fn from_sources(sources: &Sources) -> Result<Self, Problem> {
        unavailable::check(sources)?;
        contradictions::check(sources)?;
        let engine = engine(sources)?;
        let heartbeat = sources.seconds("JOBS_HEARTBEAT_SECONDS", 30)?;
        let renewal = Cadence {
            every: sources.seconds("JOBS_LEASE_RENEW_SECONDS", heartbeat.as_secs())?,
            jitter: sources.seconds("JOBS_LEASE_RENEW_JITTER_SECONDS", 5)?,
        };
        let public_url = http::public_url(sources)?;
        let report = Report::of(sources);
        Ok(Self {
            addr: sources.parsed("JOBS_ADDR", SocketAddr::from(([127, 0, 0, 1], 3_000)))?,
            db_url: sources.database(),
            commands_file: sources.get("JOBS_COMMANDS_FILE").map(PathBuf::from),
            providers_file: sources.get("JOBS_PROVIDERS_FILE").map(PathBuf::from),
            concurrency: sources.parsed("JOBS_MAX_CONCURRENCY", 8)?,
            frozen_at: clock::frozen_at(sources)?,
            served: served::served(sources)?,
            auto_migrate: sources.switch("JOBS_AUTO_MIGRATE", true)?,
            longest_lease: engine.longest_lease,
            renewal,
            engine,
            shutdown_wait: sources.seconds("JOBS_SHUTDOWN_WAIT_FOR_LEASES_SEC", 0)?,
            setup_ttl: sources.seconds("JOBS_SETUP_TTL_SECONDS", 86_400)?,
            http: http::http(sources, public_url.as_ref())?,
            public_url,
            log_json: sources.switch("JOBS_LOG_JSON", false)?,
            metrics: metrics::metrics(sources)?,
            streams: StreamLimits {
                per_process: sources.parsed("JOBS_SSE_MAX_STREAMS", 2_000)?,
                per_tenant: sources.parsed("JOBS_SSE_MAX_STREAMS_PER_TENANT", 1_000)?,
                per_session: sources.parsed("JOBS_SSE_MAX_STREAMS_PER_SESSION", 20)?,
            },
            warnings: report.warnings.clone(),
            report: Arc::new(report),
        })
    }
}

fn engine(sources: &Sources) -> Result<EngineConfig, Problem> {
    let mut engine = EngineConfig {
        lease: sources.seconds("JOBS_LEASE_SECONDS", 60)?,
        max_json_bytes: sources.parsed("JOBS_MAX_JSON_BYTES", 1_048_576)?,
        max_attachment_bytes: sources.parsed("JOBS_MAX_ATTACHMENT_BYTES", 25 * 1_048_576)?,
        attachment_url_ttl: attachment_url_ttl(sources)?,
        allowed_queues: allow_list(sources, "JOBS_ALLOWED_QUEUES")?,
        allowed_job_types: allow_list(sources, "JOBS_ALLOWED_JOB_TYPES")?,
        quotas: quotas(sources)?,
        high_watermark: sources.number_from_zero("JOBS_QUEUE_HIGH_WATERMARK")?,
        secrets: secrets(sources)?,
        domains: domains(sources)?,
        archive_before_delete: sources.switch("JOBS_ARCHIVE_BEFORE_DELETE", false)?,
        events_kept: Duration::from_secs(sources.parsed::<u32>("JOBS_EVENTS_RETENTION_HOURS", 168)?.into())
            * 3_600,
        operations_kept: Duration::from_secs(
            sources.parsed::<u32>("JOBS_OPERATIONS_RETENTION_DAYS", 30)?.into(),
        ) * 86_400,
        idempotency_ttl: sources.seconds("JOBS_IDEMPOTENCY_TTL_SECONDS", 86_400)?,
        remote: workers::limits(sources)?,
        ..EngineConfig::default()
    };
    engine.rules.quarantine_threshold =
        sources.parsed("JOBS_QUARANTINE_THRESHOLD", engine.rules.quarantine_threshold)?;
    engine.longest_lease = sources.seconds("JOBS_LEASE_MAX_SECONDS", 3_600)?;
    if engine.lease.is_zero() || engine.lease > engine.longest_lease {
        let rule = "must be at least 1 and at most JOBS_LEASE_MAX_SECONDS";
        return Err(wrong("JOBS_LEASE_SECONDS", &engine.lease.as_secs().to_string(), rule));
    }
    Ok(engine)
}

fn sources(flags: Vec<(&'static str, String)>) -> Result<Sources, Problem> {
    let env: BTreeMap<_, _> = std::env::vars_os()
        .filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)))
        .filter(|(k, _)| k.to_ascii_uppercase().starts_with("JOBS_") || k == "DATABASE_URL")
        .collect();
    let file = read_file(env.get("JOBS_CONFIG_FILE").map(String::as_str))?;
    Ok(Sources { flags: flags.into_iter().collect(), env, file })
}

/// Who is kept to which domains; a list stands under the id of its user, or the prefix of its key.
fn domains(sources: &Sources) -> Result<DomainPolicy, Problem> {
    let name = "JOBS_DOMAIN_ALLOWLIST";
    let lists = sources.family(name).into_iter().filter_map(|(member, text)| {
        let id = member[name.len()..].strip_prefix('_')?.to_owned();
        Some((id, sources::items(&text, ',')))
    });
    Ok(DomainPolicy {
        scoped: sources.switch("JOBS_DOMAIN_SCOPED_RBAC", false)?,
        filter_required: sources.switch("JOBS_REQUIRE_DOMAIN_FILTER", false)?,
        forced: sources.switch("JOBS_RBAC_FORCE", false)?,
        lists: lists.collect(),
    })
}

/// A link that a job's result carries must work long enough to be used.
fn attachment_url_ttl(sources: &Sources) -> Result<Duration, Problem> {
    let name = "JOBS_ATTACHMENT_URL_TTL_SECONDS";
    let life = sources.seconds(name, 3_600)?;
    if life < SHORTEST_LIFE {
        let rule = format!("it must be at least {}", SHORTEST_LIFE.as_secs());
        return Err(wrong(name, &life.as_secs().to_string(), &rule));
    }
    Ok(life)
}

/// The list for all domains, and those of single domains by what follows the name.
fn allow_list(sources: &Sources, name: &str) -> Result<AllowList, Problem> {
    let mut lists = Vec::new();
    for (member, text) in sources.family(name) {
        let domain = member[name.len()..].trim_start_matches('_').to_owned();
        lists.push((domain, sources::some_items(&member, &text, ',')?));
    }
    Ok(AllowList::new(lists))
}

fn quotas(sources: &Sources) -> Result<Quotas, Problem> {
    let mut all = Vec::new();
    for (name, text) in Quota::ALL.iter().flat_map(|quota| sources.family(quota.setting())) {
        all.push((name.clone(), sources::number_from_zero(&name, &text)?));
    }
    Ok(Quotas::new(all))
}

/// Refusing wins over blotting out.
fn secrets(sources: &Sources) -> Result<SecretPolicy, Problem> {
    let redact = sources.switch("JOBS_SECRET_REDACT", false)?;
    let on_secret = match sources.switch("JOBS_SECRET_REJECT", false)? {
        true => OnSecret::Reject,
        false if redact => OnSecret::Redact,
        false => OnSecret::Allow,
    };
    let given = |name: &str, separator| {
        sources.get(name).map(|text| sources::some_items(name, text, separator)).transpose()
    };
    SecretPolicy::new(
        on_secret,
        given("JOBS_SECRET_DENY_KEYS", ',')?.as_deref(),
        given("JOBS_SECRET_PATTERNS", ';')?.as_deref(),
    )
}
