//! Providers: their settings, who runs there, and when the next call may begin.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::{Error, Outcome, outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::{
        providers::{ProviderQueries, ProviderRows},
        tx::Tx,
    },
    units::{ProviderSpec, assign::ProviderState},
};
use leasehold_types::{Timestamp, unit::ProviderView};
use serde::Serialize;
use sqlx::SqliteConnection;
use std::time::Duration;

const PROVIDERS: Table = Table("providers");

struct ProviderRecord {
    name: String,
    kind: String,
    is_local: bool,
    requests_per_second: f64,
    max_concurrency: i64,
    max_retries: i64,
    retry_delay_seconds: f64,
    is_active: bool,
    next_free_at: Option<String>,
    last_used_at: Option<String>,
    waiting: String,
    running: i64,
}

/// Every provider and how many units run there: those whose job is still held under the lease they began with.
async fn records(connection: &mut SqliteConnection) -> Outcome<Vec<ProviderRecord>> {
    Ok(sqlx::query_as!(
        ProviderRecord,
        r#"SELECT p.name, p.kind, p.is_local AS "is_local: bool", p.requests_per_second, p.max_concurrency,
                  p.max_retries, p.retry_delay_seconds, p.is_active AS "is_active: bool", p.next_free_at,
                  p.last_used_at, p.waiting,
                  (SELECT COUNT(*) FROM work_units u JOIN jobs j ON j.number = u.job_number
                   WHERE u.provider = p.name AND u.state = 'running' AND j.lease_id = u.lease_id)
                    AS "running!: i64"
           FROM providers p ORDER BY p.name"#
    )
    .fetch_all(connection)
    .await?)
}

impl TryFrom<ProviderRecord> for ProviderView {
    type Error = Error;

    fn try_from(row: ProviderRecord) -> Outcome<Self> {
        Ok(Self {
            kind: PROVIDERS.parse("kind", &row.kind)?,
            is_local: row.is_local,
            requests_per_second: row.requests_per_second,
            max_concurrency: PROVIDERS.int("max_concurrency", row.max_concurrency)?,
            max_retries: PROVIDERS.int("max_retries", row.max_retries)?,
            retry_delay_seconds: row.retry_delay_seconds,
            is_active: row.is_active,
            running: row.running,
            last_used_at: PROVIDERS.time_opt("last_used_at", row.last_used_at.as_deref())?,
            name: row.name,
        })
    }
}

#[async_trait]
impl ProviderRows for SqliteTx {
    async fn put_provider(&mut self, spec: &ProviderSpec) -> Outcome<()> {
        let now = self.now().to_string();
        let (kind, delay) = (spec.kind.as_str(), spec.retry_delay.as_secs_f64());
        sqlx::query!(
            "INSERT INTO providers (name, kind, is_local, requests_per_second, max_concurrency, max_retries,
                                    retry_delay_seconds, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
             ON CONFLICT (name) DO UPDATE
             SET kind = excluded.kind, is_local = excluded.is_local,
                 requests_per_second = excluded.requests_per_second, max_concurrency = excluded.max_concurrency,
                 max_retries = excluded.max_retries, retry_delay_seconds = excluded.retry_delay_seconds,
                 updated_at = excluded.updated_at",
            spec.name,
            kind,
            spec.is_local,
            spec.requests_per_second,
            spec.max_concurrency,
            spec.max_retries,
            delay,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn set_provider_active(&mut self, name: &str, active: bool) -> Outcome<bool> {
        let now = self.now().to_string();
        let changed = sqlx::query!(
            "UPDATE providers SET is_active = ?2, updated_at = ?3 WHERE name = ?1",
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
impl ProviderQueries for SqliteStore {
    async fn providers(&self) -> StoreResult<Vec<ProviderView>> {
        outcome(async {
            let rows = records(&mut *self.read.acquire().await?).await?;
            rows.into_iter().map(TryInto::try_into).collect()
        })
        .await
    }
}

/// What a claim decides from.
pub(super) async fn states(connection: &mut SqliteConnection) -> Outcome<Vec<ProviderState>> {
    let state = |row: ProviderRecord| {
        let next_free_at = PROVIDERS.time_opt("next_free_at", row.next_free_at.as_deref())?;
        let waiting = PROVIDERS.json("waiting", &row.waiting)?;
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

#[derive(Serialize)]
struct Changed<'a> {
    name: &'a str,
    next_free_at: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    waiting: &'a [(i64, Timestamp)],
}

/// Writes back what was taken, and who waits.
pub(super) async fn save(connection: &mut SqliteConnection, states: &[ProviderState]) -> Outcome<()> {
    let changed = states.iter().filter(|state| state.changed);
    let changed: Vec<_> = changed
        .map(|state| Changed {
            name: &state.spec.name,
            next_free_at: state.next_free_at,
            last_used_at: state.last_start(),
            waiting: &state.waiting,
        })
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    let changed = to_json(&changed)?;
    sqlx::query!(
        "UPDATE providers
         SET next_free_at = now.value ->> 'next_free_at', last_used_at = now.value ->> 'last_used_at',
             waiting = now.value ->> 'waiting'
         FROM json_each(?1) AS now WHERE providers.name = now.value ->> 'name'",
        changed
    )
    .execute(connection)
    .await?;
    Ok(())
}
