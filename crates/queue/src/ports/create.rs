//! Jobs come in.

use crate::{
    params::{CreateAnswer, NewJob},
    scope::Scope,
    store::StoreResult,
};
use async_trait::async_trait;

#[async_trait]
pub trait CreateJobs: Send + Sync + 'static {
    /// Creates many jobs in one transaction, with their events, audit rows (for people and keys) and counters,
    /// then wakes workers. Per item, in this order: idempotent replay (same hash → that job, other hash →
    /// `IDEMPOTENCY_CONFLICT`), dedupe (an active job of the tenant with that key → that job), its gates (see
    /// [`crate::gate`]; exact however many callers there are), insert.
    /// A job for a tenant outside the scope is `NOT_FOUND`. Items of one call see each other.
    async fn create_jobs(&self, scope: &Scope, jobs: Vec<NewJob>) -> StoreResult<Vec<CreateAnswer>>;
}
