//! Who may run now: limits and what runs already decide which waiting jobs a claim may take.
//!
//! Everything that is limited has a [`Counter`]. A running job counts in all counters it falls under; a waiting
//! job may start when every counter that limits it has room. Claims ([`Batch`]) and the answer to "why is it not
//! running?" both ask [`Admission`], so they cannot disagree.

mod batch;
#[cfg(test)]
mod tests;

use crate::quota::{Ceiling, Quota, Quotas};
pub use batch::{Ask, Batch, Candidate, Lane, Question};
use leasehold_types::{DefinitionLimits, KeyMode, TenantId, TenantLimits};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// A job, as far as limits look at it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Contender {
    pub tenant: TenantId,
    pub domain: String,
    pub job_type: String,
    pub owner: Option<String>,
    pub concurrency_key: Option<String>,
}

/// What is counted.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Counter {
    Tenant(TenantId),
    Kind {
        domain: String,
        job_type: String,
    },
    KindInTenant {
        tenant: TenantId,
        domain: String,
        job_type: String,
    },
    /// The installation's quota: of that domain, or of all jobs.
    Quota {
        domain: Option<String>,
    },
    /// The same for one owner in one tenant. The owner is whatever a caller says: counted over tenants, one tenant
    /// could use up another's.
    Owner {
        tenant: TenantId,
        owner: String,
        domain: Option<String>,
    },
    Key {
        tenant: TenantId,
        domain: String,
        job_type: String,
        key: String,
    },
}

/// A limit without room for one more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reached {
    pub counter: Counter,
    pub used: i64,
    pub max: i64,
}

/// Every limit there is. Tenants and kinds that are not named have none.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    pub tenants: HashMap<TenantId, TenantLimits>,
    /// By domain and job type.
    pub kinds: HashMap<(String, String), DefinitionLimits>,
    pub quotas: Arc<Quotas>,
}

impl Limits {
    fn of_tenant_and_kind(&self, tenant: TenantId, domain: &str, job_type: &str) -> Vec<(Counter, i64)> {
        let (domain, job_type) = (domain.to_owned(), job_type.to_owned());
        let kind = self.kinds.get(&(domain.clone(), job_type.clone()));
        let of_tenant = self.tenants.get(&tenant).and_then(|limits| limits.max_in_flight);
        let of_kind = kind.and_then(|limits| limits.max_in_flight);
        let of_both = kind.and_then(|limits| limits.max_in_flight_per_tenant);
        let in_tenant = Counter::KindInTenant { tenant, domain: domain.clone(), job_type: job_type.clone() };
        [
            of_tenant.map(|max| (Counter::Tenant(tenant), max)),
            of_kind.map(|max| (Counter::Kind { domain, job_type }, max)),
            of_both.map(|max| (in_tenant, max)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// How many of one concurrency key may run; none when keys of this kind do not wait.
    fn per_key(&self, domain: &str, job_type: &str) -> Option<i64> {
        let limits = self.kinds.get(&(domain.to_owned(), job_type.to_owned()))?;
        limits.max_active_per_key.filter(|_| limits.key_mode == KeyMode::Wait)
    }

    fn quota(&self, tenant: TenantId, domain: &str, owner: Option<&str>) -> Option<(Counter, i64)> {
        let Ceiling { max, domain, owner } = self.quotas.ceiling(Quota::InFlight, domain, owner)?;
        let counter = match owner {
            Some(owner) => Counter::Owner { tenant, owner, domain },
            None => Counter::Quota { domain },
        };
        Some((counter, max))
    }

    /// All limits that a job is under.
    fn over(&self, job: &Contender) -> Vec<(Counter, i64)> {
        let mut limits = self.of_tenant_and_kind(job.tenant, &job.domain, &job.job_type);
        limits.extend(self.quota(job.tenant, &job.domain, job.owner.as_deref()));
        if let (Some(max), Some(counter)) = (self.per_key(&job.domain, &job.job_type), key_of(job)) {
            limits.push((counter, max));
        }
        limits
    }
}

fn key_of(job: &Contender) -> Option<Counter> {
    Some(Counter::Key {
        tenant: job.tenant,
        domain: job.domain.clone(),
        job_type: job.job_type.clone(),
        key: job.concurrency_key.clone()?,
    })
}

/// Every counter a running job counts in, whether or not it is limited at the moment: the global quota counts
/// all jobs, also those of users who have a quota of their own.
fn counters_of(job: &Contender) -> Vec<Counter> {
    let (domain, job_type) = (job.domain.clone(), job.job_type.clone());
    let mut counters = vec![
        Counter::Tenant(job.tenant),
        Counter::Kind { domain: domain.clone(), job_type: job_type.clone() },
        Counter::KindInTenant { tenant: job.tenant, domain, job_type },
        Counter::Quota { domain: None },
        Counter::Quota { domain: Some(job.domain.clone()) },
    ];
    if let Some(owner) = &job.owner {
        let of = |domain| Counter::Owner { tenant: job.tenant, owner: owner.clone(), domain };
        counters.extend([of(None), of(Some(job.domain.clone()))]);
    }
    counters.extend(key_of(job));
    counters
}

/// Whom the jobs of a tenant and kind may come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Door {
    Open,
    /// The quota for everybody is used up: only owners who may have a quota of their own.
    OwnersOnly,
    Shut,
}

/// What runs, held against the limits.
#[derive(Debug)]
pub struct Admission {
    limits: Limits,
    used: HashMap<Counter, i64>,
    /// Owners (by tenant and domain) turned away for a quota in this batch.
    turned_away: HashSet<(TenantId, String, String)>,
}

impl Admission {
    /// `running` are groups of equal jobs and how many there are of each.
    pub fn new(limits: Limits, running: impl IntoIterator<Item = (Contender, i64)>) -> Self {
        let mut used = HashMap::new();
        for (job, jobs) in running {
            for counter in counters_of(&job) {
                *used.entry(counter).or_default() += jobs;
            }
        }
        Self { limits, used, turned_away: HashSet::new() }
    }

    /// The limits that keep this job from starting.
    pub fn reached(&self, job: &Contender) -> Vec<Reached> {
        let limits = self.limits.over(job).into_iter();
        limits.filter_map(|(counter, max)| self.without_room(counter, max)).collect()
    }

    /// Counts the job as running, if there is room for it.
    pub fn admit(&mut self, job: &Contender) -> bool {
        let reached = self.reached(job);
        if reached.is_empty() {
            for counter in counters_of(job) {
                *self.used.entry(counter).or_default() += 1;
            }
            return true;
        }
        let by_quota =
            reached.iter().any(|r| matches!(r.counter, Counter::Quota { .. } | Counter::Owner { .. }));
        if let Some(owner) = job.owner.as_ref().filter(|_| by_quota) {
            self.turned_away.insert((job.tenant, job.domain.clone(), owner.clone()));
        }
        false
    }

    fn without_room(&self, counter: Counter, max: i64) -> Option<Reached> {
        let used = self.used.get(&counter).copied().unwrap_or(0);
        (used >= max).then_some(Reached { counter, used, max })
    }

    fn is_full(&self, (counter, max): (Counter, i64)) -> bool {
        self.without_room(counter, max).is_some()
    }

    fn door(&self, tenant: TenantId, domain: &str, job_type: &str) -> Door {
        let limits = self.limits.of_tenant_and_kind(tenant, domain, job_type);
        if limits.into_iter().any(|limit| self.is_full(limit)) {
            return Door::Shut;
        }
        if !self.limits.quota(tenant, domain, None).is_some_and(|limit| self.is_full(limit)) {
            return Door::Open;
        }
        let nobody_has_his_own = self.limits.quotas.user_patterns(Quota::InFlight).is_empty();
        if nobody_has_his_own { Door::Shut } else { Door::OwnersOnly }
    }

    /// The concurrency keys of a tenant and kind that have no room.
    fn full_keys(&self, lane: &Lane) -> Vec<String> {
        let Some(max) = self.limits.per_key(&lane.domain, &lane.job_type) else { return Vec::new() };
        let full = self.used.iter().filter(|(_, used)| **used >= max);
        full.filter_map(|(counter, _)| match counter {
            Counter::Key { tenant, domain, job_type, key }
                if (*tenant, domain, job_type) == (lane.tenant, &lane.domain, &lane.job_type) =>
            {
                Some(key.clone())
            }
            _ => None,
        })
        .collect()
    }

    /// The owners whose own quota is used up in this tenant and domain, and those turned away before.
    fn full_owners(&self, within: TenantId, domain: &str) -> HashSet<String> {
        if !self.limits.quotas.limits(Quota::InFlight) {
            return HashSet::new();
        }
        let running = self.used.keys().filter_map(|counter| match counter {
            Counter::Owner { tenant, owner, domain: None } if *tenant == within => Some(owner),
            _ => None,
        });
        let own = |owner: &&String| match self.limits.quota(within, domain, Some(owner)) {
            Some(limit @ (Counter::Owner { .. }, _)) => self.is_full(limit),
            Some(_) | None => false,
        };
        let here = |(tenant, there, _): &&(TenantId, String, String)| *tenant == within && there == domain;
        let turned_away = self.turned_away.iter().filter(here).map(|(_, _, owner)| owner);
        running.filter(own).chain(turned_away).cloned().collect()
    }
}
