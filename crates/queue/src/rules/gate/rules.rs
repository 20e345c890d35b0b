//! Which gates a job meets: the installation's quotas, its tenant's limits, its definition's, and the high
//! watermark of its queue.

use super::{Counted, Extent, Gate, Measure, Refusal};
use crate::{
    params::NewJob,
    quota::{Quota, Quotas},
};
use leasehold_types::{DefinitionLimits, KeyMode, TenantLimits};

/// Everything that may limit a job at the door.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    pub quotas: &'a Quotas,
    /// The most jobs that may wait in one (domain, queue), over all tenants; 0 = any number.
    pub high_watermark: i64,
    pub tenant: &'a TenantLimits,
    pub definition: &'a DefinitionLimits,
}

/// The gates in the order of the checks: concurrency key, numbers waiting, rates, watermark. Where a quota of the
/// installation and a limit of the tenant are both set, both must have room.
pub fn gates_of(job: &NewJob, limits: &Limits<'_>) -> Vec<Gate> {
    let tenant = || Extent::Tenant(job.tenant_id);
    let candidates = [
        key(job, limits.definition),
        quota(job, limits.quotas, Quota::Queued, Counted::Queued),
        limits.tenant.max_queued.map(|max| gate(Counted::Queued, tenant(), max, Refusal::Quota)),
        quota(job, limits.quotas, Quota::SubmitsPerMinute, Counted::SubmittedThisMinute),
        limits
            .tenant
            .submits_per_minute
            .map(|max| gate(Counted::SubmittedThisMinute, tenant(), max, Refusal::Quota)),
        watermark(job, limits.high_watermark),
    ];
    candidates.into_iter().flatten().collect()
}

/// Reject mode only: in wait mode the job comes in and the claim makes it wait.
fn key(job: &NewJob, limits: &DefinitionLimits) -> Option<Gate> {
    let (key, max) = (job.concurrency_key.clone()?, limits.max_active_per_key?);
    let (domain, job_type) = (job.domain.clone(), job.job_type.clone());
    let extent = Extent::Key { tenant: job.tenant_id, domain, job_type, key };
    (limits.key_mode == KeyMode::Reject).then(|| gate(Counted::Active, extent, max, Refusal::Concurrency))
}

fn quota(job: &NewJob, quotas: &Quotas, quota: Quota, counted: Counted) -> Option<Gate> {
    let ceiling = quotas.ceiling(quota, &job.domain, job.owner_user_id.as_deref())?;
    let extent = match (ceiling.owner, ceiling.domain) {
        (Some(owner), domain) => Extent::Owner { tenant: job.tenant_id, owner, domain },
        (None, Some(domain)) => Extent::Domain(domain),
        (None, None) => Extent::Everywhere,
    };
    Some(gate(counted, extent, ceiling.max, Refusal::Quota))
}

fn watermark(job: &NewJob, high: i64) -> Option<Gate> {
    let extent = Extent::Queue { domain: job.domain.clone(), queue: job.queue.clone() };
    (high > 0).then(|| gate(Counted::Queued, extent, high, Refusal::Overload))
}

fn gate(counted: Counted, extent: Extent, max: i64, refusal: Refusal) -> Gate {
    Gate { measure: Measure { counted, extent }, max, refusal }
}
