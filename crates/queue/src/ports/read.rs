//! One job, with everything its page shows.

use crate::{scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{JobRef, view::JobDetail};

#[async_trait]
pub trait JobQueries: Send + Sync + 'static {
    /// Everything a job's page shows, with at most `log_lines` newest lines per attempt.
    async fn job(&self, scope: &Scope, job: JobRef, log_lines: u32) -> StoreResult<Option<JobDetail>>;
}
