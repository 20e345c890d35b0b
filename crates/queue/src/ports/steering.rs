//! The rows of jobs and queues, as people steer them.

use super::tx::Statements;
use crate::{params::QueueControl, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{JobRef, JobStatus, LiveKind, TenantId, Timestamp};
use std::collections::HashMap;

/// A job that is about to be steered; nobody else changes it until the transaction ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SteeredJob {
    pub number: i64,
    pub tenant: TenantId,
    pub domain: String,
    pub queue: String,
    pub job_type: String,
    pub status: JobStatus,
    pub attempt: i32,
    pub progress: i16,
    pub cancel_requested: bool,
    pub dedupe_key: Option<String>,
}

/// What has become of jobs, as their events tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Move<'a> {
    pub kind: LiveKind,
    /// The state they are in now.
    pub status: JobStatus,
    pub message: Option<&'a str>,
    pub error_code: Option<&'a str>,
    /// Who did it, where no entry of the audit log names the job.
    pub actor: Option<&'a str>,
}

/// What is given changes, the rest stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueChange {
    pub paused: Option<bool>,
    pub draining: Option<bool>,
}

#[async_trait]
pub trait JobRows: Statements {
    /// The job this names, of this tenant if one is given; locked.
    async fn lock_job(
        &mut self,
        tenant: Option<TenantId>,
        job: JobRef,
    ) -> Result<Option<SteeredJob>, Self::Error>;
    /// For jobs whose dedupe key another, active job holds: number and holder.
    async fn dedupe_holders(&mut self, numbers: &[i64]) -> Result<HashMap<i64, i64>, Self::Error>;
    /// Waiting jobs (queued, quarantined) end.
    async fn cancel_jobs(
        &mut self,
        numbers: &[i64],
        by: &str,
        reason: Option<&str>,
    ) -> Result<(), Self::Error>;
    /// Running jobs are asked to stop, unless they were before.
    async fn request_cancel(
        &mut self,
        numbers: &[i64],
        by: &str,
        reason: Option<&str>,
    ) -> Result<(), Self::Error>;
    /// Quarantined jobs are queued, with everything reset that would park them again at once. The budget is renewed,
    /// the attempt numbers go on. False: another transaction took one of the dedupe keys meanwhile, and this one
    /// has to be begun anew.
    async fn requeue_jobs(&mut self, numbers: &[i64]) -> Result<bool, Self::Error>;
    /// Queued jobs become available at this moment.
    async fn reschedule_jobs(&mut self, numbers: &[i64], at: Timestamp) -> Result<(), Self::Error>;
    /// One event for each of these jobs, which have just been written, and the counters moved from the state they
    /// had before.
    async fn record_moves(&mut self, jobs: &[&SteeredJob], moved: Move<'_>) -> Result<(), Self::Error>;
    /// Changes a queue's control in one statement, so that nobody's change is lost; as it is now.
    async fn change_queue(
        &mut self,
        domain: &str,
        queue: &str,
        change: QueueChange,
        by: &str,
        reason: Option<&str>,
    ) -> Result<QueueControl, Self::Error>;
}

#[async_trait]
pub trait SteeringQueries: Send + Sync + 'static {
    /// By domain and queue.
    async fn queue_controls(&self) -> StoreResult<Vec<QueueControl>>;
}
