//! Jobs to be made, and what became of them.

use crate::gate::Gate;
use leasehold_types::{
    DefinitionId, JobId, JobStatus, Problem, ProblemCode, Source, TenantId, Timestamp, view::Definition,
};
use serde_json::{Value, json};
use uuid::Uuid;

/// A job that has passed the engine's checks. The store still decides about keys.
#[derive(Clone, PartialEq, Debug)]
pub struct NewJob {
    pub id: JobId,
    pub tenant_id: TenantId,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub definition_id: Option<DefinitionId>,
    pub owner_user_id: Option<String>,
    pub project_id: Option<i64>,
    pub source: Source,
    pub source_ref: Option<String>,
    pub priority: i32,
    pub payload: Value,
    pub metadata: Value,
    pub dedupe_key: Option<String>,
    pub idempotency: Option<Idempotency>,
    pub concurrency_key: Option<String>,
    pub correlation_id: Option<String>,
    pub request_id: Option<String>,
    pub trace_id: String,
    pub requested_by: String,
    /// The number of the job this one repeats.
    pub parent: Option<i64>,
    pub max_attempts: i32,
    pub available_at: Option<Timestamp>,
    /// What must have room for it, in the order of the checks; empty = it may always come in.
    pub gates: Vec<Gate>,
}

impl NewJob {
    /// A job with nothing special about it: the default queue and priority, three attempts, due at once.
    pub fn new(
        tenant_id: TenantId,
        domain: impl Into<String>,
        job_type: impl Into<String>,
        payload: Value,
    ) -> Self {
        Self {
            id: JobId(Uuid::now_v7()),
            tenant_id,
            domain: domain.into(),
            queue: "default".into(),
            job_type: job_type.into(),
            definition_id: None,
            owner_user_id: None,
            project_id: None,
            source: Source::Api,
            source_ref: None,
            priority: 100,
            payload,
            metadata: json!({}),
            dedupe_key: None,
            idempotency: None,
            concurrency_key: None,
            correlation_id: None,
            request_id: None,
            trace_id: Uuid::new_v4().simple().to_string(),
            requested_by: "system".into(),
            parent: None,
            max_attempts: 3,
            available_at: None,
            gates: Vec::new(),
        }
    }

    /// A job of this kind, with the definition's own queue and attempts.
    pub fn of(definition: &Definition, tenant_id: TenantId, payload: Value) -> Self {
        Self {
            queue: definition.queue.clone(),
            definition_id: Some(definition.id),
            max_attempts: definition.max_attempts,
            ..Self::new(tenant_id, &*definition.domain, &*definition.job_type, payload)
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idempotency {
    pub key: String,
    pub payload_hash: String,
    /// None = for ever.
    pub expires_at: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HowCreated {
    Inserted,
    /// The idempotency key was used before with the same payload: this is that job.
    Replayed,
    /// An active job holds the dedupe key: this is that job.
    Deduplicated,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Created {
    pub number: i64,
    pub id: JobId,
    pub status: JobStatus,
    pub queued_at: Timestamp,
    pub how: HowCreated,
    /// Of the job that there is, which may be another kind than was asked for.
    pub domain: String,
    pub definition_id: Option<DefinitionId>,
}

/// An active job holds the dedupe key, and the caller may know nothing of its domain.
pub fn held_out_of_sight() -> Problem {
    let detail = "A job outside your domains holds this dedupe key. Nothing was created; use another key.";
    Problem::new(ProblemCode::AlreadyExists, detail).with_field("dedupe_key", detail)
}

/// One answer per job asked for, in the same order.
pub type CreateAnswer = Result<Created, Problem>;
