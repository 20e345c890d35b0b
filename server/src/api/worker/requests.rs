//! What a worker asks for, and the jobs it gets.

use crate::api::schemas::{Anything, Moment, StageShape};
use leasehold_queue::{Actor, EngineConfig, Scope, engine::RemoteClaim, params::ClaimedJob};
use leasehold_types::{DefinitionId, JobId, LeaseId, Problem, Stage, Timestamp, WorkerId, view::Definition};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::HashMap, time::Duration};
use utoipa::ToSchema;
use uuid::Uuid;

const MOST_JOBS: u32 = 100;
const LONGEST_WAIT: u32 = 30;
const LONGEST_NAME: usize = 128;
const MOST_PAIRS: usize = 50;
/// Of a domain with the name of a kind or queue in it, in characters.
const LONGEST_PAIR: usize = 200;

/// The worker's own name behind its key's prefix: one key cannot speak for the worker of another.
pub fn full_name(scope: &Scope, name: &str) -> WorkerId {
    match &scope.actor {
        Actor::Key { prefix, .. } => WorkerId(format!("{prefix}/{name}")),
        Actor::User { .. } | Actor::Terminal(_) | Actor::System(_) => WorkerId(name.to_owned()),
    }
}

pub fn check_name(name: &str) -> Result<(), Problem> {
    let plain = name.bytes().all(|b| b.is_ascii_graphic());
    if plain && (1..=LONGEST_NAME).contains(&name.len()) {
        return Ok(());
    }
    let message = format!("It must be 1 to {LONGEST_NAME} letters, digits or signs without blanks.");
    Err(Problem::invalid("worker_id", message))
}

/// Which jobs a worker takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name for as long as it lives; a key may have only so many workers at a time.
    #[schema(min_length = 1, max_length = 128)]
    worker_id: Option<String>,
    /// `domain/job_type` or `domain/*`.
    #[serde(default)]
    #[schema(max_items = 50)]
    kinds: Vec<String>,
    /// `domain/queue`.
    #[serde(default)]
    #[schema(max_items = 50)]
    queues: Vec<String>,
    limit: Option<u32>,
    lease_seconds: Option<u64>,
    wait_seconds: Option<u32>,
}

impl Claim {
    /// The worker's own name, what it asks for, and how long it will wait.
    pub fn checked(
        self,
        scope: &Scope,
        config: &EngineConfig,
    ) -> Result<(String, RemoteClaim, Duration), Problem> {
        let name = self.worker_id.unwrap_or_else(|| format!("worker:{}", Uuid::new_v4().simple()));
        check_name(&name)?;
        config.secrets.program_name("worker_id", &name)?;
        for (i, queue) in self.queues.iter().enumerate() {
            config.secrets.program_name(&format!("queues[{i}]"), queue)?;
        }
        let (limit, wait) = (self.limit.unwrap_or(1), self.wait_seconds.unwrap_or(0));
        if !(1..=MOST_JOBS).contains(&limit) {
            return Err(Problem::invalid("limit", format!("It must be between 1 and {MOST_JOBS}.")));
        }
        if wait > LONGEST_WAIT {
            return Err(Problem::invalid("wait_seconds", format!("It must be at most {LONGEST_WAIT}.")));
        }
        let claim = RemoteClaim {
            worker: full_name(scope, &name),
            kinds: pairs("kinds", &self.kinds)?,
            queues: pairs("queues", &self.queues)?,
            limit,
            lease: lease(self.lease_seconds, config)?,
        };
        Ok((name, claim, Duration::from_secs(u64::from(wait))))
    }
}

/// Nothing said means the installation's own; the longest lease is a cap, not a mistake.
pub fn lease(seconds: Option<u64>, config: &EngineConfig) -> Result<Duration, Problem> {
    match seconds {
        None => Ok(config.lease),
        Some(0) => Err(Problem::invalid("lease_seconds", "It must be at least 1.")),
        Some(seconds) => Ok(Duration::from_secs(seconds).min(config.longest_lease)),
    }
}

fn pairs(field: &str, given: &[String]) -> Result<Vec<(String, String)>, Problem> {
    if given.len() > MOST_PAIRS {
        let message = format!("A claim may name at most {MOST_PAIRS}; `domain/*` means all of a domain.");
        return Err(Problem::invalid(field, message));
    }
    let mut pairs = Vec::with_capacity(given.len());
    for (i, text) in given.iter().enumerate() {
        if text.chars().count() > LONGEST_PAIR || text.chars().any(char::is_control) {
            let message =
                format!("It must have at most {LONGEST_PAIR} characters, and no control characters.");
            return Err(Problem::invalid(format!("{field}[{i}]"), message));
        }
        match text.split_once('/') {
            Some((domain, name)) if !domain.is_empty() && !name.is_empty() => {
                pairs.push((domain.to_owned(), name.to_owned()));
            }
            _ => {
                let message = format!("“{text}” must be written as domain/name.");
                return Err(Problem::invalid(format!("{field}[{i}]"), message));
            }
        }
    }
    Ok(pairs)
}

/// The jobs a worker holds now.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimedJobs)]
pub struct Claimed {
    worker_id: String,
    jobs: Vec<RemoteJob>,
}

/// A job, with the lease under which the worker holds it.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimedJob)]
struct RemoteJob {
    number: i64,
    #[schema(value_type = Uuid)]
    id: JobId,
    #[schema(value_type = Uuid)]
    lease_id: LeaseId,
    #[schema(value_type = Moment)]
    leased_until: Timestamp,
    tenant: String,
    domain: String,
    queue: String,
    job_type: String,
    #[schema(value_type = Anything)]
    payload: Value,
    /// What an earlier attempt left to go on from.
    #[schema(value_type = Anything, required = false)]
    checkpoint: Option<Value>,
    attempt: i32,
    max_attempts: i32,
    progress_percent: i16,
    timeout_seconds: Option<i32>,
    #[schema(value_type = Vec<StageShape>)]
    stages: Vec<Stage>,
    trace_id: String,
    request_id: Option<String>,
}

impl Claimed {
    pub fn new(
        worker_id: String,
        jobs: Vec<ClaimedJob>,
        definitions: &HashMap<DefinitionId, Definition>,
    ) -> Self {
        let rules = |job: &ClaimedJob| job.definition_id.and_then(|id| definitions.get(&id));
        let jobs = jobs.into_iter().map(|job| RemoteJob {
            timeout_seconds: rules(&job).map(|d| d.timeout_seconds),
            stages: rules(&job).map(|d| d.stages.clone()).unwrap_or_default(),
            number: job.lease.number,
            id: job.id,
            lease_id: job.lease.lease_id,
            leased_until: job.leased_until,
            tenant: job.tenant_slug,
            domain: job.domain,
            queue: job.queue,
            job_type: job.job_type,
            payload: job.payload,
            checkpoint: job.checkpoint,
            attempt: job.attempt,
            max_attempts: job.max_attempts,
            progress_percent: job.progress,
            trace_id: job.trace_id,
            request_id: job.request_id,
        });
        Self { worker_id, jobs: jobs.collect() }
    }
}
