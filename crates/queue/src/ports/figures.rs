//! The fifth part of the storage seam: figures for people who watch the whole installation. Every verb here is cheap
//! however many jobs there are: it reads counters, a small index, or no more rows than it is told to.

use crate::{scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{JobStatus, TenantId, Timestamp};

/// Jobs of one kind, of one tenant.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Kindred {
    pub tenant_id: TenantId,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
}

/// The job's times as its row has them now.
#[derive(Clone, PartialEq, Debug)]
pub struct JobTimes {
    pub number: i64,
    pub created_at: Timestamp,
    /// Of the first attempt.
    pub started_at: Option<Timestamp>,
    /// Of the newest attempt.
    pub acquired_at: Option<Timestamp>,
    pub trace_id: String,
}

/// How long a completed job waited and ran.
#[derive(Clone, PartialEq, Debug)]
pub struct RecentRun {
    pub kind: Kindred,
    pub owner_user_id: Option<String>,
    pub queue_latency_seconds: f64,
    pub duration_seconds: f64,
}

/// Connections of one pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolFigures {
    pub name: &'static str,
    pub in_use: u32,
    pub idle: u32,
    pub most: u32,
}

#[async_trait]
pub trait Figures: Send + Sync + 'static {
    /// How many jobs stand in each state, from the counters. States without a job are left out.
    async fn job_counts(&self, scope: &Scope) -> StoreResult<Vec<(Kindred, JobStatus, i64)>>;
    /// How many of the queued jobs wait for a time to come; at most `most` of them are counted, soonest first.
    async fn scheduled_counts(&self, scope: &Scope, most: u32) -> StoreResult<Vec<(Kindred, i64)>>;
    /// When the leases of running jobs end; at most `most` of them.
    async fn running_leases(&self, scope: &Scope, most: u32) -> StoreResult<Vec<(Kindred, Timestamp)>>;
    /// The times of these jobs; those that are gone are left out.
    async fn job_times(&self, numbers: &[i64]) -> StoreResult<Vec<JobTimes>>;
    /// Of each tenant the newest completed jobs, at most `most`, that ended at `since` or later.
    async fn recent_runs(&self, scope: &Scope, since: Timestamp, most: u32) -> StoreResult<Vec<RecentRun>>;
    /// The pools as they are at this moment; asks nobody.
    fn pools(&self) -> Vec<PoolFigures>;
}
