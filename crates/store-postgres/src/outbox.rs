//! The outbox and its safe horizon.
//!
//! Postgres hands out event ids before their transactions commit, so a smaller id may become visible after a
//! larger one, and "everything after my cursor" would skip it for ever. A reader therefore stops at the first
//! missing id. It may pass once that id can no longer appear, and this is how it knows:
//!
//! Every statement that inserts events has written (or locked) a job row before it draws the event's number, so
//! its transaction already has an id. A missing number below one that is visible was drawn earlier still, so
//! a transaction id drawn *after* the gap was seen is larger than the missing one's. When a later snapshot's
//! `xmin` has reached that mark, every such transaction is over, and what that very snapshot does not show was
//! rolled back (or pruned). A snapshot's `xmax` would not do as the mark: it is one past the newest transaction
//! that has *ended*, and the one we wait for may be newer and still running.
//! Keep this in mind when adding a statement: **first the job, then the event**.

use crate::{
    PostgresStore,
    convert::{stamp, word},
    error::database,
};
use async_trait::async_trait;
use leasehold_queue::{
    Outbox, Scope, StoreResult,
    params::{OutboxCursor, OutboxEvent, OutboxGap},
};
use leasehold_types::{LiveEvent, TenantId, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use std::{sync::atomic::Ordering, time::Duration};
use time::OffsetDateTime;
use uuid::Uuid;

/// How long the tail waits for transactions that were open when it was asked for.
const TAIL_LOOKS: u32 = 200;
const TAIL_PAUSE: Duration = Duration::from_millis(10);

struct EventRecord {
    id: i64,
    tenant_id: Uuid,
    job_number: i64,
    domain: String,
    queue: String,
    job_type: String,
    kind: String,
    status: String,
    attempt: i32,
    progress: i16,
    attrs: Option<Value>,
    created_at: OffsetDateTime,
    /// Of the snapshot it was read in.
    xmin: i64,
}

/// What only some kinds carry.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Attrs {
    stage: Option<String>,
    message: Option<String>,
    error_code: Option<String>,
    error_class: Option<String>,
    retry_at: Option<Timestamp>,
    worker: Option<String>,
}

impl EventRecord {
    fn into_event(self) -> StoreResult<OutboxEvent> {
        let attrs: Attrs = match self.attrs {
            Some(json) => crate::convert::parsed("job_events", "attrs", json)?,
            None => Attrs::default(),
        };
        let event = LiveEvent {
            id: self.id,
            number: self.job_number,
            kind: word("job_events", "kind", &self.kind)?,
            domain: self.domain,
            queue: self.queue,
            job_type: self.job_type,
            at: stamp(self.created_at),
            status: word("job_events", "status", &self.status)?,
            attempt: self.attempt,
            progress: self.progress,
            stage: attrs.stage,
            message: attrs.message,
            error_code: attrs.error_code,
            error_class: attrs.error_class,
            retry_at: attrs.retry_at,
            worker: attrs.worker,
        };
        Ok(OutboxEvent::new(TenantId(self.tenant_id), event))
    }
}

/// Where the outbox ended in one snapshot.
struct End {
    newest: i64,
    xmin: i64,
}

#[async_trait]
impl Outbox for PostgresStore {
    /// Waits a moment for the transactions that are open now. If one of them takes long, the reader starts
    /// further back, before the first missing id, and finds its way from there.
    async fn outbox_tail(&self) -> StoreResult<i64> {
        let newest = self.end_of_outbox().await?.newest;
        let mark = self.draw_xid().await?;
        for _ in 0..TAIL_LOOKS {
            if self.end_of_outbox().await?.xmin >= mark {
                self.horizon.fetch_max(newest, Ordering::AcqRel);
                return Ok(newest);
            }
            tokio::time::sleep(TAIL_PAUSE).await;
        }
        sqlx::query_scalar!(
            r#"SELECT COALESCE(
                 (SELECT min(id) FROM (SELECT id, lead(id) OVER (ORDER BY id) AS next FROM job_events) ids
                  WHERE next <> id + 1),
                 (SELECT max(id) FROM job_events), 0) AS "id!""#
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)
    }

    async fn read_outbox(&self, cursor: &mut OutboxCursor, limit: u32) -> StoreResult<Vec<OutboxEvent>> {
        let rows = self.event_records(None, cursor.after, i64::MAX, limit).await?;
        let mut events = Vec::with_capacity(rows.len());
        for row in rows {
            let expected = cursor.after + 1;
            if row.id != expected && !self.may_pass(&mut cursor.gap, expected, row.xmin).await? {
                break;
            }
            cursor.gap = None;
            cursor.after = row.id;
            events.push(row.into_event()?);
        }
        self.horizon.fetch_max(cursor.after, Ordering::AcqRel);
        Ok(events)
    }

    async fn events(
        &self,
        scope: &Scope,
        after: i64,
        up_to: i64,
        limit: u32,
    ) -> StoreResult<Vec<OutboxEvent>> {
        let rows = self.event_records(scope.tenant(), after, up_to, limit).await?;
        rows.into_iter().map(EventRecord::into_event).collect()
    }

    async fn oldest_event(&self) -> StoreResult<i64> {
        sqlx::query_scalar!(r#"SELECT COALESCE(min(id), 0) AS "id!" FROM job_events"#)
            .fetch_one(&self.work)
            .await
            .map_err(database)
    }
}

impl PostgresStore {
    async fn event_records(
        &self,
        tenant: Option<TenantId>,
        after: i64,
        up_to: i64,
        limit: u32,
    ) -> StoreResult<Vec<EventRecord>> {
        sqlx::query_as!(
            EventRecord,
            r#"WITH seen AS MATERIALIZED (SELECT pg_current_snapshot() AS snapshot)
               SELECT e.id, e.tenant_id, e.job_number, e.domain, e.queue, e.job_type, e.kind, e.status, e.attempt,
                      e.progress, e.attrs, e.created_at,
                      pg_snapshot_xmin(seen.snapshot)::text::bigint AS "xmin!"
               FROM seen CROSS JOIN job_events e
               WHERE e.id > $1 AND e.id <= $2 AND ($3::uuid IS NULL OR e.tenant_id = $3)
               ORDER BY e.id LIMIT $4"#,
            after,
            up_to,
            tenant.map(|t| t.0),
            i64::from(limit)
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)
    }

    async fn end_of_outbox(&self) -> StoreResult<End> {
        sqlx::query_as!(
            End,
            r#"SELECT COALESCE((SELECT max(id) FROM job_events), 0) AS "newest!",
                      pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS "xmin!""#
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)
    }

    /// For views: an id below which everything is visible to statements that start after this call.
    pub(crate) async fn safe_cursor(&self) -> StoreResult<i64> {
        match self.horizon.load(Ordering::Acquire) {
            0 => self.outbox_tail().await,
            known => Ok(known),
        }
    }

    /// A transaction id larger than every one drawn before.
    async fn draw_xid(&self) -> StoreResult<i64> {
        sqlx::query_scalar!(r#"SELECT pg_current_xact_id()::text::bigint AS "xid!""#)
            .fetch_one(&self.work)
            .await
            .map_err(database)
    }

    /// Whether the ids from `expected` on, missing in a snapshot with this `xmin`, can no longer appear. The first
    /// time a gap is seen, its mark is drawn and the answer is no.
    async fn may_pass(&self, gap: &mut Option<OutboxGap>, expected: i64, xmin: i64) -> StoreResult<bool> {
        match gap {
            Some(known) if known.first_missing == expected => Ok(xmin >= known.until_xid),
            _ => {
                let until_xid = self.draw_xid().await?;
                *gap = Some(OutboxGap { first_missing: expected, until_xid });
                Ok(false)
            }
        }
    }
}
