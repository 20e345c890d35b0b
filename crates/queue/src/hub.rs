//! One reader of the outbox per process, many listeners.
//!
//! The hub follows the outbox up to its safe horizon and hands every event to whoever listens, in cursor
//! order. It wakes on the store's wake-ups and polls as well, because a wake-up may be lost.

use crate::{
    params::{OutboxCursor, OutboxEvent, Wake},
    store::Store,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};
use tokio::sync::broadcast;

const BATCH: u32 = 500;
const POLL: Duration = Duration::from_millis(500);
/// A listener this far behind is told to start over instead of holding events in memory for it.
const BUFFERED: usize = 4_096;

#[derive(Clone)]
pub struct Hub {
    events: broadcast::Sender<Arc<OutboxEvent>>,
    horizon: Arc<AtomicI64>,
}

impl Default for Hub {
    fn default() -> Self {
        let (events, _) = broadcast::channel(BUFFERED);
        Self { events, horizon: Arc::new(AtomicI64::new(0)) }
    }
}

impl Hub {
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<OutboxEvent>> {
        self.events.subscribe()
    }

    /// Every event up to this id has been handed out, or is being handed out now: it can be read in the store.
    pub fn horizon(&self) -> i64 {
        self.horizon.load(Ordering::Acquire)
    }

    /// Follows the outbox until the task is dropped.
    pub async fn follow(self, store: Arc<dyn Store>) {
        // Subscribe, then query, then wait: the other way round loses what happens in between.
        let mut wakes = store.wakes();
        let mut cursor = OutboxCursor::default();
        loop {
            match store.outbox_tail().await {
                Ok(tail) => {
                    cursor.after = tail;
                    self.horizon.store(tail, Ordering::Release);
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, "the outbox cannot be read yet");
                    tokio::time::sleep(POLL).await;
                }
            }
        }
        loop {
            let more = self.drain(store.as_ref(), &mut cursor).await;
            if !more {
                wait(&mut wakes, cursor.gap.is_some()).await;
            }
        }
    }

    /// Hands out one batch; true when another may be waiting.
    async fn drain(&self, store: &dyn Store, cursor: &mut OutboxCursor) -> bool {
        match store.read_outbox(cursor, BATCH).await {
            Ok(batch) => {
                let full = batch.len() == BATCH as usize;
                for event in batch {
                    // The horizon first: who subscribes and then reads the horizon must find an event either
                    // below it (in the store) or in the subscription, never in neither.
                    self.horizon.store(event.event.id, Ordering::Release);
                    // Nobody listening is fine.
                    let _ = self.events.send(Arc::new(event));
                }
                full
            }
            Err(error) => {
                tracing::warn!(%error, "the outbox cannot be read");
                tokio::time::sleep(POLL).await;
                false
            }
        }
    }
}

/// Until the outbox grew, or it is time to look anyway. At a gap: soon, its transactions are about to end.
async fn wait(wakes: &mut broadcast::Receiver<Wake>, at_gap: bool) {
    let patience = if at_gap { Duration::from_millis(10) } else { POLL };
    let grown = async {
        loop {
            match wakes.recv().await {
                Ok(Wake::Events) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                Ok(_) => {}
                Err(broadcast::error::RecvError::Closed) => std::future::pending::<()>().await,
            }
        }
    };
    let _ = tokio::time::timeout(patience, grown).await;
}
