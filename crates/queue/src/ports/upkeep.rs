//! Sweeps that put a queue in order, and why a job is not running.

use crate::{quota::Quotas, scope::Scope, store::StoreResult, transition::Rules};
use async_trait::async_trait;
use leasehold_types::{JobRef, view::DiagnosisFacts};
use std::{sync::Arc, time::Duration};

/// When jobs have lived too long.
#[derive(Clone, PartialEq, Debug)]
pub struct TtlRule {
    /// Queued jobs created longer ago than this.
    pub queued_for: Option<Duration>,
    /// Running jobs whose current attempt is older than this; earlier attempts and backoff do not count.
    pub running_for: Option<Duration>,
    pub action: TtlAction,
    pub domain: Option<String>,
    pub queue: Option<String>,
    pub job_type: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TtlAction {
    Cancel,
    Fail,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TtlCount {
    pub queued: u64,
    pub running: u64,
}

/// Where a sweep looks. What is not said means everywhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    pub domain: Option<String>,
    pub queue: Option<String>,
    pub job_type: Option<String>,
}

impl Place {
    /// `domain/queue/job_type`, with a star for what was not said.
    pub fn name(&self) -> String {
        let word = |part: &Option<String>| part.clone().unwrap_or_else(|| "*".to_owned());
        format!("{}/{}/{}", word(&self.domain), word(&self.queue), word(&self.job_type))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IntegrityCount {
    /// Rows that carry a lease although they are not running.
    pub leases_on_idle_rows: u64,
    /// Running rows whose lease has run out.
    pub expired_leases: u64,
    /// How many of them were mended.
    pub fixed: u64,
}

#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// Ends up to `limit` jobs that lived too long. Decisive: a running job's lease is cleared, its worker fenced,
    /// its attempt closed.
    async fn sweep_ttl(&self, scope: &Scope, rule: &TtlRule, limit: u32) -> StoreResult<TtlCount>;
    /// Looks for rows of this place that contradict themselves; mends them when asked to. Mending is audited.
    async fn sweep_integrity(
        &self,
        scope: &Scope,
        place: &Place,
        rules: &Rules,
        fix: bool,
    ) -> StoreResult<IntegrityCount>;
    /// Removes up to `limit` of the oldest events, as far as they are older than this; how many. What is kept has no
    /// hole, and the newest event always stays.
    async fn prune_events(&self, older_than: Duration, limit: u32) -> StoreResult<u64>;
    /// What [`crate::diagnosis::explain`] needs to say why a job is not running. The quotas are those that claims
    /// respect.
    async fn diagnosis(
        &self,
        scope: &Scope,
        job: JobRef,
        quotas: &Arc<Quotas>,
    ) -> StoreResult<Option<DiagnosisFacts>>;
}
