//! Who runs jobs.

use crate::{
    api::{
        Answer, Api, Refusal,
        schemas::{Anything, Moment, SilenceView},
    },
    auth::api_key::Entered,
};
use axum::{Json, extract::State};
use leasehold_types::{Timestamp, view::WorkerView};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

const NAMES_SHOWN: usize = 20;

/// The workers heard of lately.
#[derive(Serialize, ToSchema)]
pub struct Workers {
    /// At most 200, the newest sign of life first.
    workers: Vec<Worker>,
    /// How many there are, listed or not.
    live: i64,
    /// How many of them are not heard of.
    stale: i64,
}

/// A process that runs jobs.
#[derive(Serialize, ToSchema)]
pub struct Worker {
    worker_id: String,
    hostname: String,
    version: String,
    /// `domain/queue`; the first 20.
    queues: Vec<String>,
    /// How many queues it claims from, listed or not.
    queue_count: usize,
    /// The first 20.
    commands: Vec<String>,
    /// How many kinds of job it can run, listed or not.
    command_count: usize,
    /// For a silent worker: the jobs whose leases still stand.
    running_count: i32,
    #[schema(value_type = Moment)]
    started_at: Timestamp,
    #[schema(value_type = Moment)]
    last_seen_at: Timestamp,
    /// Three beats were missed.
    stale: bool,
    /// Then it says for how long, and what becomes of its jobs.
    silent: Option<SilenceView>,
    /// What it tells of itself.
    #[schema(value_type = Anything)]
    metadata: Value,
}

impl From<WorkerView> for Worker {
    fn from(view: WorkerView) -> Self {
        Self {
            worker_id: view.worker_id,
            hostname: view.hostname,
            version: view.version,
            queue_count: view.queues.len(),
            queues: first(view.queues),
            command_count: view.commands.len(),
            commands: first(view.commands),
            running_count: view.running_count,
            started_at: view.started_at,
            last_seen_at: view.last_seen_at,
            stale: view.stale,
            silent: view.silent.map(Into::into),
            metadata: view.metadata,
        }
    }
}

/// List the workers
///
/// Those heard of within the last hour, the latest first.
#[utoipa::path(
    get, path = "/admin/workers", operation_id = "list_workers", tag = "admin",
    responses((status = 200, body = Workers), Refusal)
)]
pub async fn list(State(api): State<Api>, Entered(scope): Entered) -> Answer<Workers> {
    let list = api.engine.workers(&scope).await?;
    let workers = list.workers.into_iter().map(Worker::from).collect();
    Ok(Json(Workers { workers, live: list.live, stale: list.stale }))
}

fn first(mut names: Vec<String>) -> Vec<String> {
    names.truncate(NAMES_SHOWN);
    names
}
