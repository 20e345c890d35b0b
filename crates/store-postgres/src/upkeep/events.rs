//! The outbox's retention. Events of a job that may still move are kept: its page tells its whole life.

use crate::{PostgresStore, convert::moment, error::database};
use leasehold_queue::StoreResult;
use std::time::Duration;

/// What is looked for and what is removed cannot drift apart: nothing leaves a terminal state, and numbers are
/// never used again.
pub(super) async fn prune(store: &PostgresStore, older_than: Duration, max: u32) -> StoreResult<u64> {
    // Ids and times grow together but for moments, so the search ends at the first event that is young enough.
    sqlx::query!(
        "DELETE FROM job_events
         WHERE id = ANY (ARRAY(
           SELECT e.id FROM job_events e LEFT JOIN jobs j ON j.number = e.job_number
           WHERE e.id < COALESCE((SELECT young.id FROM job_events young WHERE young.created_at >= $1
                                  ORDER BY young.id LIMIT 1), 9223372036854775807)
             AND (j.number IS NULL OR j.status IN ('completed', 'failed', 'cancelled', 'dead_letter'))
           ORDER BY e.id LIMIT $2))",
        moment(store.clock.now().minus(older_than)),
        i64::from(max)
    )
    .execute(&store.work)
    .await
    .map(|removed| removed.rows_affected())
    .map_err(database)
}
