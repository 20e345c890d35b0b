//! The stream of one job: a snapshot, then its events until the one that ends it.

use crate::{
    api::{
        jobs::JobView,
        schemas::{Anything, Moment},
    },
    sse::Feed,
};
use axum::response::sse::Event;
use leasehold_queue::params::OutboxEvent;
use leasehold_types::{JobId, JobStatus, LiveKind, Problem, ProblemCode, Timestamp, view::JobDetail};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

/// What happened to a job, in the words its followers expect.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobEvent {
    id: Uuid,
    #[schema(value_type = Uuid)]
    job_id: JobId,
    #[schema(value_type = Moment)]
    timestamp: Timestamp,
    /// The stage it has come to; where there is none, its state.
    stage: String,
    #[schema(minimum = 0, maximum = 100)]
    progress: i16,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    attempt: i32,
    /// `kind` and `status`, and what is known of an error or a worker.
    #[schema(value_type = Anything, required = false)]
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
}

pub struct JobStream {
    id: JobId,
    number: i64,
    stage: Option<String>,
    /// What is told before anything happens.
    opening: Vec<Event>,
    ended: bool,
}

impl JobStream {
    pub fn new(detail: JobDetail) -> Result<Self, Problem> {
        let (id, number, stage) = (detail.row.id, detail.row.number, detail.row.stage.clone());
        let (cursor, end) = (detail.cursor.to_string(), end_of(&detail));
        let snapshot = Event::default().event("snapshot").id(&cursor).json_data(JobView::from(detail));
        let mut opening = vec![snapshot.map_err(unwritable)?];
        let ended = end.is_some();
        if let Some(end) = end {
            opening.push(Event::default().id(cursor).json_data(end).map_err(unwritable)?);
        }
        Ok(Self { id, number, stage, opening, ended })
    }

    fn stage_of(&mut self, event: &OutboxEvent) -> String {
        let event = &event.event;
        if let Some(stage) = &event.stage {
            self.stage = Some(stage.clone());
        }
        let known = self.stage.clone().filter(|_| !event.kind.moves_state());
        event.stage.clone().or(known).unwrap_or_else(|| event.status.to_string())
    }
}

impl Feed for JobStream {
    fn begin(&mut self, _: i64) -> Vec<Event> {
        std::mem::take(&mut self.opening)
    }

    fn tell(&mut self, event: &OutboxEvent) -> Option<Result<Event, axum::Error>> {
        if event.event.number != self.number {
            return None;
        }
        let stage = self.stage_of(event);
        let what = &event.event;
        Some(Event::default().json_data(JobEvent {
            id: event.uuid(),
            job_id: self.id,
            timestamp: what.at,
            stage,
            progress: what.progress,
            message: what.message.clone(),
            attempt: what.attempt,
            metadata: Some(metadata(
                what.kind,
                what.status,
                what.error_code.as_deref(),
                what.worker.as_deref(),
            )),
        }))
    }

    fn is_last(&self, event: &OutboxEvent) -> bool {
        let event = &event.event;
        event.number == self.number && event.kind.moves_state() && event.status.is_terminal()
    }

    fn is_over(&self) -> bool {
        self.ended
    }

    fn is_complete(&self) -> bool {
        true
    }
}

fn metadata(kind: LiveKind, status: JobStatus, error_code: Option<&str>, worker: Option<&str>) -> Value {
    let mut metadata = json!({"kind": kind.as_str(), "status": status.as_str()});
    for (name, value) in [("error_code", error_code), ("worker_id", worker)] {
        if let Some(value) = value {
            metadata[name] = json!(value);
        }
    }
    metadata
}

/// The event of a job that has ended, read off the job: the outbox may have forgotten it.
fn end_of(detail: &JobDetail) -> Option<JobEvent> {
    let row = &detail.row;
    if !row.status.is_terminal() {
        return None;
    }
    let kind = LiveKind::of_status(row.status);
    let message = detail.error_message.clone().or_else(|| detail.cancellation_reason.clone());
    Some(JobEvent {
        id: end_id(detail),
        job_id: row.id,
        timestamp: row.completed_at.unwrap_or(detail.queued_at),
        stage: row.status.to_string(),
        progress: row.progress,
        message: message.or_else(|| row.progress_message.clone()),
        attempt: row.attempt_count,
        metadata: Some(metadata(kind, row.status, row.error_code.as_deref(), None)),
    })
}

/// The same at every look, and no event's: cursors are never negative.
fn end_id(detail: &JobDetail) -> Uuid {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&detail.tenant_id.0.as_bytes()[8..]);
    bytes[8..].copy_from_slice(&(-detail.row.number).to_be_bytes());
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

fn unwritable(error: axum::Error) -> Problem {
    tracing::error!(%error, "a job cannot be written as JSON");
    Problem::new(ProblemCode::Internal, "This job cannot be shown. The log has the details.")
}
