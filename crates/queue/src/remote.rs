//! The third part of the storage seam: what workers that come over HTTP need, and the keys they show.
//!
//! Such a worker names its job by number or id and shows its lease with every request. What it may touch is found
//! here; the write itself goes through the same fenced verbs as any other worker's.

use crate::{scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{DefinitionId, JobRef, KeyId, Timestamp, WorkerId, view::ApiKey};
use serde_json::Value;
use std::time::Duration;

/// A key's last use is written at most this often.
pub const USE_NOTED_EVERY: Duration = Duration::from_secs(60);

/// What a request about a job needs to know before it writes.
#[derive(Clone, PartialEq, Debug)]
pub struct HeldJob {
    pub number: i64,
    pub definition_id: Option<DefinitionId>,
    /// The attempt that runs, or the last one.
    pub attempt: i32,
    pub leased_until: Option<Timestamp>,
    /// Only when it was asked for.
    pub payload: Option<Value>,
}

#[async_trait]
pub trait Remote: Send + Sync + 'static {
    /// The job, when the scope reaches it; its payload may be large and comes only `with_payload`.
    async fn held_job(&self, scope: &Scope, job: JobRef, with_payload: bool) -> StoreResult<Option<HeldJob>>;
    /// How many jobs a worker holds.
    async fn held_count(&self, worker: &WorkerId) -> StoreResult<i64>;
    /// A known worker was heard of: its sign of life and the number of its jobs are renewed, the rest stays. One
    /// that never introduced itself by a heartbeat stays unknown.
    async fn worker_seen(&self, worker: &WorkerId) -> StoreResult<()>;

    /// The keys of the tenants the scope reaches, newest first.
    async fn api_keys(&self, scope: &Scope) -> StoreResult<Vec<ApiKey>>;
    /// From now on the key opens nothing. Revoking it again keeps the first moment. `NOT_FOUND`. Audited.
    async fn revoke_key(&self, scope: &Scope, prefix: &str) -> StoreResult<ApiKey>;
    /// Notes that a key was used, unless that was noted in the last [`USE_NOTED_EVERY`].
    async fn key_used(&self, key: KeyId) -> StoreResult<()>;
}
