//! Files that jobs leave behind: fenced, replaced by name, one event per file.

use crate::{
    PostgresStore,
    convert::{moment, stamp, text},
    error::database,
    read::locate,
};
use async_trait::async_trait;
use leasehold_queue::{
    Attachments, Scope, StoreResult,
    attachments::{Attachment, Kept, MOST_PER_JOB, NewAttachment, lease_lost, too_many},
    params::{Lease, Wake},
};
use leasehold_types::{AttachmentId, JobRef, view::AttachmentView};
use time::OffsetDateTime;
use uuid::Uuid;

/// Everything but the bytes.
struct Record {
    id: Uuid,
    job_number: i64,
    name: String,
    content_type: String,
    size: i64,
    sha256: String,
    attempt: i32,
    created_at: OffsetDateTime,
}

impl From<Record> for AttachmentView {
    fn from(r: Record) -> Self {
        Self {
            id: AttachmentId(r.id),
            number: r.job_number,
            name: r.name,
            content_type: r.content_type,
            size: r.size,
            sha256: r.sha256,
            attempt: r.attempt,
            created_at: stamp(r.created_at),
        }
    }
}

#[async_trait]
impl Attachments for PostgresStore {
    /// One statement: the bytes have arrived before the row is locked, so a renewal never waits for the network.
    async fn attach(&self, lease: &Lease, file: NewAttachment) -> StoreResult<AttachmentView> {
        let (now, name, size) = (self.clock.now(), text(&file.name), file.bytes.len() as i64);
        let answer = sqlx::query!(
            r#"WITH held AS MATERIALIZED (
                 SELECT number, tenant_id, domain, queue, job_type, progress_percent, attempt_count
                 FROM jobs
                 WHERE number = $1 AND worker_id = $2 AND lease_id = $3 AND status = 'processing'
                 FOR UPDATE),
               others AS (SELECT count(*) AS files FROM job_attachments WHERE job_number = $1 AND name <> $5),
               kept AS (
                 INSERT INTO job_attachments (id, tenant_id, job_number, name, content_type, size, sha256, attempt,
                        created_at, content)
                 SELECT $4, h.tenant_id, h.number, $5, $6, $7, $8, h.attempt_count, $9, $10
                 FROM held h CROSS JOIN others o WHERE o.files < $11
                 ON CONFLICT (job_number, name) DO UPDATE SET content_type = EXCLUDED.content_type,
                   size = EXCLUDED.size, sha256 = EXCLUDED.sha256, attempt = EXCLUDED.attempt,
                   created_at = EXCLUDED.created_at, content = EXCLUDED.content
                 RETURNING id, attempt),
               told AS (
                 INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                        progress, attrs, created_at)
                 SELECT tenant_id, number, domain, queue, job_type, 'job.attachment', 'processing', attempt_count,
                        progress_percent, jsonb_build_object('message', $5::text), $9
                 FROM held WHERE $12 AND EXISTS (SELECT FROM kept))
               SELECT EXISTS (SELECT FROM held) AS "held!", (SELECT id FROM kept) AS id,
                      (SELECT attempt FROM kept) AS attempt"#,
            lease.number,
            lease.worker_id.0,
            lease.lease_id.0,
            file.id.0,
            name.as_ref(),
            file.content_type,
            size,
            file.sha256,
            moment(now),
            file.bytes,
            MOST_PER_JOB,
            self.outbox
        )
        .fetch_one(&self.work)
        .await
        .map_err(database)?;
        if !answer.held {
            return Err(lease_lost().into());
        }
        let (Some(id), Some(attempt)) = (answer.id, answer.attempt) else { return Err(too_many().into()) };
        self.wakes.tell(&[Wake::Events]);
        Ok(file.view(Kept { id: AttachmentId(id), number: lease.number, attempt, created_at: now }))
    }

    async fn attachments(&self, scope: &Scope, job: JobRef) -> StoreResult<Vec<AttachmentView>> {
        let Some(number) = locate(&self.work, scope, job).await? else { return Ok(Vec::new()) };
        let rows = sqlx::query_as!(
            Record,
            "SELECT id, job_number, name, content_type, size, sha256, attempt, created_at
             FROM job_attachments WHERE job_number = $1 ORDER BY name COLLATE \"C\"",
            number
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    async fn attachment(&self, scope: &Scope, id: AttachmentId) -> StoreResult<Option<Attachment>> {
        let row = sqlx::query!(
            "SELECT id, job_number, name, content_type, size, sha256, attempt, created_at, content
             FROM job_attachments WHERE id = $1 AND ($2::uuid IS NULL OR tenant_id = $2)",
            id.0,
            scope.tenant().map(|t| t.0)
        )
        .fetch_optional(&self.work)
        .await
        .map_err(database)?;
        if let Some(r) = row.as_ref().filter(|_| scope.domains.is_some()) {
            locate(&self.work, scope, JobRef::Number(r.job_number)).await?;
        }
        Ok(row.map(|r| {
            let view = AttachmentView {
                id: AttachmentId(r.id),
                number: r.job_number,
                name: r.name,
                content_type: r.content_type,
                size: r.size,
                sha256: r.sha256,
                attempt: r.attempt,
                created_at: stamp(r.created_at),
            };
            Attachment { view, bytes: r.content }
        }))
    }
}
