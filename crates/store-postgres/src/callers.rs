//! What programs ask for through the API, and files from somebody who holds no lease.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{moment, text},
    error::database,
    read::locate,
};
use async_trait::async_trait;
use leasehold_queue::{
    Callers, Scope, StoreResult,
    attachments::{Kept, MOST_PER_JOB, NewAttachment, too_many},
    params::Wake,
};
use leasehold_types::{
    AttachmentId, JobFilter, JobRef, Problem, Timestamp,
    browse::{Browse, BrowsedJobs, KindCounts, KindFilter},
    view::AttachmentView,
};
use sqlx::PgConnection;

#[async_trait]
impl Callers for PostgresStore {
    async fn browse(&self, scope: &Scope, filter: &JobFilter, page: Browse) -> StoreResult<BrowsedJobs> {
        self.browsed(scope, filter, page).await
    }

    async fn kind_counts(&self, scope: &Scope, filter: &KindFilter) -> StoreResult<Vec<KindCounts>> {
        self.counted_kinds(scope, filter).await
    }

    /// Two statements: how many files the job has must be counted once nobody else can add one.
    async fn keep_file(
        &self,
        scope: &Scope,
        job: JobRef,
        file: NewAttachment,
    ) -> StoreResult<AttachmentView> {
        let missing = || Problem::not_found("This job");
        let number = locate(&self.work, scope, job).await?.ok_or_else(missing)?;
        let now = self.clock.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let locked =
            sqlx::query!("SELECT tenant_id, attempt_count FROM jobs WHERE number = $1 FOR UPDATE", number);
        let held = locked.fetch_optional(&mut *tx).await.map_err(database)?.ok_or_else(missing)?;
        let id = keep(&mut tx, number, &file, now, self.outbox).await?.ok_or_else(too_many)?;
        let object_id = number.to_string();
        let act = Act {
            tenant: Some(held.tenant_id),
            action: "job.attach",
            object_type: "job",
            object_id: &object_id,
            reason: Some(&text(&file.name)),
        };
        audit::record(&mut tx, scope, moment(now), act).await?;
        tx.commit().await.map_err(database)?;
        self.wakes.tell(&[Wake::Events]);
        Ok(file.view(Kept { id, number, attempt: held.attempt_count, created_at: now }))
    }
}

/// The file's id; none when the job has as many as it may have.
async fn keep(
    connection: &mut PgConnection,
    number: i64,
    file: &NewAttachment,
    now: Timestamp,
    outbox: bool,
) -> StoreResult<Option<AttachmentId>> {
    let (name, size) = (text(&file.name), file.bytes.len() as i64);
    let kept = sqlx::query_scalar!(
        r#"WITH others AS (SELECT count(*) AS files FROM job_attachments WHERE job_number = $1 AND name <> $3),
             kept AS (
               INSERT INTO job_attachments (id, tenant_id, job_number, name, content_type, size, sha256, attempt,
                      created_at, content)
               SELECT $2, j.tenant_id, j.number, $3, $4, $5, $6, j.attempt_count, $7, $8
               FROM jobs j CROSS JOIN others o WHERE j.number = $1 AND o.files < $9
               ON CONFLICT (job_number, name) DO UPDATE SET content_type = EXCLUDED.content_type,
                 size = EXCLUDED.size, sha256 = EXCLUDED.sha256, attempt = EXCLUDED.attempt,
                 created_at = EXCLUDED.created_at, content = EXCLUDED.content
               RETURNING id),
             told AS (
               INSERT INTO job_events (tenant_id, job_number, domain, queue, job_type, kind, status, attempt,
                      progress, attrs, created_at)
               SELECT tenant_id, number, domain, queue, job_type, 'job.attachment', status, attempt_count,
                      progress_percent, jsonb_build_object('message', $3::text), $7
               FROM jobs WHERE number = $1 AND $10 AND EXISTS (SELECT FROM kept))
           SELECT id FROM kept"#,
        number,
        file.id.0,
        name.as_ref(),
        file.content_type,
        size,
        file.sha256,
        moment(now),
        file.bytes,
        MOST_PER_JOB,
        outbox
    )
    .fetch_optional(connection)
    .await
    .map_err(database)?;
    Ok(kept.map(AttachmentId))
}
