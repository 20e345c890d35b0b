//! A reader that follows the outbox all the while, as a browser's stream would.

use leasehold_queue::{Store, params::OutboxCursor};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinHandle};

pub struct Follower {
    stop: watch::Sender<bool>,
    task: JoinHandle<Vec<i64>>,
}

impl Follower {
    pub fn start(store: Arc<dyn Store>) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self { stop, task: tokio::spawn(follow(store, stopped)) }
    }

    /// The ids it saw, in the order it saw them, up to the end.
    pub async fn finish(self) -> Vec<i64> {
        self.stop.send_replace(true);
        self.task.await.unwrap()
    }
}

async fn follow(store: Arc<dyn Store>, stopped: watch::Receiver<bool>) -> Vec<i64> {
    let mut cursor = OutboxCursor::default();
    let mut seen = Vec::new();
    loop {
        let ending = *stopped.borrow();
        match store.read_outbox(&mut cursor, 500).await {
            Ok(batch) if batch.is_empty() && ending && cursor.gap.is_none() => return seen,
            Ok(batch) => seen.extend(batch.iter().map(|e| e.event.id)),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
