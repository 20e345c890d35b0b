//! Workers and their signs of life.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::Outcome,
};
use leasehold_queue::params::Heartbeat;
use leasehold_types::{Timestamp, WorkerId, view::WorkerView};
use std::time::Duration;

const WORKERS: Table = Table("job_workers");
/// Three beats of five seconds.
pub(crate) const STALE_AFTER: Duration = Duration::from_secs(15);
const GONE_AFTER: Duration = Duration::from_secs(3_600);

pub(crate) async fn heartbeat(store: &SqliteStore, beat: Heartbeat) -> Outcome<()> {
    let now = store.clock.now().to_string();
    let (queues, commands, metadata) =
        (to_json(&beat.queues)?, to_json(&beat.commands)?, to_json(&beat.metadata)?);
    let started_at = beat.started_at.to_string();
    let mut tx = store.begin().await?;
    sqlx::query!(
        "INSERT INTO job_workers (worker_id, hostname, version, queues, commands, running_count, metadata,
                                  started_at, last_seen_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (worker_id) DO UPDATE
         SET hostname = excluded.hostname, version = excluded.version, queues = excluded.queues,
             commands = excluded.commands, running_count = excluded.running_count,
             metadata = excluded.metadata,
             last_seen_at = excluded.last_seen_at",
        beat.worker_id.0,
        beat.hostname,
        beat.version,
        queues,
        commands,
        beat.running_count,
        metadata,
        started_at,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

pub(crate) async fn forget(store: &SqliteStore, worker: &WorkerId) -> Outcome<()> {
    let mut tx = store.begin().await?;
    sqlx::query!("DELETE FROM job_workers WHERE worker_id = ?1", worker.0).execute(&mut *tx).await?;
    Ok(tx.commit().await?)
}

pub(crate) async fn all(store: &SqliteStore) -> Outcome<Vec<WorkerView>> {
    let now = store.clock.now();
    let gone_before = now.minus(GONE_AFTER).to_string();
    let rows = sqlx::query!(
        "SELECT worker_id, hostname, version, queues, commands, running_count, metadata,
                started_at, last_seen_at
         FROM job_workers ORDER BY last_seen_at DESC, worker_id"
    )
    .fetch_all(&store.read)
    .await?;
    // A page that only looks should not wait for the writer, unless there is something to remove.
    if rows.iter().any(|row| row.last_seen_at <= gone_before) {
        remove_gone(store, &gone_before).await?;
    }
    let live = rows.into_iter().filter(|row| row.last_seen_at > gone_before);
    live.map(|row| {
        let last_seen_at = WORKERS.time("last_seen_at", &row.last_seen_at)?;
        Ok(WorkerView {
            queues: WORKERS.json("queues", &row.queues)?,
            commands: WORKERS.json("commands", &row.commands)?,
            running_count: WORKERS.int("running_count", row.running_count)?,
            started_at: WORKERS.time("started_at", &row.started_at)?,
            last_seen_at,
            metadata: WORKERS.json("metadata", &row.metadata)?,
            stale: is_stale(last_seen_at, now),
            worker_id: row.worker_id,
            hostname: row.hostname,
            version: row.version,
        })
    })
    .collect()
}

pub(crate) fn is_stale(last_seen_at: Timestamp, now: Timestamp) -> bool {
    last_seen_at < now.minus(STALE_AFTER)
}

/// Whether a worker's list of lanes (`domain/queue`, `*` for any) covers this queue.
pub(crate) fn serves(lanes: &[String], domain: &str, queue: &str) -> bool {
    let (one, whole) = (format!("{domain}/{queue}"), format!("{domain}/*"));
    lanes.iter().any(|served| *served == one || *served == whole || served == "*/*")
}

async fn remove_gone(store: &SqliteStore, before: &str) -> Outcome<()> {
    let mut tx = store.begin().await?;
    sqlx::query!("DELETE FROM job_workers WHERE last_seen_at <= ?1", before).execute(&mut *tx).await?;
    Ok(tx.commit().await?)
}
