//! Events as the API shows them.

use crate::{
    api::schemas::{EventWord, JobState, Moment},
    sse::{Feed, hello},
};
use axum::response::sse::Event;
use leasehold_queue::{engine::EventsPage, params::OutboxEvent};
use leasehold_types::{JobStatus, LiveKind, TenantId, Timestamp, browse::KindFilter};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// Something that happened to a job.
#[derive(Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventRow {
    /// The cursor: grows with every event.
    id: i64,
    /// Its name anywhere in the world.
    event_id: Uuid,
    #[schema(value_type = EventWord)]
    kind: LiveKind,
    #[schema(value_type = Uuid)]
    tenant_id: TenantId,
    /// Of the job.
    number: i64,
    domain: String,
    queue: String,
    job_type: String,
    /// Of the job after the event.
    #[schema(value_type = JobState)]
    status: JobStatus,
    attempt: i32,
    progress: i16,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_id: Option<String>,
    #[schema(value_type = Moment)]
    created_at: Timestamp,
}

impl From<&OutboxEvent> for EventRow {
    fn from(outbox: &OutboxEvent) -> Self {
        let event = outbox.event.clone();
        Self {
            id: event.id,
            event_id: outbox.uuid(),
            kind: event.kind,
            tenant_id: outbox.tenant_id,
            number: event.number,
            domain: event.domain,
            queue: event.queue,
            job_type: event.job_type,
            status: event.status,
            attempt: event.attempt,
            progress: event.progress,
            stage: event.stage,
            message: event.message,
            error_code: event.error_code,
            worker_id: event.worker,
            created_at: event.at,
        }
    }
}

/// Events after a cursor.
#[derive(Serialize, ToSchema)]
#[schema(as = Events)]
pub struct EventsView {
    events: Vec<EventRow>,
    /// Give it as `after_id` to go on. It moves also when no event was asked for.
    next_after_id: i64,
    /// There is more to read already.
    more: bool,
}

impl From<EventsPage> for EventsView {
    fn from(page: EventsPage) -> Self {
        let events = page.events.iter().map(Into::into).collect();
        Self { events, next_after_id: page.next_after, more: page.more }
    }
}

/// All events of a tenant, or of some kinds: every one counts.
pub struct TenantStream {
    pub kind: KindFilter,
}

impl Feed for TenantStream {
    fn begin(&mut self, cursor: i64) -> Vec<Event> {
        vec![hello(cursor)]
    }

    fn tell(&mut self, event: &OutboxEvent) -> Option<Result<Event, axum::Error>> {
        let what = &event.event;
        let wanted = self.kind.matches(&what.domain, &what.queue, &what.job_type);
        wanted.then(|| Event::default().json_data(EventRow::from(event)))
    }

    fn is_complete(&self) -> bool {
        true
    }

    fn goes_on_after_resync(&self) -> bool {
        true
    }
}
