//! Enqueue and retry: the checks of the core's "create", in its order.

use super::{Engine, wrong_state};
use crate::{
    params::{Created, HowCreated, Idempotency, NewJob},
    payload,
    scope::{Permission, Scope},
};
use leasehold_types::{JobId, JobRef, Problem, ProblemCode, Source, TenantId, Timestamp, view::Definition};
use serde_json::{Value, json};
use uuid::Uuid;

const STANDARD_QUEUES: [&str; 3] = ["default", "high", "low"];

/// What a caller asks for. Everything optional falls back to the definition.
#[derive(Clone, Debug)]
pub struct EnqueueRequest {
    pub definition_key: String,
    pub payload: Value,
    pub queue: Option<String>,
    pub priority: Option<i32>,
    pub max_attempts: Option<i32>,
    pub available_at: Option<Timestamp>,
    pub dedupe_key: Option<String>,
    pub idempotency_key: Option<String>,
    pub concurrency_key: Option<String>,
    pub correlation_id: Option<String>,
    pub request_id: Option<String>,
    pub owner_user_id: Option<String>,
    pub source: Source,
}

impl EnqueueRequest {
    pub fn new(definition_key: impl Into<String>, payload: Value, source: Source) -> Self {
        Self {
            definition_key: definition_key.into(),
            payload,
            queue: None,
            priority: None,
            max_attempts: None,
            available_at: None,
            dedupe_key: None,
            idempotency_key: None,
            concurrency_key: None,
            correlation_id: None,
            request_id: None,
            owner_user_id: None,
            source,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Enqueued {
    pub job: Created,
    pub definition_key: String,
}

impl Enqueued {
    pub fn is_new(&self) -> bool {
        self.job.how == HowCreated::Inserted
    }
}

impl Engine {
    pub async fn enqueue(
        &self,
        scope: &Scope,
        tenant: TenantId,
        request: EnqueueRequest,
    ) -> Result<Enqueued, Problem> {
        scope.require(Permission::Operate)?;
        let definition = self.definition_by_key(&request.definition_key).await?;
        let job = self.prepare(scope, tenant, &definition, request)?;
        let job = self.create_one(scope, job).await?;
        Ok(Enqueued { job, definition_key: definition.key })
    }

    /// A terminal job stays as it is; its retry is a new job that names it as parent.
    pub async fn retry(&self, scope: &Scope, job: JobRef) -> Result<Created, Problem> {
        scope.require(Permission::Operate)?;
        let old = self.job(scope, job).await?;
        if !old.row.status.is_terminal() {
            let detail = format!(
                "Job #{} is {}. Only a job that has ended can be retried; nothing was changed.",
                old.row.number,
                old.row.status.label().to_lowercase()
            );
            return Err(wrong_state(detail));
        }
        let key = old
            .definition_key
            .ok_or_else(|| wrong_state("This job has no definition to run it again by."))?;
        let definition = self.definition_by_key(&key).await?;
        let request = EnqueueRequest {
            queue: Some(old.row.queue),
            priority: Some(old.row.priority),
            max_attempts: Some(old.row.max_attempts),
            concurrency_key: old.concurrency_key,
            correlation_id: old.correlation_id,
            ..EnqueueRequest::new(key, old.payload, Source::Manual)
        };
        let mut new = self.prepare(scope, old.tenant_id, &definition, request)?;
        new.parent = Some(old.row.number);
        self.create_one(scope, new).await
    }

    async fn create_one(&self, scope: &Scope, job: NewJob) -> Result<Created, Problem> {
        let answers = self.store.create_jobs(scope, vec![job]).await?;
        answers.into_iter().next().unwrap_or_else(|| {
            Err(Problem::new(
                ProblemCode::Internal,
                "The store gave no answer. Please look whether the job exists.",
            ))
        })
    }

    fn prepare(
        &self,
        scope: &Scope,
        tenant: TenantId,
        definition: &Definition,
        request: EnqueueRequest,
    ) -> Result<NewJob, Problem> {
        if !definition.is_active {
            let detail = format!("“{}” is switched off. Nothing was enqueued.", definition.key);
            return Err(Problem::new(ProblemCode::DefinitionInactive, detail));
        }
        payload::check_shape(&request.payload, self.config.max_json_bytes)?;
        payload::check_schema(&definition.arg_schema, &request.payload)?;
        let queue = request.queue.unwrap_or_else(|| definition.queue.clone());
        self.check_queue(&queue, definition)?;
        let priority = within("priority", request.priority.unwrap_or(100), 1, 1_000)?;
        let max_attempts =
            within("max_attempts", request.max_attempts.unwrap_or(definition.max_attempts), 1, 100)?;
        let now = self.now();
        let idempotency = match short("idempotency_key", request.idempotency_key)? {
            None => None,
            Some(key) => Some(Idempotency {
                key,
                payload_hash: payload::canonical_hash(&request.payload),
                expires_at: (!self.config.idempotency_ttl.is_zero())
                    .then(|| now.plus(self.config.idempotency_ttl)),
            }),
        };
        Ok(NewJob {
            id: JobId(Uuid::now_v7()),
            tenant_id: tenant,
            domain: definition.domain.clone(),
            queue,
            job_type: definition.job_type.clone(),
            definition_id: Some(definition.id),
            owner_user_id: short("owner_user_id", request.owner_user_id)?,
            project_id: None,
            source: request.source,
            source_ref: None,
            priority,
            payload: request.payload,
            metadata: json!({}),
            dedupe_key: short("dedupe_key", request.dedupe_key)?,
            idempotency,
            concurrency_key: short("concurrency_key", request.concurrency_key)?,
            correlation_id: short("correlation_id", request.correlation_id)?,
            request_id: short("request_id", request.request_id)?,
            trace_id: Uuid::new_v4().simple().to_string(),
            requested_by: scope.actor.to_string(),
            parent: None,
            max_attempts,
            // A moment that has passed is "now": the job must not jump ahead of those already waiting.
            available_at: request.available_at.filter(|at| *at > now),
        })
    }

    fn check_queue(&self, queue: &str, definition: &Definition) -> Result<(), Problem> {
        let known = STANDARD_QUEUES.contains(&queue)
            || queue == definition.queue
            || self.config.allowed_queues.iter().any(|q| q == queue);
        if known {
            return Ok(());
        }
        let message = format!("“{queue}” is not an allowed queue.");
        Err(Problem::new(ProblemCode::QueueNotAllowed, message.clone()).with_field("queue", message))
    }
}

fn within(field: &str, value: i32, low: i32, high: i32) -> Result<i32, Problem> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    Err(Problem::invalid(field, format!("It must be between {low} and {high}, not {value}.")))
}

/// Keys and ids given by callers: trimmed, at most 200 characters, no NUL; empty means none.
fn short(field: &str, value: Option<String>) -> Result<Option<String>, Problem> {
    let Some(value) = value else { return Ok(None) };
    let value = value.trim();
    if value.contains('\0') || value.chars().count() > 200 {
        return Err(Problem::invalid(field, "It must have at most 200 characters and no NUL."));
    }
    Ok((!value.is_empty()).then(|| value.to_owned()))
}
