//! What goes into the store's verbs and what comes out of them.

mod new_job;
mod wake;

use crate::{claim_gate::ClaimGate, quota::Quotas, scope::Scope, transition::Ending};
use leasehold_types::{
    DefinitionId, DefinitionLimits, JobId, JobStatus, KeyId, LeaseId, LiveEvent, LogStream, Role, Stage,
    TenantId, Timestamp, UserId, WorkerId,
    view::{JobRow, RetryPolicy},
};
pub use new_job::{CreateAnswer, Created, HowCreated, Idempotency, NewJob, held_out_of_sight};
use serde_json::Value;
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use uuid::Uuid;
pub use wake::{LaneName, MOST_LANES, Wake};

// ---- people -------------------------------------------------------------------------------------

#[derive(Clone, Debug)]
pub struct NewTenant {
    pub slug: String,
    pub name: String,
    pub timezone: String,
}

/// What is left out stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TenantChange {
    pub name: Option<String>,
    pub timezone: Option<String>,
}

impl TenantChange {
    /// For the audit log.
    pub fn in_words(&self) -> String {
        let parts = [("name", &self.name), ("time zone", &self.timezone)];
        let given = parts.iter().filter_map(|(what, value)| Some(format!("{what}: {}", value.as_ref()?)));
        given.collect::<Vec<_>>().join(", ")
    }
}

#[derive(Clone, Debug)]
pub struct NewUser {
    /// Lower-cased by the engine.
    pub email: String,
    pub name: String,
    pub password_hash: String,
    pub super_admin: bool,
    pub membership: Option<(TenantId, Role)>,
}

#[derive(Clone, Debug)]
pub struct NewKey {
    pub id: KeyId,
    /// None: the installation's, which only those who reach every tenant may make.
    pub tenant_id: Option<TenantId>,
    pub name: String,
    pub prefix: String,
    pub secret_hash: String,
    pub scopes: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

impl NewKey {
    /// Nobody makes a key that reaches further than they do.
    pub fn is_within(&self, scope: &Scope) -> bool {
        self.tenant_id.map_or(scope.tenant().is_none(), |tenant| scope.reaches(tenant))
    }
}

/// A signed-in browser, or one that has only a message waiting for it.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionRow {
    /// SHA-256 of the cookie's id.
    pub id_hash: String,
    pub user_id: Option<UserId>,
    pub data: Value,
    pub expires_at: Timestamp,
}

// ---- definitions --------------------------------------------------------------------------------

/// Executors of definitions that can be made by hand.
pub const COMMAND: &str = "command";
pub const REMOTE: &str = "remote";

#[derive(Clone, PartialEq, Debug)]
pub struct NewDefinition {
    pub key: String,
    pub description: String,
    pub domain: String,
    pub job_type: String,
    pub queue: String,
    /// [`COMMAND`], [`REMOTE`] or `builtin`.
    pub executor: String,
    pub arg_schema: Value,
    pub timeout_seconds: i32,
    pub max_attempts: i32,
    pub retry: RetryPolicy,
    pub stages: Vec<Stage>,
    pub limits: DefinitionLimits,
}

// ---- claim, renew, finish -----------------------------------------------------------------------

/// What a worker can run. Empty lists mean "any".
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Selector {
    /// `(domain, job_type)` pairs.
    pub kinds: Vec<(String, String)>,
    /// `(domain, queue)` pairs.
    pub queues: Vec<(String, String)>,
    pub tenant: Option<TenantId>,
    pub owner: Option<String>,
    pub project: Option<i64>,
    /// The installation's quotas the claim must respect; [`crate::Engine::claim`] fills them in.
    pub quotas: Arc<Quotas>,
    /// Looked at once more when the claim has got its turn; [`crate::Engine::claim`] fills it in.
    pub gate: ClaimGate,
}

/// What a worker shows with every write; the fence compares all of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lease {
    pub number: i64,
    pub worker_id: WorkerId,
    pub lease_id: LeaseId,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ClaimedJob {
    pub lease: Lease,
    pub id: JobId,
    pub tenant_id: TenantId,
    pub tenant_slug: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub definition_id: Option<DefinitionId>,
    pub payload: Value,
    pub checkpoint: Option<Value>,
    pub attempt: i32,
    pub max_attempts: i32,
    pub progress: i16,
    pub leased_until: Timestamp,
    pub trace_id: String,
    pub request_id: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Renewal {
    pub lease: Lease,
    /// How long from now the job stays held; the store caps it at the longest lease and never shortens.
    pub extend_by: Duration,
    pub progress: Option<Measured>,
    pub pid: Option<i32>,
    pub checkpoint: Option<Value>,
}

/// A progress report after [`crate::progress::measure`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measured {
    pub stage: Option<String>,
    pub percent: Option<i16>,
    pub message: Option<String>,
    /// When the stage was entered; none = now.
    pub at: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RenewAnswer {
    Held {
        cancel_requested: bool,
    },
    /// The lease is no longer the job's: stop, and drop whatever comes out.
    Lost,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Finish {
    pub lease: Lease,
    pub ending: Ending,
    pub result: Option<Value>,
    pub facts: AttemptFacts,
    /// Repeating a finish with the same token is answered "already done" and has no effect.
    pub token: Option<String>,
    /// The definition's policy, when it has one.
    pub policy: Option<RetryPolicy>,
}

/// What is only known on the worker's machine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AttemptFacts {
    pub pid: Option<i32>,
    pub exit_code: Option<i32>,
    pub stdout_tail: Option<String>,
    pub stderr_tail: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FinishAnswer {
    Applied(JobStatus),
    AlreadyDone(JobStatus),
    /// Refused: another worker holds the job, or it has ended.
    Stale,
    NotFound,
}

#[derive(Clone, PartialEq, Debug)]
pub struct NewLogLine {
    pub seq: i64,
    pub stream: LogStream,
    pub text: String,
    pub at: Timestamp,
}

/// A job taken back from a worker that was not heard of.
#[derive(Clone, PartialEq, Debug)]
pub struct Reclaimed {
    pub number: i64,
    pub status: JobStatus,
    pub worker_id: WorkerId,
}

// ---- steering -----------------------------------------------------------------------------------

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelAnswer {
    /// It was waiting (queued or quarantined) and is cancelled now.
    Cancelled,
    /// It is running; the worker has been told.
    Requested,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueControl {
    pub domain: String,
    pub queue: String,
    pub paused: bool,
    pub draining: bool,
}

/// Under this name a worker's metadata lists the providers it can call.
pub const PROVIDERS: &str = "providers";

/// A worker's sign of life.
#[derive(Clone, PartialEq, Debug)]
pub struct Heartbeat {
    pub worker_id: WorkerId,
    pub hostname: String,
    pub version: String,
    pub queues: Vec<String>,
    pub commands: Vec<String>,
    pub running_count: i32,
    pub metadata: Value,
    pub started_at: Timestamp,
}

// ---- outbox -------------------------------------------------------------------------------------

/// Where a reader of the outbox stands, and the gap it waits at, if any.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OutboxCursor {
    pub after: i64,
    pub gap: Option<OutboxGap>,
}

/// Ids that are missing because their transactions had not ended when the gap was first seen. It may be
/// passed once every transaction with an id below `until_xid` is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxGap {
    pub first_missing: i64,
    pub until_xid: i64,
}

#[derive(Clone, PartialEq, Debug)]
pub struct OutboxEvent {
    pub tenant_id: TenantId,
    pub event: LiveEvent,
    written: Written,
}

/// What the first reader wrote down for all others; it says nothing new, so it does not count in comparisons.
#[derive(Clone, Default, Debug)]
struct Written(OnceLock<Box<str>>);

impl PartialEq for Written {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl OutboxEvent {
    pub fn new(tenant_id: TenantId, event: LiveEvent) -> Self {
        Self { tenant_id, event, written: Written::default() }
    }

    /// The event as JSON: written once, however many readers a process has.
    pub fn json(&self) -> Result<&str, serde_json::Error> {
        if let Some(text) = self.written.0.get() {
            return Ok(text);
        }
        let text = serde_json::to_string(&self.event)?;
        Ok(self.written.0.get_or_init(|| text.into()))
    }

    /// The event's name anywhere in the world: the random half of its tenant's id, then its cursor. Nothing is
    /// stored for it, and every reader finds the same one.
    pub fn uuid(&self) -> Uuid {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.tenant_id.0.as_bytes()[8..]);
        bytes[8..].copy_from_slice(&self.event.id.to_be_bytes());
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }
}

/// Rows and the cursor they are current to.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    pub rows: Vec<JobRow>,
    pub next: Option<i64>,
}
