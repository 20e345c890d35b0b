//! What programs ask for through the API, and files from somebody who holds no lease.

use crate::{
    SqliteStore,
    attachments::{self, Holder},
    audit::{Deed, audit},
    browse,
    convert::{Table, text},
    error::Outcome,
    kind_counts,
    outbox::{self, Attrs, Kin, NewEvent},
    read,
};
use async_trait::async_trait;
use leasehold_queue::{
    Callers, Scope, StoreResult,
    attachments::{Kept, MOST_PER_JOB, NewAttachment, too_many},
    params::Wake,
};
use leasehold_types::{
    JobFilter, JobRef, JobStatus, LiveKind, Problem,
    browse::{Browse, BrowsedJobs, KindCounts, KindFilter},
    view::AttachmentView,
};
use sqlx::SqliteConnection;

const JOBS: Table = Table("jobs");

#[async_trait]
impl Callers for SqliteStore {
    async fn browse(&self, scope: &Scope, filter: &JobFilter, page: Browse) -> StoreResult<BrowsedJobs> {
        Ok(browse::browse(self, scope, filter, page).await?)
    }

    async fn kind_counts(&self, scope: &Scope, filter: &KindFilter) -> StoreResult<Vec<KindCounts>> {
        Ok(kind_counts::kind_counts(self, scope, filter).await?)
    }

    async fn keep_file(
        &self,
        scope: &Scope,
        job: JobRef,
        file: NewAttachment,
    ) -> StoreResult<AttachmentView> {
        Ok(keep_file(self, scope, job, file).await?)
    }
}

async fn keep_file(
    store: &SqliteStore,
    scope: &Scope,
    job: JobRef,
    file: NewAttachment,
) -> Outcome<AttachmentView> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let found = read::locate(&mut tx, scope, job).await?;
    let number = found.ok_or_else(|| Problem::not_found("This job"))?;
    if attachments::others(&mut tx, number, &file.name).await? >= MOST_PER_JOB {
        return Err(too_many().into());
    }
    let (holder, status) = holder(&mut tx, number).await?;
    let id = attachments::keep(&mut tx, number, &holder, &file, now).await?;
    let name = text(&file.name);
    let attrs = Attrs { message: Some(name.clone()), ..Attrs::default() };
    let Holder { attempt, progress, kin } = &holder;
    let event = NewEvent::new(LiveKind::Attachment, status, kin, number, *attempt, *progress).with(&attrs)?;
    outbox::append(&mut tx, &[event], now).await?;
    let tenant = JOBS.parse("tenant_id", &kin.tenant_id)?;
    let deed = Deed::new(Some(tenant), "job.attach", "job", number).because(Some(&name));
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    store.bell.ring(Wake::Events);
    let attempt = JOBS.int("attempt_count", *attempt)?;
    Ok(file.view(Kept { id, number, attempt, created_at: now }))
}

async fn holder(connection: &mut SqliteConnection, number: i64) -> Outcome<(Holder, JobStatus)> {
    let row = sqlx::query!(
        "SELECT attempt_count, progress_percent, status, tenant_id, domain, queue, job_type
         FROM jobs WHERE number = ?1",
        number
    )
    .fetch_one(connection)
    .await?;
    let status = JOBS.parse("status", &row.status)?;
    let kin = Kin { tenant_id: row.tenant_id, domain: row.domain, queue: row.queue, job_type: row.job_type };
    Ok((Holder { attempt: row.attempt_count, progress: row.progress_percent, kin }, status))
}
