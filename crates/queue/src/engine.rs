//! The engine: what pages, the API, workers and the command line call. It checks permission and input, lets
//! the pure parts decide, and has the store persist.

mod accounts;
mod administration;
mod app_events;
mod attachments;
mod audit;
mod callers;
mod checkers;
mod chores;
mod claim;
mod diagnosis;
mod door;
mod enqueue;
mod leases;
mod limits;
mod operations;
mod people;
mod remote;
mod scheduler;
mod sessions;
mod shown;
mod sign_ins;
mod sweeps;
mod trigger_checks;
mod trigger_draft;
mod triggers;
mod units;
mod visits;

use crate::{
    allow::AllowList,
    claim_gate::ClaimGate,
    clock::Clock,
    domains::DomainPolicy,
    hub::Hub,
    params::{CancelAnswer, QueueControl},
    quota::Quotas,
    refusals::Refusals,
    remote::RemoteLimits,
    scope::{Permission, Scope},
    secrets::{KeyHash, SecretPolicy},
    signing::{Signer, fresh_secret},
    silence,
    steering::QueueAction,
    store::Store,
    transition::Rules,
};
pub use accounts::{KEY_SCOPES, KeyRequest, SESSION_ADDRESS, SESSION_AGENT, SESSION_SEEN};
pub use administration::QueueState;
pub use app_events::{AppEventRequest, EventAnswer};
pub use callers::{EventsPage, MOST_SKIPPED};
pub use enqueue::{EnqueueRequest, Enqueued, MOST_AT_ONCE};
use leasehold_types::{
    DefinitionId, JobFilter, JobRef, JobStatus, PageRequest, Problem, ProblemCode, TenantId, Timestamp,
    view::{Definition, JobDetail, JobsPage, LogLine, Overview, Silence, WorkerList},
};
pub use operations::MOST_OPERATIONS;
pub use people::{SetupRequest, normalise_email, text as checked_text};
pub use remote::{Ended, Held, KeptLines, RemoteClaim, Renewed};
pub use sign_ins::{Knock, TriedFrom};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
pub use sweeps::Swept;
pub use trigger_draft::TriggerDraft;
pub use visits::Visit;

#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// `JOBS_LEASE_SECONDS`
    pub lease: Duration,
    /// `JOBS_LEASE_MAX_SECONDS`
    pub longest_lease: Duration,
    /// `JOBS_MAX_JSON_BYTES`
    pub max_json_bytes: usize,
    /// `JOBS_MAX_ATTACHMENT_BYTES`
    pub max_attachment_bytes: usize,
    /// `JOBS_ATTACHMENT_URL_TTL_SECONDS`
    pub attachment_url_ttl: Duration,
    /// `JOBS_ALLOWED_QUEUES`, beside the standard three and each definition's own.
    pub allowed_queues: AllowList,
    /// `JOBS_ALLOWED_JOB_TYPES`; where nothing is said, every type is allowed.
    pub allowed_job_types: AllowList,
    /// `JOBS_QUOTA_*`
    pub quotas: Quotas,
    /// `JOBS_QUEUE_HIGH_WATERMARK`; 0 = off.
    pub high_watermark: i64,
    /// `JOBS_SECRET_*`
    pub secrets: SecretPolicy,
    /// `JOBS_IDEMPOTENCY_TTL_SECONDS`; 0 = for ever.
    pub idempotency_ttl: Duration,
    /// `JOBS_DOMAIN_SCOPED_RBAC` and its kin.
    pub domains: DomainPolicy,
    /// `JOBS_ARCHIVE_BEFORE_DELETE`
    pub archive_before_delete: bool,
    /// `JOBS_EVENTS_RETENTION_HOURS`; 0 = for ever.
    pub events_kept: Duration,
    /// `JOBS_OPERATIONS_RETENTION_DAYS`: bulk operations that have finished; 0 = for ever.
    pub operations_kept: Duration,
    /// `JOBS_WORKER_MAX_*`
    pub remote: RemoteLimits,
    pub rules: Rules,
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            longest_lease: Duration::from_secs(3_600),
            max_json_bytes: 1_048_576,
            max_attachment_bytes: 25 * 1_048_576,
            attachment_url_ttl: Duration::from_secs(3_600),
            allowed_queues: AllowList::default(),
            allowed_job_types: AllowList::default(),
            quotas: Quotas::default(),
            high_watermark: 0,
            secrets: SecretPolicy::default(),
            idempotency_ttl: Duration::from_secs(86_400),
            domains: DomainPolicy::default(),
            archive_before_delete: false,
            events_kept: Duration::from_secs(7 * 86_400),
            operations_kept: Duration::from_secs(30 * 86_400),
            remote: RemoteLimits::default(),
            rules: Rules::default(),
        }
    }
}

/// How long definitions are remembered; an edit is obeyed everywhere after that.
const DEFINITIONS_FRESH: Duration = Duration::from_secs(1);
/// The installation's secret for keys and ids, made by whoever needs it first.
const KEY_HASH: &str = "key_hash_secret";
/// Log lines per attempt on a job's page.
pub const PAGE_LOG_LINES: u32 = 500;
/// Workers on one list; beyond that they are counted.
const WORKERS_LISTED: u32 = 200;

type Remembered = Option<(Instant, Arc<HashMap<DefinitionId, Definition>>)>;

pub struct Engine {
    store: Arc<dyn Store>,
    clock: Clock,
    config: EngineConfig,
    hub: Hub,
    definitions: Mutex<Remembered>,
    checkers: checkers::Checkers,
    tenant_limits: limits::Remembered,
    quotas: Arc<Quotas>,
    gate: ClaimGate,
    claimed: std::sync::atomic::AtomicU64,
    signer: Mutex<Option<(Instant, Arc<Signer>)>>,
    refusals: Mutex<Refusals>,
    key_hash: tokio::sync::OnceCell<KeyHash>,
}

impl Engine {
    pub fn new(store: Arc<dyn Store>, clock: Clock, config: EngineConfig) -> Self {
        let quotas = Arc::new(config.quotas.clone());
        let (hub, gate, definitions) = (Hub::default(), ClaimGate::default(), Mutex::new(None));
        let tenant_limits = limits::Remembered::default();
        let (signer, claimed) = (Mutex::new(None), Default::default());
        let checkers = checkers::Checkers::default();
        Self {
            store,
            clock,
            config,
            hub,
            definitions,
            checkers,
            tenant_limits,
            quotas,
            gate,
            claimed,
            signer,
            refusals: Mutex::default(),
            key_hash: tokio::sync::OnceCell::new(),
        }
    }

    /// For reading what the engine has no verb for: metrics, streams, the hub. Changes go through the engine.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    // ---- definitions

    /// All definitions, at most a second old.
    pub async fn definitions(&self) -> Result<Arc<HashMap<DefinitionId, Definition>>, Problem> {
        if let Some((read_at, known)) = self.remembered().as_ref()
            && read_at.elapsed() < DEFINITIONS_FRESH
        {
            return Ok(known.clone());
        }
        let fresh: HashMap<_, _> = self.store.definitions().await?.into_iter().map(|d| (d.id, d)).collect();
        let fresh = Arc::new(fresh);
        *self.remembered() = Some((Instant::now(), fresh.clone()));
        Ok(fresh)
    }

    /// Forgets what is remembered, after a change made by this process.
    pub fn definitions_changed(&self) {
        *self.remembered() = None;
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Remembered> {
        self.definitions.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub async fn definition_by_key(&self, key: &str) -> Result<Definition, Problem> {
        let definitions = self.definitions().await?;
        definitions.values().find(|d| d.key == key).cloned().ok_or_else(|| {
            Problem::invalid("definition_key", format!("There is no definition called “{key}”."))
        })
    }

    // ---- reading

    /// As it may be shown, with the last lines of its log.
    pub async fn job(&self, scope: &Scope, job: JobRef) -> Result<JobDetail, Problem> {
        self.job_shown(scope, job, PAGE_LOG_LINES).await
    }

    /// Secrets never leave the engine this way, whatever was let in or kept by an older version.
    async fn job_shown(&self, scope: &Scope, job: JobRef, lines: u32) -> Result<JobDetail, Problem> {
        scope.require(Permission::View)?;
        let found = self.store.job(scope, job, lines).await?;
        let mut detail = found.ok_or_else(|| Problem::not_found("This job"))?;
        shown::hide_in_job(&self.config.secrets, &mut detail);
        if detail.row.status == JobStatus::Processing {
            detail.silent = self.silence_of(detail.row.number).await?;
        }
        Ok(detail)
    }

    pub async fn list(
        &self,
        scope: &Scope,
        filter: &JobFilter,
        page: PageRequest,
    ) -> Result<JobsPage, Problem> {
        scope.require(Permission::View)?;
        let limit = page.limit.clamp(1, 200);
        let filter = self.as_kept(filter).await?;
        let filter = scope.narrowed(&filter)?;
        Ok(self.store.list(scope, &filter, PageRequest { limit, ..page }).await?)
    }

    pub async fn overview(&self, scope: &Scope, tenant: TenantId) -> Result<Overview, Problem> {
        scope.require(Permission::View)?;
        if !scope.reaches(tenant) {
            return Err(Problem::not_found("This tenant"));
        }
        let mut overview = self.store.overview(scope, tenant).await?;
        overview.cards.retain(|card| scope.sees_domain(&card.domain));
        overview.running.retain(|job| scope.sees_domain(&job.domain));
        overview.recent_failures.retain(|job| scope.sees_domain(&job.domain));
        Ok(overview)
    }

    pub async fn logs(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: i32,
        after: i64,
    ) -> Result<Vec<LogLine>, Problem> {
        scope.require(Permission::View)?;
        let mut lines = self.store.logs(scope, job, attempt, after, 1_000).await?;
        shown::hide_in_lines(self.config.secrets.redactor(), &mut lines);
        Ok(lines)
    }

    /// Whether the worker of a running job is not heard of.
    async fn silence_of(&self, number: i64) -> Result<Option<Silence>, Problem> {
        let hold = self.store.hold(number).await?;
        Ok(hold.and_then(|hold| silence::of_job(&hold, self.now())))
    }

    pub async fn workers(&self, scope: &Scope) -> Result<WorkerList, Problem> {
        scope.require(Permission::Govern)?;
        Ok(self.store.workers(WORKERS_LISTED).await?)
    }

    // ---- steering

    /// People must say why.
    pub async fn cancel(&self, scope: &Scope, job: JobRef, reason: &str) -> Result<CancelAnswer, Problem> {
        scope.require(Permission::Operate)?;
        let reason = self.reason_given(reason)?;
        Ok(self.store.cancel(scope, job, Some(&reason)).await?)
    }

    pub async fn requeue(&self, scope: &Scope, job: JobRef, reason: &str) -> Result<(), Problem> {
        scope.require(Permission::Operate)?;
        let reason = self.reason_given(reason)?;
        Ok(self.store.requeue(scope, job, Some(&reason)).await?)
    }

    /// Pauses, drains or resumes; answers with the state that holds now.
    pub async fn control_queue(
        &self,
        scope: &Scope,
        domain: &str,
        queue: &str,
        action: QueueAction,
        reason: &str,
    ) -> Result<QueueControl, Problem> {
        scope.require(Permission::Govern)?;
        scope.check_domain(domain)?;
        let reason = self.reason_given(reason)?;
        Ok(self.store.control_queue(scope, domain, queue, action, Some(&reason)).await?)
    }

    /// Why somebody does something, as the trail and the audit log may show it.
    fn reason_given(&self, reason: &str) -> Result<String, Problem> {
        self.config.secrets.words("reason", reason_given(reason)?)
    }

    /// Stands for keys and ids with a secret in them; the same in every process that shares the database.
    async fn key_hash(&self) -> Result<&KeyHash, Problem> {
        let read = async || -> Result<KeyHash, Problem> {
            Ok(KeyHash::new(&self.store.ensure_setting(KEY_HASH, &fresh_secret()?).await?))
        };
        self.key_hash.get_or_try_init(read).await
    }
}

fn reason_given(reason: &str) -> Result<&str, Problem> {
    // As it was sent, so that what a description promises holds to the letter.
    if reason.chars().count() > 500 || reason.contains('\0') {
        return Err(Problem::invalid("reason", "Please keep the reason under 500 characters."));
    }
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(Problem::invalid("reason", "Please give a reason; it is shown with the job's activity."));
    }
    Ok(reason)
}

fn wrong_state(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemCode::WrongState, detail)
}
