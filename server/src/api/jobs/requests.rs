//! What callers send about jobs.

use super::caller::Caller;
use crate::api::schemas::{Anything, Moment};
use leasehold_queue::engine::EnqueueRequest;
use leasehold_types::{DefinitionId, JobRef, Problem, Source, Timestamp, view::Definition};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use utoipa::ToSchema;

const PROGRAMS_REASON: &str = "Asked for over the API";

pub type Definitions = HashMap<DefinitionId, Definition>;

/// A job to be made. What is left out comes from its definition.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewJob)]
#[serde(deny_unknown_fields)]
pub struct NewJobBody {
    /// The kind of job; or name it by `domain` and `job_type`.
    #[serde(alias = "definitionKey")]
    #[schema(example = "recompute-trained-tags")]
    definition_key: Option<String>,
    domain: Option<String>,
    queue: Option<String>,
    #[serde(alias = "jobType")]
    job_type: Option<String>,
    /// What the definition's schema says; `{}` when left out.
    #[schema(value_type = Anything, required = false)]
    payload: Option<Value>,
    /// Lower runs first; 100 when left out.
    #[schema(minimum = 1, maximum = 1000)]
    priority: Option<i32>,
    /// Not before this moment; one that has passed means now. Also `available_at`.
    #[serde(alias = "available_at", alias = "scheduledFor", alias = "availableAt")]
    #[schema(value_type = Option<Moment>)]
    scheduled_for: Option<Timestamp>,
    /// How often it may be run in all. Also `max_retries`.
    #[serde(alias = "max_retries", alias = "maxAttempts", alias = "maxRetries")]
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: Option<i32>,
    /// While a job with this key waits or runs, it is the answer.
    #[serde(alias = "dedupeKey")]
    #[schema(max_length = 200)]
    dedupe_key: Option<String>,
    /// The same key and payload again are answered by the same job.
    #[serde(alias = "idempotencyKey")]
    #[schema(max_length = 200)]
    idempotency_key: Option<String>,
    /// Jobs that share it are limited together, as their definition says.
    #[serde(alias = "concurrencyKey")]
    #[schema(max_length = 200)]
    concurrency_key: Option<String>,
    #[serde(alias = "correlationId")]
    #[schema(max_length = 200)]
    correlation_id: Option<String>,
    /// Under which other systems know what this job belongs to; a fresh one when left out.
    #[serde(alias = "traceId")]
    #[schema(max_length = 200)]
    trace_id: Option<String>,
    /// A small object of your own, kept with the job.
    #[schema(value_type = Option<Anything>)]
    metadata: Option<Value>,
    #[serde(alias = "ownerUserId")]
    #[schema(max_length = 200)]
    owner_user_id: Option<String>,
    #[serde(alias = "projectId")]
    project_id: Option<i64>,
    /// The number or id of the job this one follows from.
    #[serde(alias = "parentJobId")]
    parent_job_id: Option<String>,
}

impl NewJobBody {
    pub fn parent(&self) -> Result<Option<JobRef>, Problem> {
        let read = |text: &String| text.parse().map_err(|()| no_parent());
        self.parent_job_id.as_ref().map(read).transpose()
    }

    pub fn request(
        self,
        definitions: &Definitions,
        parent: Option<i64>,
        caller: Caller,
    ) -> Result<EnqueueRequest, Problem> {
        let definition_key = self.kind(definitions)?;
        Ok(EnqueueRequest {
            queue: self.queue,
            priority: self.priority,
            max_attempts: self.max_attempts,
            available_at: self.scheduled_for,
            dedupe_key: self.dedupe_key,
            idempotency_key: one_key(self.idempotency_key, caller.idempotency_key)?,
            concurrency_key: self.concurrency_key,
            correlation_id: self.correlation_id,
            request_id: caller.request_id,
            trace_id: self.trace_id,
            metadata: self.metadata,
            owner_user_id: self.owner_user_id,
            project_id: self.project_id,
            parent,
            ..EnqueueRequest::new(definition_key, self.payload.unwrap_or_else(|| json!({})), Source::Api)
        })
    }

    /// The key of the definition that is meant, however it was named.
    fn kind(&self, definitions: &Definitions) -> Result<String, Problem> {
        let found = match (&self.definition_key, &self.domain, &self.job_type) {
            (Some(key), domain, job_type) => {
                let known = definitions.values().find(|d| d.key == *key);
                let is_other = |d: &&Definition| {
                    domain.as_ref().is_some_and(|domain| *domain != d.domain)
                        || job_type.as_ref().is_some_and(|job_type| *job_type != d.job_type)
                };
                if known.is_some_and(|d| is_other(&d)) {
                    let message =
                        "It is of another domain or job type than the ones given. Nothing was enqueued.";
                    return Err(Problem::invalid("definition_key", message));
                }
                return Ok(key.clone());
            }
            (None, Some(domain), Some(job_type)) => {
                definitions.values().find(|d| d.domain == *domain && d.job_type == *job_type)
            }
            _ => {
                let message = "Name the kind of job: by definition_key, or by domain and job_type. Nothing was enqueued.";
                return Err(Problem::invalid("definition_key", message));
            }
        };
        let message = "There is no definition of this domain and job type. Nothing was enqueued.";
        found.map(|d| d.key.clone()).ok_or_else(|| Problem::invalid("job_type", message))
    }
}

/// The key in the header and the one in the body are the same thing.
fn one_key(body: Option<String>, header: Option<String>) -> Result<Option<String>, Problem> {
    match (body, header) {
        (Some(body), Some(header)) if body.trim() != header.trim() => {
            let message = "The header Idempotency-Key says something else. Nothing was enqueued.";
            Err(Problem::invalid("idempotency_key", message))
        }
        (body, header) => Ok(body.or(header)),
    }
}

fn no_parent() -> Problem {
    Problem::invalid("parent_job_id", "There is no such job. Nothing was enqueued.")
}

/// Places in a payload as everywhere else in a body: `payload.rows`, not `payload/rows`.
pub fn in_dots(mut problem: Problem) -> Problem {
    for error in &mut problem.errors {
        error.field = error.field.replace('/', ".");
    }
    problem
}

/// Why a job is to be cancelled.
#[derive(Deserialize, ToSchema)]
#[schema(as = Cancel)]
#[serde(deny_unknown_fields)]
pub struct CancelBody {
    /// The job’s activity shows it.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

impl CancelBody {
    pub fn reason(&self) -> &str {
        self.reason.as_deref().filter(|reason| !reason.trim().is_empty()).unwrap_or(PROGRAMS_REASON)
    }
}

/// No body, or `{}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
