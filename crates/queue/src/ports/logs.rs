//! What attempts write down.

use crate::{
    params::{Lease, NewLogLine},
    scope::Scope,
    store::StoreResult,
};
use async_trait::async_trait;
use leasehold_types::{JobRef, view::LogLine};

#[async_trait]
pub trait JobLogs: Send + Sync + 'static {
    /// Appends lines to the running attempt and one `job.log` event; false when the lease is lost (nothing
    /// is written). Lines already there (same seq) are left alone.
    async fn append_logs(&self, lease: &Lease, attempt: i32, lines: Vec<NewLogLine>) -> StoreResult<bool>;
    /// Lines of one attempt after a sequence number, oldest first.
    async fn logs(
        &self,
        scope: &Scope,
        job: JobRef,
        attempt: i32,
        after: i64,
        limit: u32,
    ) -> StoreResult<Vec<LogLine>>;
}
