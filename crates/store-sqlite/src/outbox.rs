//! The outbox: written by the verbs inside their own transactions, read by cursor.
//!
//! SQLite has one writer at a time and an `AUTOINCREMENT` id is taken while that writer holds the lock, so ids
//! become visible in their own order: there is never a gap that closes later. An id given back by a rollback
//! was never seen by anyone, and one that was committed is never used again. A reader may therefore go on
//! from the last id it saw, and [`OutboxCursor::gap`] stays empty.

use crate::{
    SqliteStore,
    convert::{Table, limit, to_json},
    error::{Error, Outcome, outcome},
};
use async_trait::async_trait;
use leasehold_queue::{
    Outbox, Scope, StoreResult,
    params::{OutboxCursor, OutboxEvent},
};
use leasehold_types::{JobStatus, LiveEvent, LiveKind, Timestamp};
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;

const EVENTS: Table = Table("job_events");

/// Which counter and which reader a job belongs to.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
pub(crate) struct Kin {
    pub tenant_id: String,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
}

#[derive(Serialize)]
pub(crate) struct NewEvent<'a> {
    #[serde(flatten)]
    kin: &'a Kin,
    job_number: i64,
    kind: &'static str,
    status: &'static str,
    attempt: i64,
    progress: i64,
    attrs: Option<String>,
    at: Option<Timestamp>,
}

/// What only some kinds of events carry.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Attrs {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Who did it, where no entry of the audit log names the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
}

impl<'a> NewEvent<'a> {
    pub fn new(
        kind: LiveKind,
        status: JobStatus,
        kin: &'a Kin,
        number: i64,
        attempt: i64,
        progress: i64,
    ) -> Self {
        Self {
            kin,
            job_number: number,
            kind: kind.as_str(),
            status: status.as_str(),
            attempt,
            progress,
            attrs: None,
            at: None,
        }
    }

    /// Earlier than it is written.
    pub fn at(self, at: Timestamp) -> Self {
        Self { at: Some(at), ..self }
    }

    pub fn with(self, attrs: &Attrs) -> Outcome<Self> {
        let attrs = if *attrs == Attrs::default() { None } else { Some(to_json(attrs)?) };
        Ok(Self { attrs, ..self })
    }
}

#[async_trait]
impl Outbox for SqliteStore {
    async fn outbox_tail(&self) -> StoreResult<i64> {
        outcome(async { newest(&mut *self.read.acquire().await?).await }).await
    }

    async fn read_outbox(&self, cursor: &mut OutboxCursor, max: u32) -> StoreResult<Vec<OutboxEvent>> {
        outcome(async {
            let batch = between(self, None, cursor.after, i64::MAX, max).await?;
            if let Some(last) = batch.last() {
                cursor.after = last.event.id;
            }
            cursor.gap = None;
            Ok(batch)
        })
        .await
    }

    async fn events(&self, scope: &Scope, after: i64, up_to: i64, max: u32) -> StoreResult<Vec<OutboxEvent>> {
        outcome(async { between(self, scope.tenant().map(|id| id.to_string()), after, up_to, max).await })
            .await
    }

    async fn oldest_event(&self) -> StoreResult<i64> {
        outcome(async {
            let id = sqlx::query_scalar!(r#"SELECT COALESCE(MIN(id), 0) AS "id!: i64" FROM job_events"#)
                .fetch_one(&self.read)
                .await?;
            Ok(id)
        })
        .await
    }
}

/// Writes the events in the order given.
pub(crate) async fn append(
    connection: &mut SqliteConnection,
    events: &[NewEvent<'_>],
    now: Timestamp,
) -> Outcome<()> {
    if events.is_empty() {
        return Ok(());
    }
    let (events, now) = (to_json(events)?, now.to_string());
    sqlx::query!(
        "WITH given AS MATERIALIZED (SELECT key, jsonb(value) AS value FROM json_each(?1))
         INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt, progress,
                                 attrs, created_at)
         SELECT value ->> 'tenant_id', value ->> 'job_number', value ->> 'domain',
                value ->> 'queue', value ->> 'job_type', value ->> 'kind', value ->> 'status',
                value ->> 'attempt', value ->> 'progress', value ->> 'attrs', COALESCE(value ->> 'at', ?2)
         FROM given ORDER BY key",
        events,
        now
    )
    .execute(connection)
    .await?;
    Ok(())
}

struct EventRecord {
    id: i64,
    tenant_id: String,
    job_number: i64,
    domain: String,
    queue: String,
    job_type: String,
    kind: String,
    status: String,
    attempt: i64,
    progress: i64,
    attrs: Option<String>,
    created_at: String,
}

impl TryFrom<EventRecord> for OutboxEvent {
    type Error = Error;

    fn try_from(row: EventRecord) -> Outcome<Self> {
        let attrs: Attrs = EVENTS.json_opt("attrs", row.attrs.as_deref())?.unwrap_or_default();
        let event = LiveEvent {
            id: row.id,
            number: row.job_number,
            kind: EVENTS.parse("kind", &row.kind)?,
            at: EVENTS.time("created_at", &row.created_at)?,
            status: EVENTS.parse("status", &row.status)?,
            attempt: EVENTS.int("attempt", row.attempt)?,
            progress: EVENTS.int("progress", row.progress)?,
            domain: row.domain,
            queue: row.queue,
            job_type: row.job_type,
            stage: attrs.stage,
            message: attrs.message,
            error_code: attrs.error_code,
            error_class: attrs.error_class,
            retry_at: attrs.retry_at,
            worker: attrs.worker,
        };
        Ok(Self::new(EVENTS.parse("tenant_id", &row.tenant_id)?, event))
    }
}

/// The newest event in what this connection sees.
pub(crate) async fn newest(connection: &mut SqliteConnection) -> Outcome<i64> {
    let id = sqlx::query_scalar!(r#"SELECT COALESCE(MAX(id), 0) AS "id!: i64" FROM job_events"#)
        .fetch_one(connection)
        .await?;
    Ok(id)
}

async fn between(
    store: &SqliteStore,
    tenant: Option<String>,
    after: i64,
    up_to: i64,
    max: u32,
) -> Outcome<Vec<OutboxEvent>> {
    let max = limit(max);
    let rows = sqlx::query_as!(
        EventRecord,
        "SELECT id, tenant_id, job_number, domain, queue, job_type, kind, status, attempt, progress, attrs, created_at
         FROM job_events
         WHERE id > ?1 AND id <= ?2 AND (?3 IS NULL OR tenant_id = ?3)
         ORDER BY id LIMIT ?4",
        after,
        up_to,
        tenant,
        max
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}
