//! Live streams: events as they happen, resumed where the reader left off.
//!
//! Invariant: subscribe, then replay from the store up to the hub's horizon, then go on live; each id at most
//! once, in order. A reader that cannot be given everything is told to start over (`resync`) instead of being
//! left with a hole. No database connection is held while a reader is slow.
//!
//! Who reads ([`Who`]: a session or a key) and what they are told ([`Feed`]: a page's events, a tenant's, one
//! job's) are apart from how it is read ([`reader`]).

mod feed;
mod limits;
mod page;
mod reader;
mod replay;
mod rights;
mod who;

use crate::{database::Database, metrics::ProcessFigures};
use axum::{
    http::{HeaderName, HeaderValue},
    response::{
        IntoResponse, Response,
        sse::{KeepAlive, Sse},
    },
};
pub use feed::{Feed, hello};
use leasehold_queue::{Engine, params::OutboxEvent};
use leasehold_types::{Problem, ProblemCode};
pub use limits::{Limits, Place, StreamLimits};
pub use page::live;
use reader::Reader;
use rights::{RightsWatch, Watch};
use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::{StreamExt, wrappers::ReceiverStream};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
pub use who::Who;

const KEEP_ALIVE: Duration = Duration::from_secs(15);
const BUFFERED: usize = 64;

#[derive(Clone)]
pub struct Live {
    pub engine: Arc<Engine>,
    pub limits: Arc<Limits>,
    rights: Arc<RightsWatch>,
    database: Database,
    figures: Arc<ProcessFigures>,
    /// Cancelled when the server is about to end.
    pub ending: CancellationToken,
}

/// A reader that has a place and hears from now on, before anything was read for it.
pub struct Seat {
    who: Who,
    place: Place,
    watch: Watch,
    events: broadcast::Receiver<Arc<OutboxEvent>>,
}

impl Live {
    /// Also starts the watch over the rights of its streams.
    pub fn new(
        engine: Arc<Engine>,
        database: Database,
        figures: Arc<ProcessFigures>,
        most: StreamLimits,
        ending: CancellationToken,
    ) -> Self {
        let rights = Arc::new(RightsWatch::default());
        tokio::spawn(rights.clone().run(engine.clone(), ending.clone()));
        Self { engine, limits: Arc::new(Limits::new(most)), rights, database, figures, ending }
    }

    /// Whoever wants to show something first reads it after this, so that nothing falls in between.
    pub fn seat(&self, who: Who) -> Result<Seat, Problem> {
        if self.ending.is_cancelled() {
            return Err(Problem::new(ProblemCode::Unavailable, "This server is about to end.").retry_after(2));
        }
        let place = self.limits.enter(&who.holder(), who.scope().tenant())?;
        let watch = self.rights.begin(&who);
        Ok(Seat { who, place, watch, events: self.engine.hub().subscribe() })
    }

    /// Tells what happened after `after`, or from now on, until there is nothing more to tell or nobody to hear it.
    pub fn stream(&self, seat: Seat, after: Option<i64>, telling: impl Feed) -> Response {
        let Seat { who, place, watch, events } = seat;
        // A page says that it is live; a program only waits for what comes.
        let (shown, database) = (matches!(who, Who::Session { .. }), self.database.clone());
        let reader = Reader {
            engine: self.engine.clone(),
            events,
            after,
            who,
            telling,
            figures: self.figures.clone(),
        };
        let (out, stream) = mpsc::channel(BUFFERED);
        let (ending, open) = (self.ending.clone(), OpenStream::new(self.figures.clone()));
        let work = async move {
            let _held = (place, open);
            tokio::select! {
                () = ending.cancelled() => {}
                () = out.closed() => {}
                () = watch.refused() => {}
                () = database.lost(), if shown => {}
                // Ends when the stream does; a closed channel is the reader going away.
                () = reader.run(&out) => {}
            }
        };
        tokio::spawn(work.in_current_span());
        let events = ReceiverStream::new(stream).map(Ok::<_, Infallible>);
        let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
        let unbuffered = HeaderName::from_static("x-accel-buffering");
        response.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
        response
    }
}

/// Counted while it lasts.
struct OpenStream(Arc<ProcessFigures>);

impl OpenStream {
    fn new(figures: Arc<ProcessFigures>) -> Self {
        figures.streams_open.fetch_add(1, Relaxed);
        Self(figures)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams_open.fetch_sub(1, Relaxed);
    }
}
