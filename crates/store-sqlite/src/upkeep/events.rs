//! The outbox's retention: always a beginning of it is forgotten, so that a cursor is either behind what is kept or
//! misses nothing.

use crate::{SqliteStore, convert::limit, error::Outcome};
use std::time::Duration;

/// The newest event stays, however old: the cursor never goes back.
pub(super) async fn prune(store: &SqliteStore, older_than: Duration, max: u32) -> Outcome<u64> {
    let before = store.clock.now().minus(older_than).to_string();
    let max = limit(max);
    let mut tx = store.begin().await?;
    let removed = sqlx::query!(
        "WITH oldest AS MATERIALIZED (SELECT id, created_at FROM job_events ORDER BY id LIMIT ?2)
         DELETE FROM job_events
         WHERE id IN (
           SELECT id FROM oldest
           WHERE id < (SELECT MAX(id) FROM job_events)
             AND id < COALESCE((SELECT MIN(id) FROM oldest WHERE created_at >= ?1), 9223372036854775807))",
        before,
        max
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(removed.rows_affected())
}
