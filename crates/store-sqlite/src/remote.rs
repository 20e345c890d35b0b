//! What workers that come over HTTP need to know before they write.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::Outcome,
    read::locate,
};
use async_trait::async_trait;
use leasehold_queue::{
    Remote, Scope, StoreResult,
    params::{Heartbeat, Lease},
    remote::HeldJob,
    silence::{FORGOTTEN_AFTER, Hold, SILENT_AFTER},
};
use leasehold_types::{JobRef, Timestamp, WorkerId};
use sqlx::SqliteConnection;

const JOBS: Table = Table("jobs");
const WORKERS: Table = Table("job_workers");

#[async_trait]
impl Remote for SqliteStore {
    async fn held_job(&self, scope: &Scope, job: JobRef, with_payload: bool) -> StoreResult<Option<HeldJob>> {
        Ok(held(self, scope, job, with_payload).await?)
    }

    async fn hold(&self, number: i64) -> StoreResult<Option<Hold>> {
        Ok(hold(self, number).await?)
    }

    async fn introduce_worker(&self, key_prefix: &str, beat: Heartbeat, most: u32) -> StoreResult<bool> {
        Ok(introduce_worker(self, key_prefix, &beat, most).await?)
    }

    async fn workers_seen(&self, workers: &[WorkerId]) -> StoreResult<()> {
        Ok(workers_seen(self, workers).await?)
    }

    async fn prune_workers(&self) -> StoreResult<u64> {
        Ok(prune_workers(self).await?)
    }
}

async fn held(
    store: &SqliteStore,
    scope: &Scope,
    job: JobRef,
    with_payload: bool,
) -> Outcome<Option<HeldJob>> {
    let mut connection = store.read.acquire().await?;
    let Some(number) = locate(&mut connection, scope, job).await? else { return Ok(None) };
    let row = sqlx::query!(
        r#"SELECT number AS "number!: i64", definition_id, attempt_count, leased_until, worker_id, lease_id,
                  cancel_requested_at IS NOT NULL AS "cancel_requested!: bool",
                  CASE WHEN ?2 THEN payload END AS "payload: String"
           FROM jobs WHERE number = ?1"#,
        number,
        with_payload
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let lease = match row.worker_id.zip(row.lease_id) {
        Some((worker, lease)) => {
            let lease_id = JOBS.parse("lease_id", &lease)?;
            Some(Lease { number: row.number, worker_id: WorkerId(worker), lease_id })
        }
        None => None,
    };
    Ok(Some(HeldJob {
        lease,
        cancel_requested: row.cancel_requested,
        number: row.number,
        definition_id: JOBS.parse_opt("definition_id", row.definition_id.as_deref())?,
        attempt: JOBS.int("attempt_count", row.attempt_count)?,
        leased_until: JOBS.time_opt("leased_until", row.leased_until.as_deref())?,
        payload: JOBS.json_opt("payload", row.payload.as_deref())?,
    }))
}

async fn hold(store: &SqliteStore, number: i64) -> Outcome<Option<Hold>> {
    let row = sqlx::query!(
        r#"SELECT w.last_seen_at AS "last_seen_at?: String", j.acquired_at AS "acquired_at!: String",
                  j.leased_until AS "leased_until!: String",
                  j.cancel_requested_at IS NOT NULL AS "cancel_requested!: bool",
                  j.attempt_count - j.attempt_base AS "attempts_used!: i64", j.max_attempts AS "max_attempts!: i64"
           FROM jobs j LEFT JOIN job_workers w ON w.worker_id = j.worker_id
           WHERE j.number = ?1 AND j.status = 'processing'"#,
        number
    )
    .fetch_optional(&store.read)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Hold {
        last_seen_at: WORKERS.time_opt("last_seen_at", row.last_seen_at.as_deref())?,
        acquired_at: JOBS.time("acquired_at", &row.acquired_at)?,
        leased_until: JOBS.time("leased_until", &row.leased_until)?,
        cancel_requested: row.cancel_requested,
        attempts_used: JOBS.int("attempt_count", row.attempts_used)?,
        max_attempts: JOBS.int("max_attempts", row.max_attempts)?,
    }))
}

async fn introduce_worker(
    store: &SqliteStore,
    key_prefix: &str,
    beat: &Heartbeat,
    most: u32,
) -> Outcome<bool> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let mut written = introduce(&mut tx, key_prefix, beat, most, now).await?;
    if !written && make_room(&mut tx, key_prefix, now).await? {
        written = introduce(&mut tx, key_prefix, beat, most, now).await?;
    }
    tx.commit().await?;
    Ok(written)
}

/// False: the worker is new, and its key has as many as it may.
async fn introduce(
    connection: &mut SqliteConnection,
    key_prefix: &str,
    beat: &Heartbeat,
    most: u32,
    now: Timestamp,
) -> Outcome<bool> {
    let (queues, commands, metadata) =
        (to_json(&beat.queues)?, to_json(&beat.commands)?, to_json(&beat.metadata)?);
    let (started_at, now) = (beat.started_at.to_string(), now.to_string());
    let written = sqlx::query!(
        "INSERT INTO job_workers (worker_id, hostname, version, queues, commands, running_count, metadata,
                                  started_at, last_seen_at, key_prefix)
         SELECT ?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9
         WHERE EXISTS (SELECT 1 FROM job_workers WHERE worker_id = ?1)
            OR (SELECT count(*) FROM job_workers WHERE key_prefix = ?9) < ?10
         ON CONFLICT (worker_id) DO UPDATE
         SET queues = excluded.queues, commands = excluded.commands, metadata = excluded.metadata,
             last_seen_at = excluded.last_seen_at",
        beat.worker_id.0,
        beat.hostname,
        beat.version,
        queues,
        commands,
        metadata,
        started_at,
        now,
        key_prefix,
        most
    )
    .execute(connection)
    .await?;
    Ok(written.rows_affected() > 0)
}

/// Removes the worker of a key that is silent longest and holds nothing, if there is one.
async fn make_room(connection: &mut SqliteConnection, key_prefix: &str, now: Timestamp) -> Outcome<bool> {
    let silent = now.minus(SILENT_AFTER).to_string();
    let removed = sqlx::query!(
        "DELETE FROM job_workers WHERE worker_id = (
           SELECT w.worker_id FROM job_workers w
           WHERE w.key_prefix = ?1 AND w.last_seen_at < ?2
             AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.status = 'processing' AND j.worker_id = w.worker_id)
           ORDER BY w.last_seen_at, w.worker_id LIMIT 1)",
        key_prefix,
        silent
    )
    .execute(connection)
    .await?;
    Ok(removed.rows_affected() > 0)
}

async fn workers_seen(store: &SqliteStore, workers: &[WorkerId]) -> Outcome<()> {
    let ids: Vec<&str> = workers.iter().map(|worker| worker.0.as_str()).collect();
    let (ids, now) = (to_json(&ids)?, store.clock.now().to_string());
    let mut tx = store.begin().await?;
    sqlx::query!(
        "UPDATE job_workers SET last_seen_at = ?2 WHERE worker_id IN (SELECT value FROM json_each(?1))",
        ids,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

async fn prune_workers(store: &SqliteStore) -> Outcome<u64> {
    let before = store.clock.now().minus(FORGOTTEN_AFTER).to_string();
    let mut tx = store.begin().await?;
    let removed =
        sqlx::query!("DELETE FROM job_workers WHERE last_seen_at <= ?1", before).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(removed.rows_affected())
}
