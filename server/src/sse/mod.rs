//! `GET /t/{slug}/live`: a tenant's events as they happen, resumed where the reader left off.
//!
//! Invariant: subscribe, then replay from the store up to the hub's horizon, then go on live; each id at most
//! once, in order. A reader that cannot be given everything is told to start over (`resync`) instead of being
//! left with a hole. No database connection is held while a reader is slow.

mod limits;
mod replay;

use crate::{auth::session_store, problem};
use axum::{
    extract::{Path, Query, State},
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use leasehold_app::ssr::{CurrentUser, Visit, admit};
use leasehold_queue::{Engine, params::OutboxEvent};
use leasehold_types::{Problem, ProblemCode, view::User};
pub use limits::Limits;
use serde::Deserialize;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{broadcast, mpsc},
    time::MissedTickBehavior,
};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tower_sessions::Session;

const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon an open stream notices that its session or membership has ended.
const STILL_ALLOWED: Duration = Duration::from_secs(5);
const RECONNECT: Duration = Duration::from_millis(1_500);
const BUFFERED: usize = 64;

#[derive(Clone)]
pub struct Live {
    pub engine: Arc<Engine>,
    pub limits: Arc<Limits>,
    /// Cancelled when the server is about to end.
    pub ending: CancellationToken,
}

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
    if live.ending.is_cancelled() {
        return Err(Problem::new(ProblemCode::Unavailable, "This server is about to end.").retry_after(2));
    }
    let visit = admit(&live.engine, user, &slug).await?;
    let session = session_store::id_hash(&session_id);
    let place = live.limits.enter(&session)?;
    let resumed = headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let reader = Reader {
        events: live.engine.hub().subscribe(),
        after: resumed.or(wanted.after),
        job: wanted.job,
        engine: live.engine,
        visit,
        session,
    };
    let (out, stream) = mpsc::channel(BUFFERED);
    tokio::spawn(async move {
        let _place = place;
        tokio::select! {
            () = live.ending.cancelled() => {}
            () = out.closed() => {}
            // Ends when the stream does; a closed channel is the reader going away.
            _ = reader.run(&out) => {}
        }
    });
    let events = ReceiverStream::new(stream).map(Ok::<_, Infallible>);
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
    Ok(response)
}

/// Why a stream ends.
#[derive(Debug)]
enum End {
    /// The reader must fetch its view again and start from its cursor.
    Resync,
    /// The reader has gone, or may no longer read.
    Over,
}

struct Reader {
    engine: Arc<Engine>,
    events: broadcast::Receiver<Arc<OutboxEvent>>,
    after: Option<i64>,
    job: Option<i64>,
    visit: Visit,
    session: String,
}

type Out = mpsc::Sender<Event>;

impl Reader {
    async fn run(mut self, out: &Out) {
        if let Err(End::Resync) = self.stream(out).await {
            // The reader may be gone already; then nobody needs to be told.
            let _ = out.send(Event::default().event("resync").data("{}")).await;
        }
    }

    async fn stream(&mut self, out: &Out) -> Result<Infallible, End> {
        let horizon = self.engine.hub().horizon();
        let after = self.after.unwrap_or(horizon);
        let hello = Event::default().event("hello").retry(RECONNECT).data(format!("{{\"cursor\":{after}}}"));
        send(out, hello).await?;
        let reached = self.replay(after, horizon, out).await?;
        self.follow(reached, out).await
    }

    async fn follow(&mut self, mut reached: i64, out: &Out) -> Result<Infallible, End> {
        let mut checks = tokio::time::interval(STILL_ALLOWED);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = checks.tick() => self.still_allowed().await?,
                event = self.events.recv() => {
                    let event = event.map_err(|error| match error {
                        broadcast::error::RecvError::Lagged(_) => End::Resync,
                        broadcast::error::RecvError::Closed => End::Over,
                    })?;
                    if event.event.id > reached {
                        reached = event.event.id;
                        self.forward(&event, out).await?;
                    }
                }
            }
        }
    }

    /// Sends the event if this reader asked for it and may see it.
    async fn forward(&self, event: &OutboxEvent, out: &Out) -> Result<(), End> {
        let theirs =
            event.tenant_id == self.visit.tenant.id && self.visit.scope.sees_domain(&event.event.domain);
        if !theirs || self.job.is_some_and(|job| job != event.event.number) {
            return Ok(());
        }
        match Event::default().id(event.event.id.to_string()).json_data(&event.event) {
            Ok(message) => send(out, message).await,
            Err(error) => {
                tracing::error!(%error, id = event.event.id, "an event cannot be written as JSON");
                Err(End::Resync)
            }
        }
    }

    /// The session must still be there and its user still be let in. A database that does not answer is no
    /// reason to end the stream: nothing new comes out of it anyway.
    async fn still_allowed(&self) -> Result<(), End> {
        let user = match self.signed_in_user().await {
            Ok(Some(user)) => user,
            Ok(None) => return Err(End::Over),
            Err(error) => {
                tracing::debug!(%error, "a live stream could not be checked");
                return Ok(());
            }
        };
        match admit(&self.engine, user, &self.visit.tenant.slug).await {
            Err(problem) if problem.code == ProblemCode::NotFound => Err(End::Over),
            _ => Ok(()),
        }
    }

    async fn signed_in_user(&self) -> Result<Option<User>, leasehold_queue::StoreError> {
        let store = self.engine.store();
        let session = store.session(&self.session).await?;
        match session.and_then(|row| row.user_id).filter(|id| *id == self.visit.user.id) {
            Some(id) => store.user(id).await,
            None => Ok(None),
        }
    }
}

async fn send(out: &Out, event: Event) -> Result<(), End> {
    out.send(event).await.map_err(|_| End::Over)
}
