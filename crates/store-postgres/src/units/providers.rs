//! Providers: their settings, who runs there, and when the next call may begin.

use crate::{
    PostgresStore,
    convert::{as_json, moment, parsed, stamp_if, word},
    error::{Outcome, database, outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreError, StoreResult,
    ports::{
        providers::{ProviderQueries, ProviderRows},
        tx::Tx,
    },
    units::{ProviderSpec, assign::ProviderState},
};
use leasehold_types::unit::ProviderView;
use serde_json::Value;
use sqlx::PgConnection;
use std::time::Duration;
use time::OffsetDateTime;

struct ProviderRecord {
    name: String,
    kind: String,
    is_local: bool,
    requests_per_second: f64,
    max_concurrency: i32,
    max_retries: i32,
    retry_delay_seconds: f64,
    is_active: bool,
    next_free_at: Option<OffsetDateTime>,
    last_used_at: Option<OffsetDateTime>,
    waiting: Value,
    running: i64,
}

/// Every provider and how many units run there: those whose job is still held under the lease they began with.
async fn records(connection: &mut PgConnection) -> StoreResult<Vec<ProviderRecord>> {
    sqlx::query_as!(
        ProviderRecord,
        r#"SELECT p.name, p.kind, p.is_local, p.requests_per_second, p.max_concurrency, p.max_retries,
                  p.retry_delay_seconds, p.is_active, p.next_free_at, p.last_used_at, p.waiting,
                  (SELECT COUNT(*) FROM work_units u JOIN jobs j ON j.number = u.job_number
                   WHERE u.provider = p.name AND u.state = 'running' AND j.lease_id = u.lease_id) AS "running!"
           FROM providers p ORDER BY p.name"#
    )
    .fetch_all(connection)
    .await
    .map_err(database)
}

impl TryFrom<ProviderRecord> for ProviderView {
    type Error = StoreError;

    fn try_from(row: ProviderRecord) -> StoreResult<Self> {
        Ok(Self {
            kind: word("providers", "kind", &row.kind)?,
            name: row.name,
            is_local: row.is_local,
            requests_per_second: row.requests_per_second,
            max_concurrency: row.max_concurrency,
            max_retries: row.max_retries,
            retry_delay_seconds: row.retry_delay_seconds,
            is_active: row.is_active,
            running: row.running,
            last_used_at: stamp_if(row.last_used_at),
        })
    }
}

#[async_trait]
impl ProviderRows for PostgresTx {
    async fn put_provider(&mut self, spec: &ProviderSpec) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "INSERT INTO providers (name, kind, is_local, requests_per_second, max_concurrency, max_retries,
                                    retry_delay_seconds, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
             ON CONFLICT (name) DO UPDATE
             SET kind = excluded.kind, is_local = excluded.is_local,
                 requests_per_second = excluded.requests_per_second, max_concurrency = excluded.max_concurrency,
                 max_retries = excluded.max_retries, retry_delay_seconds = excluded.retry_delay_seconds,
                 updated_at = excluded.updated_at",
            spec.name,
            spec.kind.as_str(),
            spec.is_local,
            spec.requests_per_second,
            spec.max_concurrency,
            spec.max_retries,
            spec.retry_delay.as_secs_f64(),
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn set_provider_active(&mut self, name: &str, active: bool) -> Outcome<bool> {
        let now = moment(self.now());
        let changed = sqlx::query!(
            "UPDATE providers SET is_active = $2, updated_at = $3 WHERE name = $1",
            name,
            active,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(changed.rows_affected() > 0)
    }
}

#[async_trait]
impl ProviderQueries for PostgresStore {
    async fn providers(&self) -> StoreResult<Vec<ProviderView>> {
        outcome(async {
            let rows = records(&mut *self.work.acquire().await?).await?;
            Ok(rows.into_iter().map(TryInto::try_into).collect::<StoreResult<_>>()?)
        })
        .await
    }
}

/// What a claim decides from. Counting is a statement of its own: it must see what was committed by whoever held the
/// rows before.
pub(super) async fn lock(connection: &mut PgConnection) -> StoreResult<Vec<ProviderState>> {
    sqlx::query!("SELECT name FROM providers ORDER BY name FOR NO KEY UPDATE")
        .fetch_all(&mut *connection)
        .await
        .map_err(database)?;
    let state = |row: ProviderRecord| {
        let next_free_at = stamp_if(row.next_free_at);
        let waiting = parsed("providers", "waiting", row.waiting.clone())?;
        let view = ProviderView::try_from(row)?;
        let retry_delay = Duration::from_secs_f64(view.retry_delay_seconds.clamp(0.0, 3_600.0));
        let spec = ProviderSpec {
            name: view.name,
            kind: view.kind,
            is_local: view.is_local,
            requests_per_second: view.requests_per_second,
            max_concurrency: view.max_concurrency,
            max_retries: view.max_retries,
            retry_delay,
        };
        let (is_active, running) = (view.is_active, view.running);
        Ok(ProviderState { spec, is_active, running, next_free_at, waiting, changed: false })
    };
    records(connection).await?.into_iter().map(state).collect()
}

/// Writes back what was taken, and who waits.
pub(super) async fn save(connection: &mut PgConnection, states: &[ProviderState]) -> StoreResult<()> {
    for state in states.iter().filter(|state| state.changed) {
        sqlx::query!(
            "UPDATE providers SET next_free_at = $2, last_used_at = $3, waiting = $4 WHERE name = $1",
            state.spec.name,
            state.next_free_at.map(moment),
            state.last_start().map(moment),
            as_json(&state.waiting)?
        )
        .execute(&mut *connection)
        .await
        .map_err(database)?;
    }
    Ok(())
}
