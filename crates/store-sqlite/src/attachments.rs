//! Files that jobs leave behind: fenced, replaced by name, one event per file.

use crate::{
    SqliteStore,
    convert::{Table, text},
    error::Outcome,
    outbox::{self, Attrs, Kin, NewEvent},
    read,
};
use async_trait::async_trait;
use leasehold_queue::{
    Attachments, Scope, StoreResult,
    attachments::{Attachment, Kept, MOST_PER_JOB, NewAttachment, lease_lost, too_many},
    params::{Lease, Wake},
};
use leasehold_types::{AttachmentId, JobRef, JobStatus, LiveKind, Timestamp, view::AttachmentView};
use sqlx::SqliteConnection;

const FILES: Table = Table("job_attachments");

#[async_trait]
impl Attachments for SqliteStore {
    async fn attach(&self, lease: &Lease, file: NewAttachment) -> StoreResult<AttachmentView> {
        Ok(attach(self, lease, file).await?)
    }
    async fn attachments(&self, scope: &Scope, job: JobRef) -> StoreResult<Vec<AttachmentView>> {
        Ok(of_job(self, scope, job).await?)
    }
    async fn attachment(&self, scope: &Scope, id: AttachmentId) -> StoreResult<Option<Attachment>> {
        Ok(with_bytes(self, scope, id).await?)
    }
}

/// The job a file is for, while its lease holds.
pub(crate) struct Holder {
    pub attempt: i64,
    pub progress: i64,
    pub kin: Kin,
}

async fn attach(store: &SqliteStore, lease: &Lease, file: NewAttachment) -> Outcome<AttachmentView> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let Some(holder) = holder(&mut tx, lease).await? else { return Err(lease_lost().into()) };
    if others(&mut tx, lease.number, &file.name).await? >= MOST_PER_JOB {
        return Err(too_many().into());
    }
    let id = keep(&mut tx, lease.number, &holder, &file, now).await?;
    let Holder { attempt, progress, kin } = &holder;
    let attrs = Attrs { message: Some(text(&file.name)), ..Attrs::default() };
    let status = JobStatus::Processing;
    let event =
        NewEvent::new(LiveKind::Attachment, status, kin, lease.number, *attempt, *progress).with(&attrs)?;
    outbox::append(&mut tx, &[event], now).await?;
    tx.commit().await?;
    store.bell.ring(Wake::Events);
    let attempt = FILES.int("attempt", *attempt)?;
    Ok(file.view(Kept { id, number: lease.number, attempt, created_at: now }))
}

async fn holder(connection: &mut SqliteConnection, lease: &Lease) -> Outcome<Option<Holder>> {
    let lease_id = lease.lease_id.to_string();
    let found = sqlx::query!(
        "SELECT attempt_count, progress_percent, tenant_id, domain, queue, job_type FROM jobs
         WHERE number = ?1 AND status = 'processing' AND worker_id = ?2 AND lease_id = ?3",
        lease.number,
        lease.worker_id.0,
        lease_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.map(|row| Holder {
        attempt: row.attempt_count,
        progress: row.progress_percent,
        kin: Kin { tenant_id: row.tenant_id, domain: row.domain, queue: row.queue, job_type: row.job_type },
    }))
}

/// How many files of other names the job has.
pub(crate) async fn others(connection: &mut SqliteConnection, number: i64, name: &str) -> Outcome<i64> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "files!: i64" FROM job_attachments WHERE job_number = ?1 AND name <> ?2"#,
        number,
        name
    );
    Ok(count.fetch_one(connection).await?)
}

pub(crate) async fn keep(
    connection: &mut SqliteConnection,
    number: i64,
    holder: &Holder,
    file: &NewAttachment,
    now: Timestamp,
) -> Outcome<AttachmentId> {
    let (id, name, now) = (file.id.to_string(), text(&file.name), now.to_string());
    let size = file.bytes.len() as i64;
    let kept = sqlx::query_scalar!(
        "INSERT INTO job_attachments (id, tenant_id, job_number, name, content_type, size, sha256, attempt,
                                      created_at, content)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (job_number, name) DO UPDATE SET content_type = excluded.content_type,
           size = excluded.size, sha256 = excluded.sha256, attempt = excluded.attempt,
           created_at = excluded.created_at, content = excluded.content
         RETURNING id",
        id,
        holder.kin.tenant_id,
        number,
        name,
        file.content_type,
        size,
        file.sha256,
        holder.attempt,
        now,
        file.bytes
    )
    .fetch_one(connection)
    .await?;
    FILES.parse("id", &kept)
}

/// Everything but the bytes.
struct Record {
    id: String,
    job_number: i64,
    name: String,
    content_type: String,
    size: i64,
    sha256: String,
    attempt: i64,
    created_at: String,
}

fn view_of(row: Record) -> Outcome<AttachmentView> {
    Ok(AttachmentView {
        id: FILES.parse("id", &row.id)?,
        number: row.job_number,
        name: row.name,
        content_type: row.content_type,
        size: row.size,
        sha256: row.sha256,
        attempt: FILES.int("attempt", row.attempt)?,
        created_at: FILES.time("created_at", &row.created_at)?,
    })
}

async fn of_job(store: &SqliteStore, scope: &Scope, job: JobRef) -> Outcome<Vec<AttachmentView>> {
    let mut connection = store.read.acquire().await?;
    let Some(number) = read::locate(&mut connection, scope, job).await? else { return Ok(Vec::new()) };
    let rows = sqlx::query_as!(
        Record,
        r#"SELECT id AS "id!", job_number, name, content_type, size, sha256, attempt, created_at
           FROM job_attachments WHERE job_number = ?1 ORDER BY name"#,
        number
    )
    .fetch_all(&mut *connection)
    .await?;
    rows.into_iter().map(view_of).collect()
}

async fn with_bytes(store: &SqliteStore, scope: &Scope, id: AttachmentId) -> Outcome<Option<Attachment>> {
    let (id, only) = (id.to_string(), scope.tenant().map(|tenant| tenant.to_string()));
    let row = sqlx::query!(
        r#"SELECT id AS "id!", job_number, name, content_type, size, sha256, attempt, created_at, content
           FROM job_attachments WHERE id = ?1 AND (?2 IS NULL OR tenant_id = ?2)"#,
        id,
        only
    )
    .fetch_optional(&store.read)
    .await?;
    let Some(r) = row else { return Ok(None) };
    if scope.domains.is_some() {
        let job = JobRef::Number(r.job_number);
        read::locate(&mut *store.read.acquire().await?, scope, job).await?;
    }
    let view = view_of(Record {
        id: r.id,
        job_number: r.job_number,
        name: r.name,
        content_type: r.content_type,
        size: r.size,
        sha256: r.sha256,
        attempt: r.attempt,
        created_at: r.created_at,
    })?;
    Ok(Some(Attachment { view, bytes: r.content }))
}
