//! What every case starts from: two tenants, one definition, and short words for long verbs.

use leasehold_queue::{
    Clock, Engine, EngineConfig,
    administration::DefinitionChange,
    params::{
        AttemptFacts, ClaimedJob, Created, Finish, FinishAnswer, Lease, NewDefinition, NewJob, NewTenant,
        OutboxCursor, OutboxEvent, QueueControl, Renewal, Selector,
    },
    quota::Quotas,
    scope::{Actor, Permission, Reach, Scope},
    steering::QueueAction,
    store::{Store, StoreError, StoreResult},
    transition::{Ending, Failure, Rules},
};
use leasehold_types::{
    DefinitionId, DefinitionLimits, JobRef, JobStatus, Problem, TenantId, TenantLimits, Timestamp, UserId,
    WorkerId,
    view::{BulkOperation, Definition, Jitter, JobDetail, QueueCard, RetryPolicy},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

/// Where the frozen clock of every case begins.
pub const NOW: Timestamp = Timestamp::from_secs(1_780_000_000);
pub const LEASE: Duration = Duration::from_secs(60);

pub struct Bench {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    pub a: TenantId,
    pub b: TenantId,
    pub definition: Definition,
}

impl Bench {
    pub async fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        let scope = Scope::system("test");
        let mut tenants = Vec::new();
        for name in ["Acme", "Birch"] {
            let tenant = NewTenant { slug: name.to_lowercase(), name: name.into(), timezone: "UTC".into() };
            tenants.push(store.create_tenant(&scope, tenant).await.unwrap().id);
        }
        let definition = store.ensure_definition(definition("import")).await.unwrap();
        Self { store, clock, a: tenants[0], b: tenants[1], definition }
    }

    /// A person who may operate in tenant A.
    pub fn ann(&self) -> Scope {
        person(self.a, "ann@example.org")
    }

    /// A person who may operate in tenant B.
    pub fn bob(&self) -> Scope {
        person(self.b, "bob@example.org")
    }

    /// Off means no new jobs and no claims.
    pub async fn switch_definition(&self, id: DefinitionId, active: bool) {
        let change = DefinitionChange { is_active: Some(active), ..DefinitionChange::default() };
        self.store.update_definition(&Scope::system("test"), id, change).await.unwrap();
    }

    pub fn job(&self, tenant: TenantId) -> NewJob {
        new_job(tenant, &self.definition)
    }

    pub async fn create(&self, job: NewJob) -> Created {
        self.try_create(job).await.unwrap()
    }

    pub async fn try_create(&self, job: NewJob) -> Result<Created, Problem> {
        let mut answers = self.store.create_jobs(&Scope::system("test"), vec![job]).await.unwrap();
        assert_eq!(answers.len(), 1);
        answers.remove(0)
    }

    /// `n` jobs of tenant A in one call.
    pub async fn create_many(&self, tenant: TenantId, n: usize) -> Vec<i64> {
        let jobs = (0..n).map(|_| self.job(tenant)).collect();
        let answers = self.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
        answers.into_iter().map(|a| a.unwrap().number).collect()
    }

    pub async fn claim(&self, n: u32) -> Vec<ClaimedJob> {
        self.claim_as("w1", n).await
    }

    pub async fn claim_as(&self, worker: &str, n: u32) -> Vec<ClaimedJob> {
        self.store.claim(&WorkerId(worker.into()), &Selector::default(), n, LEASE).await.unwrap()
    }

    pub async fn claim_numbers(&self, n: u32) -> Vec<i64> {
        self.claim(n).await.into_iter().map(|j| j.lease.number).collect()
    }

    /// Claims with these quotas for running jobs, named without `JOBS_QUOTA_MAX_INFLIGHT`.
    pub async fn claim_under(&self, quotas: &[(&str, i64)], n: u32) -> Vec<i64> {
        let selector = Selector { quotas: in_flight(quotas), ..Selector::default() };
        let jobs = self.store.claim(&WorkerId("w1".into()), &selector, n, LEASE).await.unwrap();
        jobs.into_iter().map(|j| j.lease.number).collect()
    }

    /// How many jobs of a tenant may run; none = as many as like.
    pub async fn limit_tenant(&self, tenant: TenantId, max_in_flight: Option<i64>) {
        let limits = TenantLimits { max_in_flight, ..TenantLimits::default() };
        self.store.set_tenant_limits(&Scope::system("test"), tenant, limits).await.unwrap();
    }

    /// Limits of the bench's own kind of job; what `change` leaves alone is not limited.
    pub async fn limit_kind(&self, change: impl FnOnce(&mut DefinitionLimits)) {
        let mut limits = DefinitionLimits::default();
        change(&mut limits);
        self.store.set_definition_limits(&Scope::system("test"), self.definition.id, limits).await.unwrap();
    }

    /// The next chunk of a bulk operation, as the engine applies it.
    pub async fn apply_chunk(&self, scope: &Scope, plan: Uuid, most: u32) -> StoreResult<BulkOperation> {
        let engine = Engine::new(self.store.clone(), self.clock.clone(), EngineConfig::default());
        Ok(engine.apply_chunk(scope, plan, most).await?)
    }

    /// Of the queue `commands/default`.
    pub async fn control_queue(&self, action: QueueAction) -> QueueControl {
        let scope = Scope::system("test");
        self.store.control_queue(&scope, "commands", "default", action, None).await.unwrap()
    }

    /// Creates one job in tenant A and claims it.
    pub async fn running(&self) -> ClaimedJob {
        self.running_with(|_| {}).await
    }

    pub async fn running_with(&self, change: impl FnOnce(&mut NewJob)) -> ClaimedJob {
        let mut job = self.job(self.a);
        change(&mut job);
        self.create(job).await;
        self.claim(1).await.remove(0)
    }

    pub async fn finish(&self, lease: &Lease, ending: Ending) -> FinishAnswer {
        self.finish_item(finish(lease, ending)).await
    }

    pub async fn finish_item(&self, item: Finish) -> FinishAnswer {
        self.finish_all(vec![item]).await.remove(0)
    }

    pub async fn finish_all(&self, items: Vec<Finish>) -> Vec<FinishAnswer> {
        self.store.finish(&rules(), items).await.unwrap()
    }

    /// Fails a claimed job with this code so that it is retried.
    pub async fn fail(&self, lease: &Lease, code: &str) -> FinishAnswer {
        self.finish(lease, failed(Some(code))).await
    }

    pub async fn detail(&self, number: i64) -> JobDetail {
        let found = self.store.job(&Scope::system("test"), JobRef::Number(number), 100).await.unwrap();
        found.unwrap_or_else(|| panic!("job {number} is missing"))
    }

    pub async fn status(&self, number: i64) -> JobStatus {
        self.detail(number).await.row.status
    }

    /// Every event so far, read as a follower of the outbox would.
    pub async fn events(&self) -> Vec<OutboxEvent> {
        let mut cursor = OutboxCursor::default();
        let mut all = Vec::new();
        for _ in 0..1_000 {
            let batch = self.store.read_outbox(&mut cursor, 100).await.unwrap();
            if batch.is_empty() && cursor.gap.is_none() {
                return all;
            }
            all.extend(batch);
        }
        panic!("the outbox has a gap that does not close")
    }

    /// The kinds of one job's events, oldest first.
    pub async fn kinds(&self, number: i64) -> Vec<&'static str> {
        let events = self.events().await;
        events.iter().filter(|e| e.event.number == number).map(|e| e.event.kind.as_str()).collect()
    }

    pub fn wait(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Drives a job of tenant A into quarantine.
    pub async fn quarantined(&self) -> i64 {
        self.quarantined_with(|_| {}).await
    }

    pub async fn quarantined_with(&self, change: impl FnOnce(&mut NewJob)) -> i64 {
        let mut new = self.job(self.a);
        new.max_attempts = 10;
        change(&mut new);
        let number = self.create(new).await.number;
        for _ in 0..3 {
            self.wait(100);
            let job = self.claim(1).await.remove(0);
            assert_eq!(job.lease.number, number);
            self.fail(&job.lease, "same").await;
        }
        assert_eq!(self.status(number).await, JobStatus::Quarantined);
        number
    }

    /// The only card of a tenant.
    pub async fn card(&self, tenant: TenantId) -> QueueCard {
        let mut cards = self.store.overview(&Scope::system("test"), tenant).await.unwrap().cards;
        assert_eq!(cards.len(), 1, "{cards:?}");
        cards.remove(0)
    }
}

/// Quotas for running jobs, named without `JOBS_QUOTA_MAX_INFLIGHT`.
pub fn in_flight(quotas: &[(&str, i64)]) -> Arc<Quotas> {
    let named = quotas.iter().map(|(name, max)| (format!("JOBS_QUOTA_MAX_INFLIGHT{name}"), *max));
    Arc::new(Quotas::new(named))
}

pub fn person(tenant: TenantId, email: &str) -> Scope {
    let actor = Actor::User { id: UserId(Uuid::now_v7()), email: email.into() };
    Scope::new(Reach::Tenant(tenant), actor, Permission::Operate)
}

/// Retries wait exactly 2 s, 4 s, … so that cases can count on it.
pub fn rules() -> Rules {
    Rules { quarantine_threshold: 3, retry: RetryPolicy { jitter: Jitter::None, ..RetryPolicy::default() } }
}

pub fn definition(key: &str) -> NewDefinition {
    NewDefinition {
        key: key.into(),
        description: format!("The {key} command"),
        domain: "commands".into(),
        job_type: key.into(),
        queue: "default".into(),
        executor: "command".into(),
        arg_schema: json!({"type": "object"}),
        timeout_seconds: 600,
        max_attempts: 3,
        retry: RetryPolicy::default(),
        stages: vec![stage("reading", 0, 50), stage("writing", 50, 100)],
        limits: DefinitionLimits::default(),
    }
}

pub fn stage(name: &str, from: u8, to: u8) -> leasehold_types::Stage {
    leasehold_types::Stage { name: name.into(), from, to }
}

pub fn new_job(tenant: TenantId, definition: &Definition) -> NewJob {
    NewJob {
        trace_id: "trace".into(),
        requested_by: "test".into(),
        ..NewJob::of(definition, tenant, json!({"n": 1}))
    }
}

pub fn finish(lease: &Lease, ending: Ending) -> Finish {
    Finish {
        lease: lease.clone(),
        ending,
        result: None,
        facts: AttemptFacts::default(),
        token: None,
        policy: None,
    }
}

pub fn failed(code: Option<&str>) -> Ending {
    Ending::Failed(Failure {
        error_code: code.map(Into::into),
        message: "it broke".into(),
        ..Failure::default()
    })
}

pub fn renewal(lease: &Lease) -> Renewal {
    Renewal { lease: lease.clone(), extend_by: LEASE, progress: None, pid: None, checkpoint: None }
}

/// The stable code of what a caller did wrong.
/// The first field a refusal names.
pub fn field_of<T>(result: &Result<T, StoreError>) -> Option<&str> {
    match result {
        Err(StoreError::Problem(problem)) => problem.errors.first().map(|error| error.field.as_str()),
        _ => None,
    }
}

pub fn code_of<T: std::fmt::Debug>(result: Result<T, StoreError>) -> &'static str {
    match result {
        Err(StoreError::Problem(problem)) => problem.code.as_str(),
        other => panic!("expected a problem, got {other:?}"),
    }
}
