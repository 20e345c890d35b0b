//! Workers' signs of life, and what they are asked to stop.

use crate::{
    PostgresStore, convert,
    convert::{moment, parsed, stamp, stamp_if},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult, Workers,
    params::Heartbeat,
    silence::{FORGOTTEN_AFTER, Leases, SILENT_AFTER, shown},
};
use leasehold_types::{
    WorkerId,
    view::{WorkerList, WorkerView},
};
use serde_json::Value;
use std::collections::HashMap;

#[async_trait]
impl Workers for PostgresStore {
    async fn heartbeat(&self, beat: Heartbeat) -> StoreResult<()> {
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

    async fn forget_worker(&self, worker: &WorkerId) -> StoreResult<()> {
        sqlx::query!("DELETE FROM job_workers WHERE worker_id = $1", worker.0)
            .execute(&self.work)
            .await
            .map(drop)
            .map_err(database)
    }

    async fn workers(&self, limit: u32) -> StoreResult<WorkerList> {
        let now = self.clock.now();
        let (since, silent) = (moment(now.minus(FORGOTTEN_AFTER)), moment(now.minus(SILENT_AFTER)));
        let counts = sqlx::query!(
            r#"SELECT count(*) AS "all!", count(*) FILTER (WHERE last_seen_at < $2) AS "stale!"
               FROM job_workers WHERE last_seen_at > $1"#,
            since,
            silent
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)?;
        let rows = sqlx::query!(
            "SELECT worker_id, hostname, version, queues, commands, running_count, metadata,
                    started_at, last_seen_at, key_prefix
             FROM job_workers WHERE last_seen_at > $1 ORDER BY last_seen_at DESC, worker_id LIMIT $2",
            since,
            i64::from(limit)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let ids: Vec<String> = rows.iter().map(|r| r.worker_id.clone()).collect();
        let leases = self.leases_of(&ids).await?;
        let workers = rows.into_iter().map(|r| {
            let held = leases.get(&r.worker_id).copied().unwrap_or_default();
            let view = WorkerView {
                worker_id: r.worker_id,
                hostname: r.hostname,
                version: r.version,
                queues: parsed("job_workers", "queues", r.queues)?,
                commands: parsed("job_workers", "commands", r.commands)?,
                running_count: r.running_count,
                started_at: stamp(r.started_at),
                last_seen_at: stamp(r.last_seen_at),
                metadata: r.metadata,
                stale: false,
                silent: None,
            };
            Ok(shown(view, held, r.key_prefix.is_none(), now))
        });
        let workers = workers.collect::<StoreResult<_>>()?;
        Ok(WorkerList { workers, live: counts.all - counts.stale, stale: counts.stale })
    }

    async fn cancel_requests(&self, worker: &WorkerId) -> StoreResult<Vec<i64>> {
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

impl PostgresStore {
    /// One look at the running jobs for all of them.
    async fn leases_of(&self, workers: &[String]) -> StoreResult<HashMap<String, Leases>> {
        let rows = sqlx::query!(
            r#"SELECT worker_id AS "worker_id!", count(*) AS "jobs!", max(leased_until) AS last_ends_at
               FROM jobs WHERE status = 'processing' AND worker_id = ANY($1) AND leased_until > $2
               GROUP BY worker_id"#,
            workers,
            self.now()
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let leases =
            |jobs, at| Leases { jobs: i32::try_from(jobs).unwrap_or(i32::MAX), last_ends_at: stamp_if(at) };
        Ok(rows.into_iter().map(|r| (r.worker_id, leases(r.jobs, r.last_ends_at))).collect())
    }
}
