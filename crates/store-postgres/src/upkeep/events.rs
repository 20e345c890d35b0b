//! The outbox's retention: always a beginning of it is forgotten, so that a cursor is either behind what is kept or
//! misses nothing.

use crate::{PostgresStore, convert::moment, error::database};
use leasehold_queue::StoreResult;
use std::time::Duration;

/// The newest event stays, however old: the cursor never goes back.
pub(super) async fn prune(store: &PostgresStore, older_than: Duration, max: u32) -> StoreResult<u64> {
    sqlx::query!(
        "WITH oldest AS MATERIALIZED (SELECT id, created_at FROM job_events ORDER BY id LIMIT $2)
         DELETE FROM job_events
         WHERE id = ANY (ARRAY(
           SELECT id FROM oldest
           WHERE id < (SELECT max(id) FROM job_events)
             AND id < COALESCE((SELECT min(id) FROM oldest WHERE created_at >= $1), 9223372036854775807)))",
        moment(store.clock.now().minus(older_than)),
        i64::from(max)
    )
    .execute(&store.work)
    .await
    .map(|removed| removed.rows_affected())
    .map_err(database)
}
