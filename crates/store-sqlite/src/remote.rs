//! What workers that come over HTTP need to know before they write.

use crate::{SqliteStore, api_keys, convert::Table, error::Outcome, read::locate};
use async_trait::async_trait;
use leasehold_queue::{Remote, Scope, StoreResult, remote::HeldJob};
use leasehold_types::{JobRef, KeyId, WorkerId, view::ApiKey};

const JOBS: Table = Table("jobs");

#[async_trait]
impl Remote for SqliteStore {
    async fn held_job(&self, scope: &Scope, job: JobRef, with_payload: bool) -> StoreResult<Option<HeldJob>> {
        Ok(held(self, scope, job, with_payload).await?)
    }

    async fn held_count(&self, worker: &WorkerId) -> StoreResult<i64> {
        Ok(count(self, worker).await?)
    }

    async fn worker_seen(&self, worker: &WorkerId) -> StoreResult<()> {
        Ok(seen(self, worker).await?)
    }

    async fn api_keys(&self, scope: &Scope) -> StoreResult<Vec<ApiKey>> {
        Ok(api_keys::list(self, scope).await?)
    }

    async fn revoke_key(&self, scope: &Scope, prefix: &str) -> StoreResult<ApiKey> {
        Ok(api_keys::revoke(self, scope, prefix).await?)
    }

    async fn key_used(&self, key: KeyId) -> StoreResult<()> {
        Ok(api_keys::used(self, key).await?)
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
        r#"SELECT number AS "number!: i64", definition_id, attempt_count, leased_until,
                  CASE WHEN ?2 THEN payload END AS "payload: String"
           FROM jobs WHERE number = ?1"#,
        number,
        with_payload
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(HeldJob {
        number: row.number,
        definition_id: JOBS.parse_opt("definition_id", row.definition_id.as_deref())?,
        attempt: JOBS.int("attempt_count", row.attempt_count)?,
        leased_until: JOBS.time_opt("leased_until", row.leased_until.as_deref())?,
        payload: JOBS.json_opt("payload", row.payload.as_deref())?,
    }))
}

async fn count(store: &SqliteStore, worker: &WorkerId) -> Outcome<i64> {
    Ok(sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!: i64" FROM jobs WHERE status = 'processing' AND worker_id = ?1"#,
        worker.0
    )
    .fetch_one(&store.read)
    .await?)
}

async fn seen(store: &SqliteStore, worker: &WorkerId) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now().to_string();
    sqlx::query!(
        "UPDATE job_workers
         SET last_seen_at = ?2,
             running_count = (SELECT count(*) FROM jobs WHERE status = 'processing' AND worker_id = ?1)
         WHERE worker_id = ?1",
        worker.0,
        now
    )
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}
