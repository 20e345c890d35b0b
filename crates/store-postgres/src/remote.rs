//! What workers that come over HTTP need to know before they write.

use crate::{PostgresStore, convert::stamp_if, error::database, read::locate};
use async_trait::async_trait;
use leasehold_queue::{Remote, Scope, StoreResult, remote::HeldJob};
use leasehold_types::{DefinitionId, JobRef, KeyId, WorkerId, view::ApiKey};

#[async_trait]
impl Remote for PostgresStore {
    async fn held_job(&self, scope: &Scope, job: JobRef, with_payload: bool) -> StoreResult<Option<HeldJob>> {
        let Some(number) = locate(&self.work, scope, job).await? else { return Ok(None) };
        let row = sqlx::query!(
            "SELECT number, definition_id, attempt_count, leased_until,
                    CASE WHEN $2 THEN payload END AS payload
             FROM jobs WHERE number = $1",
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
            payload: r.payload,
        }))
    }

    async fn held_count(&self, worker: &WorkerId) -> StoreResult<i64> {
        sqlx::query_scalar!(
            r#"SELECT count(*) AS "count!" FROM jobs WHERE status = 'processing' AND worker_id = $1"#,
            worker.0
        )
        .fetch_one(&self.lease)
        .await
        .map_err(database)
    }

    async fn worker_seen(&self, worker: &WorkerId) -> StoreResult<()> {
        sqlx::query!(
            "UPDATE job_workers
             SET last_seen_at = $2,
                 running_count = (SELECT count(*) FROM jobs WHERE status = 'processing' AND worker_id = $1)
             WHERE worker_id = $1",
            worker.0,
            self.now()
        )
        .execute(&self.lease)
        .await
        .map(drop)
        .map_err(database)
    }

    async fn api_keys(&self, scope: &Scope) -> StoreResult<Vec<ApiKey>> {
        self.reached_keys(scope).await
    }

    async fn revoke_key(&self, scope: &Scope, prefix: &str) -> StoreResult<ApiKey> {
        self.close_key(scope, prefix).await
    }

    async fn key_used(&self, key: KeyId) -> StoreResult<()> {
        self.note_use(key).await
    }
}
