//! One reader: replay, follow, and again when it fell behind.

use super::{Feed, Who};
use crate::metrics::ProcessFigures;
use axum::response::sse::Event;
use leasehold_queue::{Engine, params::OutboxEvent};
use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering::Relaxed},
};
use tokio::sync::{broadcast, broadcast::error::RecvError, mpsc};

/// Why a stream ends.
#[derive(Debug)]
pub enum End {
    /// The reader must fetch its view again and start from its cursor.
    Resync,
    /// There is nothing more to tell, or nobody to tell it to.
    Over,
}

pub struct Reader<T> {
    pub engine: Arc<Engine>,
    pub events: broadcast::Receiver<Arc<OutboxEvent>>,
    pub after: Option<i64>,
    pub who: Who,
    pub telling: T,
    pub figures: Arc<ProcessFigures>,
}

pub type Out = mpsc::Sender<Event>;

impl<T: Feed> Reader<T> {
    pub async fn run(mut self, out: &Out) {
        if let Err(End::Resync) = self.stream(out).await {
            self.figures.stream_resyncs.fetch_add(1, Relaxed);
            // The reader may be gone already; then nobody needs to be told.
            let _ = out.send(Event::default().event("resync").data("{}")).await;
        }
    }

    async fn stream(&mut self, out: &Out) -> Result<Infallible, End> {
        let began = self.after.unwrap_or_else(|| self.engine.hub().horizon());
        for event in self.telling.begin(began) {
            send(out, event).await?;
        }
        if self.telling.is_over() {
            return Err(End::Over);
        }
        let mut reached = began;
        loop {
            reached = match self.tell_after(reached, out).await {
                Err(End::Resync) if self.telling.goes_on_after_resync() => self.start_over(out).await?,
                reached => reached?,
            }
        }
    }

    async fn tell_after(&mut self, reached: i64, out: &Out) -> Result<i64, End> {
        let horizon = self.engine.hub().horizon();
        let reached = self.replay(reached, horizon, out).await?;
        self.follow(reached, out).await
    }

    /// Everything up to now is for the reader to fetch; what comes after is told again.
    async fn start_over(&self, out: &Out) -> Result<i64, End> {
        let horizon = self.engine.hub().horizon();
        let resync = Event::default().event("resync").id(horizon.to_string());
        send(out, resync.data(format!("{{\"cursor\":{horizon}}}"))).await?;
        Ok(horizon)
    }

    /// Live events; returns where it stands when some went by too fast but can be read in the store.
    async fn follow(&mut self, mut reached: i64, out: &Out) -> Result<i64, End> {
        loop {
            match self.events.recv().await {
                Ok(event) if event.event.id > reached => {
                    reached = event.event.id;
                    self.forward(&event, out).await?;
                }
                Ok(_) => {}
                Err(RecvError::Lagged(_)) if self.telling.is_complete() => return Ok(reached),
                Err(RecvError::Lagged(_)) => return Err(End::Resync),
                Err(RecvError::Closed) => return Err(End::Over),
            }
        }
    }

    /// Sends the event if this reader asked for it and may see it.
    pub async fn forward(&mut self, event: &OutboxEvent, out: &Out) -> Result<(), End> {
        let scope = self.who.scope();
        if !scope.reaches(event.tenant_id) || !scope.sees_domain(&event.event.domain) {
            return Ok(());
        }
        match self.telling.tell(event) {
            None => {}
            Some(Ok(message)) => {
                send(out, message.id(event.event.id.to_string())).await?;
                self.figures.stream_events.fetch_add(1, Relaxed);
            }
            Some(Err(error)) => {
                tracing::error!(%error, id = event.event.id, "an event cannot be written as JSON");
                return Err(End::Resync);
            }
        }
        if self.telling.is_last(event) { Err(End::Over) } else { Ok(()) }
    }
}

async fn send(out: &Out, event: Event) -> Result<(), End> {
    out.send(event).await.map_err(|_| End::Over)
}
