//! The door every new job comes through. The order of the checks is part of the contract:
//!
//! 1. the definition is active, and the payload is not too large: everything that follows takes longer the larger it
//!    is, so its bytes are counted before anything else looks at it;
//! 2. the request fits the definition: payload against the JSON Schema, priority, attempts, keys;
//! 3. the queue and the job type are on the allow-lists;
//! 4. secrets: refused or blotted out, before anything is remembered of the payload (its hash included);
//! 5. idempotent replay, then dedupe: an existing job is the answer, and nothing below is asked;
//! 6. the gates ([`crate::gate`]): concurrency key, quotas, rates, the queue's high watermark;
//! 7. the insert, with event, audit row and counters; then workers are woken.
//!
//! The first four are decided here and change nothing; the store does the rest in one transaction.

use super::Engine;
use crate::{
    arg_schema::Allowance,
    gate::rules::{Limits, gates_of},
    params::{Idempotency, NewJob},
    payload,
    scope::Scope,
    secrets::{KeyHash, SecretPolicy},
};
use leasehold_types::{
    DefinitionId, Problem, ProblemCode, TenantId, TenantLimits, Timestamp, view::Definition,
};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};

use super::enqueue::EnqueueRequest;

const LARGEST_METADATA: usize = 16 * 1024;
const STANDARD_QUEUES: [&str; 3] = ["default", "high", "low"];

/// What the requests of one call are held against; definitions and limits are read once.
pub struct Door<'a> {
    engine: &'a Engine,
    tenant: TenantId,
    scope: Scope,
    requested_by: String,
    now: Timestamp,
    definitions: Arc<HashMap<DefinitionId, Definition>>,
    tenant_limits: TenantLimits,
    /// What checking payloads may still cost.
    allowance: Allowance,
    key_hash: KeyHash,
}

impl<'a> Door<'a> {
    pub async fn open(engine: &'a Engine, scope: &Scope, tenant: TenantId) -> Result<Self, Problem> {
        Ok(Self {
            engine,
            tenant,
            scope: scope.clone(),
            requested_by: scope.actor.to_string(),
            now: engine.now(),
            definitions: engine.definitions().await?,
            tenant_limits: engine.limits_of(tenant).await?,
            allowance: Allowance::default(),
            key_hash: engine.key_hash().await?.clone(),
        })
    }

    /// The same door for jobs of another tenant.
    pub fn turn_to(&mut self, tenant: TenantId, limits: TenantLimits) {
        (self.tenant, self.tenant_limits) = (tenant, limits);
    }

    /// The next job belongs to another call.
    pub fn next_call(&mut self) {
        self.allowance = Allowance::default();
    }

    /// The payload of a job of this kind has these members, whatever values they will get.
    pub fn check_frame(&self, definition: &Definition, template: &Value) -> Result<(), Problem> {
        self.engine.checker(definition)?.check_frame(template)
    }

    /// The job this request becomes, with the gates it still has to pass. What is wrong with a request is said without
    /// the secrets in it.
    pub async fn check(&mut self, request: EnqueueRequest) -> Result<NewJob, Problem> {
        let policy = self.engine.config.secrets.knowing(&request.payload);
        self.checked(request, &policy).await.map_err(|problem| policy.problem(problem))
    }

    async fn checked(
        &mut self,
        mut request: EnqueueRequest,
        policy: &SecretPolicy,
    ) -> Result<NewJob, Problem> {
        let definitions = self.definitions.clone();
        let key = &request.definition_key;
        let definition = definitions.values().find(|d| d.key == *key).ok_or_else(|| {
            Problem::invalid("definition_key", format!("There is no definition called “{key}”."))
        })?;
        self.scope.check_domain(&definition.domain)?;
        if !definition.is_active {
            let detail = format!("“{key}” is switched off. Nothing was enqueued.");
            return Err(Problem::new(ProblemCode::DefinitionInactive, detail));
        }
        payload::check_shape(&request.payload, self.engine.config.max_json_bytes)?;
        let checker = self.engine.checker(definition)?;
        request.payload = checker.check(request.payload, &mut self.allowance).await?;
        let mut job = self.job(definition, request)?;
        self.check_lists(definition, &job.queue)?;
        let config = &self.engine.config;
        self.apply(policy, &mut job)?;
        if let Some(idempotency) = &mut job.idempotency {
            idempotency.payload_hash = payload::canonical_hash(&job.payload);
        }
        let limits = Limits {
            quotas: &config.quotas,
            high_watermark: config.high_watermark,
            tenant: &self.tenant_limits,
            definition: &definition.limits,
        };
        job.gates = gates_of(&job, &limits);
        Ok(job)
    }

    /// Payload and metadata by the installation's policy; keys and ids are never kept with a secret in them.
    fn apply(&self, policy: &SecretPolicy, job: &mut NewJob) -> Result<(), Problem> {
        policy.apply("payload", &mut job.payload)?;
        policy.apply("metadata", &mut job.metadata)?;
        let ids = [
            ("dedupe_key", job.dedupe_key.as_mut()),
            ("idempotency_key", job.idempotency.as_mut().map(|idempotency| &mut idempotency.key)),
            ("concurrency_key", job.concurrency_key.as_mut()),
            ("correlation_id", job.correlation_id.as_mut()),
            ("request_id", job.request_id.as_mut()),
            ("trace_id", Some(&mut job.trace_id)),
            ("owner_user_id", job.owner_user_id.as_mut()),
        ];
        for (field, id) in ids {
            if let Some(id) = id {
                *id = policy.id(field, std::mem::take(id), &self.key_hash)?;
            }
        }
        Ok(())
    }

    fn job(&self, definition: &Definition, request: EnqueueRequest) -> Result<NewJob, Problem> {
        let ttl = self.engine.config.idempotency_ttl;
        // The hash is taken once it is known what of the payload is kept.
        let idempotency = short("idempotency_key", request.idempotency_key)?.map(|key| Idempotency {
            key,
            payload_hash: String::new(),
            expires_at: (!ttl.is_zero()).then(|| self.now.plus(ttl)),
        });
        let queue = short("queue", request.queue)?.unwrap_or_else(|| definition.queue.clone());
        let max_attempts = request.max_attempts.unwrap_or(definition.max_attempts);
        let made = NewJob::of(definition, self.tenant, request.payload);
        Ok(NewJob {
            queue,
            trace_id: short("trace_id", request.trace_id)?.unwrap_or(made.trace_id),
            metadata: small("metadata", request.metadata)?.unwrap_or(made.metadata),
            owner_user_id: short("owner_user_id", request.owner_user_id)?,
            project_id: request.project_id,
            parent: request.parent,
            source: request.source,
            priority: within("priority", request.priority.unwrap_or(100), 1, 1_000)?,
            dedupe_key: short("dedupe_key", request.dedupe_key)?,
            idempotency,
            concurrency_key: short("concurrency_key", request.concurrency_key)?,
            correlation_id: short("correlation_id", request.correlation_id)?,
            request_id: short("request_id", request.request_id.or_else(|| self.scope.request_id.clone()))?,
            requested_by: self.requested_by.clone(),
            max_attempts: within("max_attempts", max_attempts, 1, 100)?,
            // A moment that has passed is "now": the job must not jump ahead of those already waiting.
            available_at: request.available_at.filter(|at| *at > self.now),
            ..made
        })
    }

    fn check_lists(&self, definition: &Definition, queue: &str) -> Result<(), Problem> {
        let (config, domain) = (&self.engine.config, &definition.domain);
        let known = STANDARD_QUEUES.contains(&queue)
            || queue == definition.queue
            || config.allowed_queues.names(domain, queue);
        if !known {
            let message = format!("“{queue}” is not an allowed queue. Nothing was enqueued.");
            return Err(not_allowed(ProblemCode::QueueNotAllowed, "queue", message));
        }
        let types = &config.allowed_job_types;
        if types.is_set(domain) && !types.names(domain, &definition.job_type) {
            let message = format!(
                "“{}” is not among the job types allowed in {domain}. Nothing was enqueued.",
                definition.job_type
            );
            return Err(not_allowed(ProblemCode::JobTypeNotAllowed, "job_type", message));
        }
        Ok(())
    }
}

fn not_allowed(code: ProblemCode, field: &str, message: String) -> Problem {
    Problem::new(code, message.clone()).with_field(field, message)
}

fn within(field: &str, value: i32, low: i32, high: i32) -> Result<i32, Problem> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let message = format!("It must be between {low} and {high}, not {value}. Nothing was enqueued.");
    Err(Problem::invalid(field, message))
}

/// An object that is carried along; what is large belongs into the payload.
fn small(field: &str, value: Option<Value>) -> Result<Option<Value>, Problem> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    if !value.is_object() || payload::check_shape(&value, LARGEST_METADATA).is_err() {
        let message = "It must be a JSON object of at most 16 KiB, without NUL. Nothing was enqueued.";
        return Err(Problem::invalid(field, message));
    }
    Ok(Some(value))
}

/// Keys and ids given by callers: at most 200 characters as they were sent, no NUL; trimmed, and empty means none.
fn short(field: &str, value: Option<String>) -> Result<Option<String>, Problem> {
    let Some(value) = value else { return Ok(None) };
    if value.contains('\0') || value.chars().count() > 200 {
        let message = "It must have at most 200 characters and no NUL. Nothing was enqueued.";
        return Err(Problem::invalid(field, message));
    }
    let value = value.trim();
    Ok((!value.is_empty()).then(|| value.to_owned()))
}
