//! What workers that come over HTTP need to know before they write.

use crate::{
    PostgresStore, convert,
    convert::{moment, stamp, stamp_if},
    error::database,
    read::locate,
};
use async_trait::async_trait;
use leasehold_queue::{
    Remote, Scope, StoreResult,
    params::{Heartbeat, Lease},
    remote::HeldJob,
    silence::{FORGOTTEN_AFTER, Hold, SILENT_AFTER},
};
use leasehold_types::{DefinitionId, JobRef, LeaseId, WorkerId};
use serde_json::json;

#[async_trait]
impl Remote for PostgresStore {
    async fn held_job(&self, scope: &Scope, job: JobRef, with_payload: bool) -> StoreResult<Option<HeldJob>> {
        let Some(number) = locate(&self.work, scope, job).await? else { return Ok(None) };
        let row = sqlx::query!(
            r#"SELECT number, definition_id, attempt_count, leased_until, worker_id, lease_id,
                      cancel_requested_at IS NOT NULL AS "cancel_requested!",
                      CASE WHEN $2 THEN payload END AS payload
               FROM jobs WHERE number = $1"#,
            number,
            with_payload
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        Ok(row.map(|r| HeldJob {
            number: r.number,
            definition_id: r.definition_id.map(DefinitionId),
            attempt: r.attempt_count,
            leased_until: stamp_if(r.leased_until),
            lease: r.worker_id.zip(r.lease_id).map(|(worker, lease)| Lease {
                number: r.number,
                worker_id: WorkerId(worker),
                lease_id: LeaseId(lease),
            }),
            cancel_requested: r.cancel_requested,
            payload: r.payload,
        }))
    }

    async fn hold(&self, number: i64) -> StoreResult<Option<Hold>> {
        let row = sqlx::query!(
            r#"SELECT w.last_seen_at AS "last_seen_at?", j.acquired_at AS "acquired_at!",
                      j.leased_until AS "leased_until!",
                      j.cancel_requested_at IS NOT NULL AS "cancel_requested!",
                      j.attempt_count - j.attempt_base AS "attempts_used!", j.max_attempts
               FROM jobs j LEFT JOIN job_workers w ON w.worker_id = j.worker_id
               WHERE j.number = $1 AND j.status = 'processing'"#,
            number
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        Ok(row.map(|r| Hold {
            last_seen_at: stamp_if(r.last_seen_at),
            acquired_at: stamp(r.acquired_at),
            leased_until: stamp(r.leased_until),
            cancel_requested: r.cancel_requested,
            attempts_used: r.attempts_used,
            max_attempts: r.max_attempts,
        }))
    }

    async fn introduce_worker(&self, key_prefix: &str, beat: Heartbeat, most: u32) -> StoreResult<bool> {
        if self.introduce(key_prefix, &beat, most).await? {
            return Ok(true);
        }
        Ok(self.make_room(key_prefix).await? && self.introduce(key_prefix, &beat, most).await?)
    }

    async fn workers_seen(&self, workers: &[WorkerId]) -> StoreResult<()> {
        let ids: Vec<String> = workers.iter().map(|worker| worker.0.clone()).collect();
        sqlx::query!(
            "UPDATE job_workers SET last_seen_at = $2
             WHERE worker_id IN (SELECT worker_id FROM job_workers WHERE worker_id = ANY($1)
                                 ORDER BY worker_id FOR UPDATE)",
            &ids,
            self.now()
        )
        .execute(&self.lease)
        .await
        .map(drop)
        .map_err(database)
    }

    async fn prune_workers(&self) -> StoreResult<u64> {
        let before = moment(self.clock.now().minus(FORGOTTEN_AFTER));
        sqlx::query!("DELETE FROM job_workers WHERE last_seen_at <= $1", before)
            .execute(&self.work)
            .await
            .map(|done| done.rows_affected())
            .map_err(database)
    }
}

impl PostgresStore {
    /// False: the worker is new, and its key has as many as it may.
    async fn introduce(&self, key_prefix: &str, beat: &Heartbeat, most: u32) -> StoreResult<bool> {
        let written = sqlx::query!(
            "INSERT INTO job_workers (worker_id, hostname, version, queues, commands, running_count, metadata,
                 started_at, last_seen_at, key_prefix)
             SELECT $1, $2, $3, $4, $5, 0, $6, $7, $8, $9
             WHERE EXISTS (SELECT FROM job_workers WHERE worker_id = $1)
                OR (SELECT count(*) FROM job_workers WHERE key_prefix = $9) < $10
             ON CONFLICT (worker_id) DO UPDATE
             SET queues = EXCLUDED.queues, commands = EXCLUDED.commands, metadata = EXCLUDED.metadata,
                 last_seen_at = EXCLUDED.last_seen_at",
            beat.worker_id.0,
            beat.hostname,
            beat.version,
            json!(beat.queues),
            json!(beat.commands),
            convert::json(&beat.metadata),
            moment(beat.started_at),
            self.now(),
            key_prefix,
            i64::from(most)
        )
        .execute(&self.lease)
        .await
        .map_err(database)?;
        Ok(written.rows_affected() > 0)
    }

    /// Removes the worker of a key that is silent longest and holds nothing, if there is one.
    async fn make_room(&self, key_prefix: &str) -> StoreResult<bool> {
        let removed = sqlx::query!(
            "DELETE FROM job_workers WHERE worker_id = (
               SELECT w.worker_id FROM job_workers w
               WHERE w.key_prefix = $1 AND w.last_seen_at < $2
                 AND NOT EXISTS (SELECT FROM jobs j WHERE j.status = 'processing' AND j.worker_id = w.worker_id)
               ORDER BY w.last_seen_at, w.worker_id LIMIT 1)",
            key_prefix,
            moment(self.clock.now().minus(SILENT_AFTER))
        )
        .execute(&self.lease)
        .await
        .map_err(database)?;
        Ok(removed.rows_affected() > 0)
    }
}
