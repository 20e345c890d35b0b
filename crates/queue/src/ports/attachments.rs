//! Files of jobs, with their bytes.

use crate::{
    attachments::{Attachment, NewAttachment},
    params::Lease,
    scope::Scope,
    store::StoreResult,
};
use async_trait::async_trait;
use leasehold_types::{AttachmentId, JobRef, view::AttachmentView};

#[async_trait]
pub trait Attachments: Send + Sync + 'static {
    /// Keeps a file with a running job, and writes `job.attachment`. A file of the same name is replaced and keeps its
    /// id. Fenced like [`crate::Store::renew`]: `STALE_LEASE` when the lease is lost. `PAYLOAD_TOO_LARGE` beyond
    /// [`crate::attachments::MOST_PER_JOB`]. The bytes are durable when it returns.
    async fn attach(&self, lease: &Lease, file: NewAttachment) -> StoreResult<AttachmentView>;
    /// The files of a job, by name; none when the scope does not reach it. They go when their job is pruned.
    async fn attachments(&self, scope: &Scope, job: JobRef) -> StoreResult<Vec<AttachmentView>>;
    /// One file with its bytes; none when the scope does not reach it.
    async fn attachment(&self, scope: &Scope, id: AttachmentId) -> StoreResult<Option<Attachment>>;
}
