//! The part of the storage seam that programs use through the API: jobs in any order, counts by kind, and files from
//! somebody who holds no lease.

use crate::{attachments::NewAttachment, scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{
    JobFilter, JobRef,
    browse::{Browse, BrowsedJobs, KindCounts, KindFilter},
    view::AttachmentView,
};

#[async_trait]
pub trait Callers: Send + Sync + 'static {
    /// One page in the order asked for. Following the last job of each page shows every job that does not move
    /// exactly once. By number and by state a page costs the same however many jobs there are; by priority every
    /// job that matches is looked at.
    async fn browse(&self, scope: &Scope, filter: &JobFilter, page: Browse) -> StoreResult<BrowsedJobs>;
    /// Over all tenants the scope reaches, by domain, queue and type; only kinds that have had a job. From counters
    /// and index probes, never by counting the table.
    async fn kind_counts(&self, scope: &Scope, filter: &KindFilter) -> StoreResult<Vec<KindCounts>>;
    /// Keeps a file with a job in any state, and writes `job.attachment`; otherwise like
    /// [`crate::Attachments::attach`]. `NOT_FOUND`. Audited.
    async fn keep_file(&self, scope: &Scope, job: JobRef, file: NewAttachment)
    -> StoreResult<AttachmentView>;
}
