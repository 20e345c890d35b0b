//! The third part of the storage seam: what workers that come over HTTP need.
//!
//! Such a worker names its job by number or id and shows its lease with every request. What it may touch is found
//! here; the write itself goes through the same fenced verbs as any other worker's.

use crate::{
    params::{Heartbeat, Lease},
    scope::Scope,
    silence::Hold,
    store::StoreResult,
};
use async_trait::async_trait;
use leasehold_types::{DefinitionId, JobRef, Timestamp, WorkerId};
use serde_json::Value;

/// How much of this installation the workers of one key may take up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RemoteLimits {
    /// `JOBS_WORKER_MAX_PER_KEY`: names a key may be known under at a time.
    pub workers_per_key: u32,
    /// `JOBS_WORKER_MAX_WAITING_PER_KEY`: claims of a key that one process keeps waiting.
    pub waiting_per_key: u32,
    /// `JOBS_WORKER_MAX_WAITING`: claims of all keys that one process keeps waiting.
    pub waiting: u32,
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self { workers_per_key: 200, waiting_per_key: 100, waiting: 2_000 }
    }
}

/// What a request about a job needs to know before it writes.
#[derive(Clone, PartialEq, Debug)]
pub struct HeldJob {
    pub number: i64,
    pub definition_id: Option<DefinitionId>,
    /// The attempt that runs, or the last one.
    pub attempt: i32,
    pub leased_until: Option<Timestamp>,
    /// Under which it runs.
    pub lease: Option<Lease>,
    pub cancel_requested: bool,
    /// Only when it was asked for.
    pub payload: Option<Value>,
}

#[async_trait]
pub trait Remote: Send + Sync + 'static {
    /// The job, when the scope reaches it; its payload may be large and comes only `with_payload`.
    async fn held_job(&self, scope: &Scope, job: JobRef, with_payload: bool) -> StoreResult<Option<HeldJob>>;
    /// Who holds a running job; none when it does not run.
    async fn hold(&self, number: i64) -> StoreResult<Option<Hold>>;
    /// A worker over HTTP says what it can run: inserts or refreshes its row. A key has at most `most` of them; a silent
    /// one that holds nothing makes room for a new one. False: there is no room, nothing was written.
    async fn introduce_worker(&self, key_prefix: &str, beat: Heartbeat, most: u32) -> StoreResult<bool>;
    /// These known workers were heard of. One that never introduced itself stays unknown.
    async fn workers_seen(&self, workers: &[WorkerId]) -> StoreResult<()>;
    /// Removes the rows of workers not heard of for an hour; how many there were.
    async fn prune_workers(&self) -> StoreResult<u64>;
}
