//! What happened to jobs: by cursor, as a stream, and as the stream of one job.

mod job_stream;
mod telling;

use super::{Answer, Api, JobPath, Pairs, Refusal, openapi::guarded};
use crate::{
    auth::api_key::{Entered, KeyScope},
    sse::Who,
};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use job_stream::{JobEvent, JobStream};
use leasehold_queue::Scope;
use leasehold_types::{
    Problem, ProblemCode,
    browse::KindFilter,
    view::{JobDetail, JobRow},
};
use telling::{EventRow, EventsView, TenantStream};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

const MOST_EVENTS: usize = 1_000;
const USUAL_EVENTS: usize = 100;

pub fn routes(api: &Api) -> OpenApiRouter {
    let reading =
        OpenApiRouter::new().routes(routes!(poll)).routes(routes!(stream)).routes(routes!(follow_job));
    guarded(reading, api, KeyScope::Read).with_state(api.clone())
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its shape is described")]
struct EventParams {
    /// Events after this one.
    #[param(minimum = 0)]
    after_id: Option<i64>,
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its shape is described")]
struct PollParams {
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

fn wanted(pairs: &mut Pairs) -> Result<(Option<i64>, KindFilter), Problem> {
    Ok((pairs.number("after_id", 0..=i64::MAX)?, super::jobs::kind(pairs)?))
}

/// Read events
///
/// Oldest first, from `after_id`; 0 or nothing means the oldest that is kept. Go on with `next_after_id`. Events that
/// are no longer kept are not passed over in silence: the answer is `CURSOR_EXPIRED`.
#[utoipa::path(
    get, path = "/jobs/events", tag = "events", params(EventParams, PollParams),
    responses((status = 200, body = EventsView), Refusal)
)]
async fn poll(State(api): State<Api>, Entered(scope): Entered, mut pairs: Pairs) -> Answer<EventsView> {
    let (after, kind) = wanted(&mut pairs)?;
    let limit = pairs.number("limit", 1..=MOST_EVENTS)?.unwrap_or(USUAL_EVENTS);
    pairs.nothing_else()?;
    Ok(Json(api.engine.events_after(&scope, &kind, after.unwrap_or(0), limit).await?.into()))
}

/// Follow events
///
/// Server-sent events. Every event's `id` is its cursor: a reader that comes back with `Last-Event-ID` (or `after_id`)
/// goes on where it was, without a gap or a repeat; without either the stream begins now, and 0 is the oldest event
/// kept. `hello` says where it begins. `resync` says that events in between are no longer kept: read what you follow
/// anew; the stream goes on from there.
#[utoipa::path(
    get, path = "/jobs/events/stream", tag = "events",
    params(EventParams, ("Last-Event-ID" = Option<i64>, Header, description = "The last event seen; wins over `after_id`")),
    responses((status = 200, description = "Events until the reader leaves", content_type = "text/event-stream", body = EventRow), Refusal)
)]
async fn stream(
    State(api): State<Api>,
    Entered(scope): Entered,
    headers: HeaderMap,
    mut pairs: Pairs,
) -> Result<Response, Refusal> {
    let (after, kind) = wanted(&mut pairs)?;
    pairs.nothing_else()?;
    let after = last_seen(&headers)?.or(after);
    let seat = api.live.seat(Who::Key { scope })?;
    let after = match after {
        Some(0) => Some(api.engine.beginning(0, api.engine.hub().horizon()).await?),
        given => given,
    };
    Ok(api.live.stream(seat, after, TenantStream { kind }))
}

fn last_seen(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(given) = headers.get("last-event-id") else { return Ok(None) };
    let seen = given.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok()).filter(|id| *id >= 0);
    seen.map(Some).ok_or_else(|| Problem::invalid("Last-Event-ID", "It must be the id of an event."))
}

/// Follow one job
///
/// Server-sent events: first `snapshot`, which is the job as `GET /jobs/{id}` shows it, then its events. The stream ends
/// after the event that ended the job; a job that has ended gives its snapshot and that event. A reader that comes
/// back after that is answered 204.
#[utoipa::path(
    get, path = "/jobs/{id}/events", tag = "events",
    params(
        ("id" = String, Path, description = "The number or id of the job"),
        ("Last-Event-ID" = Option<i64>, Header, description = "The last event seen"),
    ),
    responses(
        (status = 200, description = "A snapshot, then events", content_type = "text/event-stream", body = JobEvent),
        (status = 204, description = "It has ended, and the reader knows"),
        Refusal
    )
)]
async fn follow_job(
    State(api): State<Api>,
    Entered(scope): Entered,
    JobPath(job): JobPath,
    headers: HeaderMap,
    pairs: Pairs,
) -> Result<Response, Refusal> {
    pairs.nothing_else()?;
    let seen = last_seen(&headers)?;
    // First the seat, then the look: what happens in between is heard.
    let seat = api.live.seat(Who::Key { scope: scope.clone() })?;
    let detail = api.engine.job_without_logs(&scope, job).await?;
    if detail.row.status.is_terminal() && knows_the_end(&api, &scope, seen, &detail).await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let cursor = detail.cursor;
    Ok(api.live.stream(seat, Some(cursor), JobStream::new(detail)?))
}

/// Nothing has happened to the job since the event the reader saw last.
async fn knows_the_end(
    api: &Api,
    scope: &Scope,
    seen: Option<i64>,
    job: &JobDetail,
) -> Result<bool, Problem> {
    let Some(seen) = seen.filter(|seen| *seen > 0) else { return Ok(false) };
    let JobRow { domain, queue, job_type, .. } = job.row.clone();
    let kind = KindFilter { domain: Some(domain), queue: Some(queue), job_type: Some(job_type) };
    match api.engine.events_after(scope, &kind, seen, usize::MAX).await {
        Ok(page) => Ok(!page.more
            && page.events.iter().all(|e| e.event.number != job.row.number || !e.event.kind.moves_state())),
        // So old that nobody can say.
        Err(problem) if problem.code == ProblemCode::CursorExpired => Ok(false),
        Err(problem) => Err(problem),
    }
}
