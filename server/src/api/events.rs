//! What happened to jobs: by cursor, as a stream, and as the stream of one job.

mod job_stream;
mod responses;
mod token;

use super::{
    Answer, Api, JobParam, JobPath, QueryPairs, Refusal,
    openapi::{SESSION, STREAM_TOKEN, for_readers, guarded},
};
use crate::auth::{
    api_key::{Entered, KeyScope},
    stream_reader::{StreamReader, TENANT, TOKEN},
};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use job_stream::{JobEvent, JobStream};
use leasehold_queue::Scope;
use leasehold_types::{
    Problem, ProblemCode,
    browse::KindFilter,
    view::{JobDetail, JobRow},
};
use responses::{EventRow, EventsView, TenantStream};
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

const MOST_EVENTS: usize = 1_000;
const USUAL_EVENTS: usize = 100;

pub fn routes(api: &Api) -> OpenApiRouter {
    let reading = guarded(OpenApiRouter::new().routes(routes!(poll)), api, KeyScope::Read);
    let streams = OpenApiRouter::new().routes(routes!(stream)).routes(routes!(follow_job));
    let tokens = OpenApiRouter::new().routes(routes!(token::create));
    reading
        .merge(for_readers(streams, &[SESSION, STREAM_TOKEN]))
        .merge(for_readers(tokens, &[SESSION]))
        .with_state(api.clone())
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

/// Of streams, beside what is asked for.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its shape is described")]
struct ReaderParams {
    /// The tenant's slug: needed by somebody signed in; for a key the same as `X-Tenant`.
    tenant: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "only its shape is described")]
struct PollParams {
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

fn wanted(pairs: &mut QueryPairs) -> Result<(Option<i64>, KindFilter), Problem> {
    Ok((pairs.number("after_id", 0..=i64::MAX)?, super::jobs::kind(pairs)?))
}

/// List events
///
/// Oldest first, from `after_id`; 0 or nothing means the oldest that is kept. Go on with `next_after_id`. Events that
/// are no longer kept are not passed over in silence: the answer is `CURSOR_EXPIRED`.
#[utoipa::path(
    get, path = "/jobs/events", operation_id = "list_events", tag = "events", params(EventParams, PollParams),
    responses((status = 200, body = EventsView), Refusal)
)]
async fn poll(State(api): State<Api>, Entered(scope): Entered, mut pairs: QueryPairs) -> Answer<EventsView> {
    let (after, kind) = wanted(&mut pairs)?;
    let limit = pairs.number("limit", 1..=MOST_EVENTS)?.unwrap_or(USUAL_EVENTS);
    pairs.nothing_else()?;
    Ok(Json(api.engine.events_after(&scope, &kind, after.unwrap_or(0), limit).await?.into()))
}

/// Stream events
///
/// Server-sent events. Every event's `id` is its cursor: a reader that comes back with `Last-Event-ID` (or `after_id`)
/// goes on where it was, without a gap or a repeat; without either the stream begins now, and 0 is the oldest event
/// kept. `hello` says where it begins. `resync` says that events in between are no longer kept: read what you follow
/// anew; the stream goes on from there.
///
/// A browser opens it with the session of whoever is signed in (`?tenant=slug`), or with a token (`?token=…`).
#[utoipa::path(
    get, path = "/jobs/events/stream", operation_id = "stream_events", tag = "events",
    params(EventParams, ReaderParams, ("Last-Event-ID" = Option<String>, Header, pattern = "^[0-9]{1,18}$", description = "The last event seen; wins over `after_id`")),
    responses((status = 200, description = "Events until the reader leaves", content_type = "text/event-stream", body = EventRow), Refusal)
)]
async fn stream(
    State(api): State<Api>,
    reader: StreamReader,
    headers: HeaderMap,
    mut pairs: QueryPairs,
) -> Result<Response, Refusal> {
    let (after, kind) = wanted(&mut pairs)?;
    nothing_but_who(pairs)?;
    let kind = bound_to_events(&reader, kind)?;
    let by_token = reader.bound.is_some();
    let after = last_seen(&headers)?.or(after);
    reader.scope().choose_domains(kind.domain.as_deref())?;
    let seat = api.live.seat(reader.who)?;
    let after = match after {
        Some(0) => Some(api.engine.beginning(0, api.engine.hub().horizon()).await?),
        given => given,
    };
    Ok(for_pages_anywhere(by_token, api.live.stream(seat, after, TenantStream { kind })))
}

/// A page of another site may read what a token opens: the token is the right to it, and no cookie was looked at.
fn for_pages_anywhere(by_token: bool, mut stream: Response) -> Response {
    if by_token {
        let headers = stream.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    }
    stream
}

/// Who reads has been found out before.
fn nothing_but_who(mut pairs: QueryPairs) -> Result<(), Problem> {
    pairs.one::<String>(TOKEN)?;
    pairs.one::<String>(TENANT)?;
    pairs.nothing_else()
}

/// The kinds a token was made for; else those asked for.
fn bound_to_events(reader: &StreamReader, asked: KindFilter) -> Result<KindFilter, Problem> {
    match &reader.bound {
        None => Ok(asked),
        Some(claims) if claims.job.is_some() => Err(other_stream()),
        Some(_) if asked != KindFilter::default() => Err(Problem::invalid(
            TOKEN,
            "The token says which events it is for: leave out domain, queue and job_type.",
        )),
        Some(claims) => Ok(claims.kind()),
    }
}

fn other_stream() -> Problem {
    Problem::new(ProblemCode::Forbidden, "This token was made for another stream.")
}

fn last_seen(headers: &HeaderMap) -> Result<Option<i64>, Problem> {
    let Some(given) = headers.get("last-event-id") else { return Ok(None) };
    let seen = given.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok()).filter(|id| *id >= 0);
    seen.map(Some).ok_or_else(|| Problem::invalid("Last-Event-ID", "It must be the id of an event."))
}

/// Stream a job’s events
///
/// Server-sent events: first `snapshot`, which is the job as `GET /jobs/{id}` shows it, then its events. The stream ends
/// after the event that ended the job; a job that has ended gives its snapshot and that event. A reader that comes
/// back after that is answered 204.
///
/// A browser opens it with the session of whoever is signed in (`?tenant=slug`), or with a token (`?token=…`).
#[utoipa::path(
    get, path = "/jobs/{id}/events", operation_id = "stream_job_events", tag = "events",
    params(
        JobParam,
        ReaderParams,
        ("Last-Event-ID" = Option<String>, Header, pattern = "^[0-9]{1,18}$", description = "The last event seen"),
    ),
    responses(
        (status = 200, description = "A snapshot, then events", content_type = "text/event-stream", body = JobEvent),
        (status = 204, description = "It has ended, and the reader knows"),
        Refusal
    )
)]
async fn follow_job(
    State(api): State<Api>,
    reader: StreamReader,
    JobPath(job): JobPath,
    headers: HeaderMap,
    pairs: QueryPairs,
) -> Result<Response, Refusal> {
    nothing_but_who(pairs)?;
    let seen = last_seen(&headers)?;
    let (scope, bound) = (reader.scope().clone(), reader.bound);
    // First the seat, then the look: what happens in between is heard.
    let seat = api.live.seat(reader.who)?;
    let detail = api.engine.job_without_logs(&scope, job).await?;
    let by_token = bound.is_some();
    if bound.is_some_and(|claims| claims.job != Some(detail.row.number)) {
        return Err(other_stream().into());
    }
    if detail.row.status.is_terminal() && knows_the_end(&api, &scope, seen, &detail).await? {
        return Ok(for_pages_anywhere(by_token, StatusCode::NO_CONTENT.into_response()));
    }
    let cursor = detail.cursor;
    Ok(for_pages_anywhere(by_token, api.live.stream(seat, Some(cursor), JobStream::new(detail)?)))
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
