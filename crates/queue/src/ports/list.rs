//! Jobs by filter and page.

use crate::{scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{JobFilter, PageRequest, view::JobsPage};

#[async_trait]
pub trait ListQueries: Send + Sync + 'static {
    /// Newest first. The count is capped at 10,000.
    async fn list(&self, scope: &Scope, filter: &JobFilter, page: PageRequest) -> StoreResult<JobsPage>;
}
