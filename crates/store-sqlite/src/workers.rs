//! Workers and their signs of life.

use crate::{
    SqliteStore, convert,
    convert::{Table, to_json},
    error::{Outcome, outcome},
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult, Workers,
    params::Heartbeat,
    silence::{FORGOTTEN_AFTER, Leases, SILENT_AFTER, shown},
};
use leasehold_types::{
    Timestamp, WorkerId,
    view::{WorkerList, WorkerView},
};
use sqlx::SqliteConnection;
use std::collections::HashMap;

const WORKERS: Table = Table("job_workers");
const JOBS: Table = Table("jobs");

#[async_trait]
impl Workers for SqliteStore {
    async fn heartbeat(&self, beat: Heartbeat) -> StoreResult<()> {
        outcome(async {
            let now = self.clock.now().to_string();
            let (queues, commands, metadata) =
                (to_json(&beat.queues)?, to_json(&beat.commands)?, to_json(&beat.metadata)?);
            let started_at = beat.started_at.to_string();
            let mut tx = self.begin().await?;
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
        })
        .await
    }

    async fn forget_worker(&self, worker: &WorkerId) -> StoreResult<()> {
        outcome(async {
            let mut tx = self.begin().await?;
            sqlx::query!("DELETE FROM job_workers WHERE worker_id = ?1", worker.0).execute(&mut *tx).await?;
            Ok(tx.commit().await?)
        })
        .await
    }

    async fn workers(&self, limit: u32) -> StoreResult<WorkerList> {
        outcome(async {
            let now = self.clock.now();
            let (since, silent) =
                (now.minus(FORGOTTEN_AFTER).to_string(), now.minus(SILENT_AFTER).to_string());
            let mut snapshot = self.read.begin().await?;
            let counts = sqlx::query!(
                r#"SELECT count(*) AS "all!: i64", count(*) FILTER (WHERE last_seen_at < ?2) AS "stale!: i64"
                   FROM job_workers WHERE last_seen_at > ?1"#,
                since,
                silent
            )
            .fetch_one(&mut *snapshot)
            .await?;
            let limit = convert::limit(limit);
            let rows = sqlx::query!(
                "SELECT worker_id, hostname, version, queues, commands, running_count, metadata,
                        started_at, last_seen_at, key_prefix
                 FROM job_workers WHERE last_seen_at > ?1 ORDER BY last_seen_at DESC, worker_id LIMIT ?2",
                since,
                limit
            )
            .fetch_all(&mut *snapshot)
            .await?;
            let ids: Vec<&str> = rows.iter().map(|row| row.worker_id.as_str()).collect();
            let leases = leases_of(&mut snapshot, &ids, now).await?;
            let workers = rows.into_iter().map(|row| {
                let held = leases.get(&row.worker_id).copied().unwrap_or_default();
                let view = WorkerView {
                    queues: WORKERS.json("queues", &row.queues)?,
                    commands: WORKERS.json("commands", &row.commands)?,
                    running_count: WORKERS.int("running_count", row.running_count)?,
                    started_at: WORKERS.time("started_at", &row.started_at)?,
                    last_seen_at: WORKERS.time("last_seen_at", &row.last_seen_at)?,
                    metadata: WORKERS.json("metadata", &row.metadata)?,
                    stale: false,
                    silent: None,
                    worker_id: row.worker_id,
                    hostname: row.hostname,
                    version: row.version,
                };
                Ok(shown(view, held, row.key_prefix.is_none(), now))
            });
            let workers = workers.collect::<Outcome<_>>()?;
            Ok(WorkerList { workers, live: counts.all - counts.stale, stale: counts.stale })
        })
        .await
    }

    /// Which running jobs of this worker were asked to stop.
    async fn cancel_requests(&self, worker: &WorkerId) -> StoreResult<Vec<i64>> {
        outcome(async {
            let numbers = sqlx::query_scalar!(
                r#"SELECT number AS "number!: i64" FROM jobs
                   WHERE status = 'processing' AND worker_id = ?1 AND cancel_requested_at IS NOT NULL
                   ORDER BY number"#,
                worker.0
            )
            .fetch_all(&self.read)
            .await?;
            Ok(numbers)
        })
        .await
    }
}

/// One look at the running jobs for all of them.
async fn leases_of(
    connection: &mut SqliteConnection,
    workers: &[&str],
    now: Timestamp,
) -> Outcome<HashMap<String, Leases>> {
    let (workers, now) = (to_json(workers)?, now.to_string());
    let rows = sqlx::query!(
        r#"SELECT worker_id AS "worker_id!: String", count(*) AS "jobs!: i64",
                  max(leased_until) AS "last_ends_at?: String"
           FROM jobs WHERE status = 'processing' AND worker_id IN (SELECT value FROM json_each(?1))
             AND leased_until > ?2
           GROUP BY worker_id"#,
        workers,
        now
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let leases = Leases {
                jobs: JOBS.int("number", row.jobs)?,
                last_ends_at: JOBS.time_opt("leased_until", row.last_ends_at.as_deref())?,
            };
            Ok((row.worker_id, leases))
        })
        .collect()
}

/// Whether a worker's list of lanes (`domain/queue`, `*` for any) covers this queue.
pub(crate) fn serves(lanes: &[String], domain: &str, queue: &str) -> bool {
    let (one, whole) = (format!("{domain}/{queue}"), format!("{domain}/*"));
    lanes.iter().any(|served| *served == one || *served == whole || served == "*/*")
}
