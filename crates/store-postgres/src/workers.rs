//! Workers' signs of life, and what they are asked to stop.

use crate::{PostgresStore, convert, convert::moment, convert::parsed, convert::stamp, error::database};
use leasehold_queue::{StoreResult, params::Heartbeat};
use leasehold_types::{WorkerId, view::WorkerView};
use serde_json::Value;
use std::time::Duration;

/// Three beats of five seconds.
pub const STALE_AFTER: Duration = Duration::from_secs(15);
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3_600);

impl PostgresStore {
    pub(crate) async fn beat(&self, beat: Heartbeat) -> StoreResult<()> {
        sqlx::query!(
            "INSERT INTO job_workers (worker_id, hostname, version, queues, commands, running_count, metadata,
                 started_at, last_seen_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT (worker_id) DO UPDATE
             SET hostname = EXCLUDED.hostname, version = EXCLUDED.version, queues = EXCLUDED.queues,
                 commands = EXCLUDED.commands, running_count = EXCLUDED.running_count,
                 metadata = EXCLUDED.metadata, last_seen_at = EXCLUDED.last_seen_at",
            beat.worker_id.0,
            beat.hostname,
            beat.version,
            Value::from(beat.queues),
            Value::from(beat.commands),
            beat.running_count,
            convert::json(&beat.metadata),
            moment(beat.started_at),
            self.now()
        )
        .execute(&self.lease)
        .await
        .map(drop)
        .map_err(database)
    }

    pub(crate) async fn remove_worker(&self, worker: &WorkerId) -> StoreResult<()> {
        sqlx::query!("DELETE FROM job_workers WHERE worker_id = $1", worker.0)
            .execute(&self.work)
            .await
            .map(drop)
            .map_err(database)
    }

    pub(crate) async fn known_workers(&self) -> StoreResult<Vec<WorkerView>> {
        let now = self.clock.now();
        sqlx::query!("DELETE FROM job_workers WHERE last_seen_at <= $1", moment(now.minus(FORGOTTEN_AFTER)))
            .execute(&self.work)
            .await
            .map_err(database)?;
        let rows = sqlx::query!(
            "SELECT worker_id, hostname, version, queues, commands, running_count, metadata,
                    started_at, last_seen_at
             FROM job_workers ORDER BY last_seen_at DESC, worker_id"
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let stale_before = now.minus(STALE_AFTER);
        rows.into_iter()
            .map(|r| {
                Ok(WorkerView {
                    worker_id: r.worker_id,
                    hostname: r.hostname,
                    version: r.version,
                    queues: parsed("job_workers", "queues", r.queues)?,
                    commands: parsed("job_workers", "commands", r.commands)?,
                    running_count: r.running_count,
                    started_at: stamp(r.started_at),
                    last_seen_at: stamp(r.last_seen_at),
                    metadata: r.metadata,
                    stale: stamp(r.last_seen_at) < stale_before,
                })
            })
            .collect()
    }

    pub(crate) async fn asked_to_stop(&self, worker: &WorkerId) -> StoreResult<Vec<i64>> {
        sqlx::query_scalar!(
            "SELECT number FROM jobs
             WHERE status = 'processing' AND worker_id = $1 AND cancel_requested_at IS NOT NULL ORDER BY number",
            worker.0
        )
        .fetch_all(&self.lease)
        .await
        .map_err(database)
    }
}
