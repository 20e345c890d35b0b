//! `GET /t/{slug}/live`: a tenant's events for its pages.

use super::{Feed, Live, Who, hello};
use crate::{auth::session_store, problem};
use axum::{
    extract::{Path, Query, State},
    http::HeaderMap,
    response::{Response, sse::Event},
};
use leasehold_app::ssr::CurrentUser;
use leasehold_queue::params::OutboxEvent;
use leasehold_types::{Problem, ProblemCode};
use serde::Deserialize;
use tower_sessions::Session;

#[derive(Deserialize)]
pub struct Wanted {
    after: Option<i64>,
    job: Option<i64>,
}

pub async fn live(
    State(live): State<Live>,
    Path(slug): Path<String>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
    session: Session,
    axum::Extension(current): axum::Extension<CurrentUser>,
) -> Response {
    match open(live, slug, wanted, &headers, &session, current).await {
        Ok(response) => response,
        Err(problem) => problem::respond(&problem),
    }
}

async fn open(
    live: Live,
    slug: String,
    wanted: Wanted,
    headers: &HeaderMap,
    session: &Session,
    current: CurrentUser,
) -> Result<Response, Problem> {
    let (Some(user), Some(session_id)) = (current.0, session.id()) else {
        return Err(Problem::new(ProblemCode::Unauthenticated, "Please sign in first."));
    };
    let visit = Box::new(live.engine.visit(user, &slug).await?);
    let session = session_store::id_hash(&session_id);
    let seat = live.seat(Who::Session { visit, session })?;
    let resumed = headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    Ok(live.stream(seat, resumed.or(wanted.after), Page { job: wanted.job }))
}

/// What an island hears: it reads its page again, so one that is far behind is better off starting over.
struct Page {
    job: Option<i64>,
}

impl Feed for Page {
    fn begin(&mut self, cursor: i64) -> Vec<Event> {
        vec![hello(cursor)]
    }

    fn tell(&mut self, event: &OutboxEvent) -> Option<Result<Event, axum::Error>> {
        let wanted = self.job.is_none_or(|job| job == event.event.number);
        wanted.then(|| event.json().map(|text| Event::default().data(text)).map_err(axum::Error::new))
    }
}
