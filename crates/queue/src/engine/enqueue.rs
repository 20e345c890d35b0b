//! Enqueue, one or many, and retry.

use super::{Engine, door::Door, operations::repeat_of, wrong_state};
use crate::{
    params::{Created, HowCreated, NewJob},
    scope::{Permission, Scope},
};
use leasehold_types::{
    DefinitionId, JobRef, Problem, ProblemCode, Source, TenantId, Timestamp, view::Definition,
};
use serde_json::Value;
use std::collections::HashMap;

/// Requests that may come in one call.
pub const MOST_AT_ONCE: usize = 10_000;

/// Small requests are checked one after the other; others get their turn in between.
const BETWEEN_PAUSES: usize = 100;

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
    /// A fresh one when left out.
    pub trace_id: Option<String>,
    /// A small object of the caller's own.
    pub metadata: Option<Value>,
    pub owner_user_id: Option<String>,
    pub project_id: Option<i64>,
    /// The number of the job this one follows from.
    pub parent: Option<i64>,
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
            trace_id: None,
            metadata: None,
            owner_user_id: None,
            project_id: None,
            parent: None,
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
    /// `asked` is the kind that was asked for; who holds a dedupe key may be of another.
    fn new(job: Created, asked: String, definitions: &HashMap<DefinitionId, Definition>) -> Self {
        let own = job.definition_id.and_then(|id| definitions.get(&id));
        Self { definition_key: own.map_or(asked, |definition| definition.key.clone()), job }
    }

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
        let key = request.definition_key.clone();
        let job = Door::open(self, scope, tenant).await?.check(request).await?;
        let job = self.create_one(scope, job).await?;
        let definitions = self.definitions().await?;
        Ok(Enqueued::new(job, key, &definitions))
    }

    /// Up to ten thousand in one call to the store, with an answer for each, in their order. What is wrong with
    /// one does not hold up the others.
    pub async fn enqueue_many(
        &self,
        scope: &Scope,
        tenant: TenantId,
        requests: Vec<EnqueueRequest>,
    ) -> Result<Vec<Result<Enqueued, Problem>>, Problem> {
        scope.require(Permission::Operate)?;
        if requests.len() > MOST_AT_ONCE {
            let message = format!(
                "One call may carry at most {MOST_AT_ONCE} jobs, not {}. Nothing was enqueued.",
                requests.len()
            );
            return Err(Problem::invalid("jobs", message));
        }
        let mut door = Door::open(self, scope, tenant).await?;
        let mut jobs = Vec::with_capacity(requests.len());
        let mut answers = Vec::with_capacity(requests.len());
        for (index, request) in requests.into_iter().enumerate() {
            if index % BETWEEN_PAUSES == 0 {
                tokio::task::yield_now().await;
            }
            let key = request.definition_key.clone();
            answers.push(door.check(request).await.map(|job| {
                jobs.push(job);
                key
            }));
        }
        let definitions = self.definitions().await?;
        let mut created = self.store.create_jobs(scope, jobs).await?.into_iter();
        let mut answer = |key: String| {
            let job = created.next().unwrap_or_else(|| Err(no_answer()))?;
            Ok(Enqueued::new(job, key, &definitions))
        };
        Ok(answers.into_iter().map(|checked| checked.and_then(&mut answer)).collect())
    }

    /// A terminal job stays as it is; its retry is a new job that names it as parent.
    pub async fn retry(&self, scope: &Scope, job: JobRef) -> Result<Created, Problem> {
        scope.require(Permission::Operate)?;
        // As it was given, not as it is shown.
        let old = self.store.job(scope, job, 0).await?.ok_or_else(|| Problem::not_found("This job"))?;
        if !old.row.status.is_terminal() {
            let detail = format!(
                "Job #{} is {}. Only a job that has ended can be retried; nothing was changed.",
                old.row.number,
                old.row.status.label().to_lowercase()
            );
            return Err(wrong_state(detail));
        }
        let tenant = old.tenant_id;
        let request = repeat_of(old.into())?;
        let new = Door::open(self, scope, tenant).await?.check(request).await?;
        self.create_one(scope, new).await
    }

    async fn create_one(&self, scope: &Scope, job: NewJob) -> Result<Created, Problem> {
        let answers = self.store.create_jobs(scope, vec![job]).await?;
        answers.into_iter().next().unwrap_or_else(|| Err(no_answer()))
    }
}

fn no_answer() -> Problem {
    let detail = "The store gave no answer. Please look whether the job exists.";
    Problem::new(ProblemCode::Internal, detail)
}
