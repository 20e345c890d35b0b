//! The outbox's retention. Events of a job that may still move are kept: its page tells its whole life.

use crate::{
    SqliteStore,
    convert::{limit, to_json},
    error::Outcome,
};
use std::time::Duration;

/// What is looked for and what is removed cannot drift apart: nothing leaves a terminal state, and numbers are
/// never used again.
pub(super) async fn prune(store: &SqliteStore, older_than: Duration, max: u32) -> Outcome<u64> {
    let before = store.clock.now().minus(older_than).to_string();
    let max = limit(max);
    // Ids and times grow together, so the search ends at the first event that is young enough.
    let ids = sqlx::query_scalar!(
        r#"SELECT e.id AS "id!: i64"
           FROM job_events e LEFT JOIN jobs j ON j.number = e.job_number
           WHERE e.id < COALESCE((SELECT young.id FROM job_events young WHERE young.created_at >= ?1
                                  ORDER BY young.id LIMIT 1), 9223372036854775807)
             AND (j.number IS NULL OR j.status IN ('completed', 'failed', 'cancelled', 'dead_letter'))
           ORDER BY e.id LIMIT ?2"#,
        before,
        max
    )
    .fetch_all(&store.read)
    .await?;
    if ids.is_empty() {
        return Ok(0);
    }
    let ids = to_json(&ids)?;
    let mut tx = store.begin().await?;
    let removed = sqlx::query!("DELETE FROM job_events WHERE id IN (SELECT value FROM json_each(?1))", ids)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(removed.rows_affected())
}
