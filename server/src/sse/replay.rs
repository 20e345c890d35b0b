//! What a reader missed while it was away, from the store.

use super::{
    Feed,
    reader::{End, Out, Reader},
};
use std::time::Duration;

const PAGE: u32 = 500;
/// A page further behind than this is better off being fetched again.
const MOST_PAGES: usize = 20;
const PATIENCE: Duration = Duration::from_secs(10);

impl<T: Feed> Reader<T> {
    /// Sends what happened after `after`, up to `horizon`; returns the id from which live events go on.
    pub(super) async fn replay(&mut self, after: i64, horizon: i64, out: &Out) -> Result<i64, End> {
        self.nothing_missing(after, horizon).await?;
        let mut reached = after;
        let mut pages = 0;
        while reached < horizon {
            pages += 1;
            if pages > MOST_PAGES && !self.telling.is_complete() {
                return Err(End::Resync);
            }
            let page = self.engine.store().events(self.who.scope(), reached, horizon, PAGE);
            let page = patiently(page).await?;
            for event in &page {
                reached = event.event.id;
                self.forward(event, out).await?;
            }
            if page.len() < PAGE as usize {
                return Ok(horizon);
            }
        }
        Ok(reached)
    }

    /// Neither has the reader's place been pruned, nor does it lie in the future of another database.
    async fn nothing_missing(&self, after: i64, horizon: i64) -> Result<(), End> {
        let store = self.engine.store();
        if after >= horizon {
            let ahead = after > horizon && after > patiently(store.outbox_tail()).await?;
            return if ahead { Err(End::Resync) } else { Ok(()) };
        }
        let oldest = patiently(store.oldest_event()).await?;
        if oldest > 0 && after < oldest - 1 { Err(End::Resync) } else { Ok(()) }
    }
}

/// A database that fails or hangs here means the reader tries again, not that it waits for ever.
async fn patiently<T>(query: impl Future<Output = leasehold_queue::StoreResult<T>>) -> Result<T, End> {
    match tokio::time::timeout(PATIENCE, query).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => {
            tracing::warn!(%error, "missed events cannot be read");
            Err(End::Over)
        }
        Err(_) => Err(End::Over),
    }
}
