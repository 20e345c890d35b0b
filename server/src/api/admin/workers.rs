//! Who runs jobs.

use crate::{
    api::{
        Answer, Api, Refusal,
        words::{Anything, Moment},
    },
    auth::api_key::Entered,
};
use axum::{Json, extract::State};
use leasehold_types::{Timestamp, view::WorkerView};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The workers heard of lately.
#[derive(Serialize, ToSchema)]
pub struct Workers {
    workers: Vec<Worker>,
}

/// A process that runs jobs.
#[derive(Serialize, ToSchema)]
pub struct Worker {
    worker_id: String,
    hostname: String,
    version: String,
    /// `domain/queue`.
    queues: Vec<String>,
    commands: Vec<String>,
    running_count: i32,
    #[schema(value_type = Moment)]
    started_at: Timestamp,
    #[schema(value_type = Moment)]
    last_seen_at: Timestamp,
    /// Three beats were missed.
    stale: bool,
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
            queues: view.queues,
            commands: view.commands,
            running_count: view.running_count,
            started_at: view.started_at,
            last_seen_at: view.last_seen_at,
            stale: view.stale,
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
    let workers = api.engine.workers(&scope).await?.into_iter().map(Worker::from).collect();
    Ok(Json(Workers { workers }))
}
