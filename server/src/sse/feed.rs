//! What one kind of stream makes of the events.

use axum::response::sse::Event;
use leasehold_queue::params::OutboxEvent;
use std::time::Duration;

const RECONNECT: Duration = Duration::from_millis(1_500);

pub trait Feed: Send + Sync + 'static {
    /// What comes before the first event; the stream goes on after `cursor`.
    fn begin(&mut self, cursor: i64) -> Vec<Event>;

    /// The event in this stream's words, none when it was not asked for. The reader gives it its id.
    fn tell(&mut self, event: &OutboxEvent) -> Option<Result<Event, axum::Error>>;

    /// Nothing comes after this one.
    fn is_last(&self, _: &OutboxEvent) -> bool {
        false
    }

    /// All was told in the beginning.
    fn is_over(&self) -> bool {
        false
    }

    /// A reader that missed events which are no longer kept is told so, and goes on from now.
    fn goes_on_after_resync(&self) -> bool {
        false
    }

    /// Every event counts: however far behind, the reader is given all of them as fast as it takes them.
    fn is_complete(&self) -> bool {
        false
    }
}

/// Where the stream begins, and how soon to come back when it breaks.
pub fn hello(cursor: i64) -> Event {
    Event::default().event("hello").retry(RECONNECT).data(format!("{{\"cursor\":{cursor}}}"))
}
