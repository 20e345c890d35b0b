//! The page of `/metrics`, family by family. With a tenant it shows that tenant's jobs and nothing else.

use super::{
    LAG_BOUNDS, Metrics,
    exposition::{Exposition, Format},
    gauges::{Standing, percentile},
    labels::{Label, OTHER, cut},
    names::{self, Family},
    tally::{ATTEMPT_BOUNDS, Counts, Group, Tally},
};
use leasehold_queue::figures::{Kindred, RecentRun};
use leasehold_types::{JobStatus, TenantId};
use std::collections::BTreeMap;

pub struct Page<'a> {
    pub metrics: &'a Metrics,
    pub tenant: Option<TenantId>,
    pub out: Exposition,
}

type Depths = BTreeMap<JobStatus, i64>;

impl<'a> Page<'a> {
    pub fn new(metrics: &'a Metrics, tenant: Option<TenantId>, format: Format) -> Self {
        Self { metrics, tenant, out: Exposition::new(format) }
    }

    fn shows(&self, kind: &Kindred) -> bool {
        self.tenant.is_none_or(|only| kind.tenant_id == only)
    }

    // ---- from the database

    pub fn standing(&mut self, standing: &Standing, tally: &mut Tally) {
        let mut groups: BTreeMap<Label, (Depths, i64, i64)> = BTreeMap::new();
        let mut tenants: BTreeMap<String, Depths> = BTreeMap::new();
        for (kind, status, jobs) in standing.counts.iter().filter(|(kind, ..)| self.shows(kind)) {
            let group = groups.entry(tally.groups.of(&Group::of(kind))).or_default();
            *group.0.entry(*status).or_default() += jobs;
            let tenant = tenant_name(standing, tally, kind.tenant_id);
            *tenants.entry(tenant).or_default().entry(*status).or_default() += jobs;
        }
        for (kind, jobs) in standing.scheduled.iter().filter(|(kind, _)| self.shows(kind)) {
            groups.entry(tally.groups.of(&Group::of(kind))).or_default().1 += jobs;
        }
        for (kind, until) in standing.leases.iter().filter(|(kind, _)| self.shows(kind)) {
            let stale = i64::from(*until < standing.read_at);
            groups.entry(tally.groups.of(&Group::of(kind))).or_default().2 += stale;
        }
        self.group_gauges(&groups, tally);
        for (tenant, depths) in &tenants {
            for status in JobStatus::ALL {
                let jobs = depths.get(status).copied().unwrap_or_default();
                self.out.sample(&names::TENANT_DEPTH, &[tenant, status.as_str()], jobs);
            }
        }
        self.percentiles(standing);
    }

    fn group_gauges(&mut self, groups: &BTreeMap<Label, (Depths, i64, i64)>, tally: &Tally) {
        type Figure = fn(&(Depths, i64, i64)) -> i64;
        let count = |depths: &Depths, status| depths.get(&status).copied().unwrap_or_default().max(0);
        let families: [(&'static Family, Figure); 5] = [
            (&names::QUEUED, |(d, s, _)| queued(d) - (*s).min(queued(d))),
            (&names::SCHEDULED, |(d, s, _)| (*s).min(queued(d))),
            (&names::BACKLOG, |(d, ..)| queued(d)),
            (&names::PROCESSING, |(d, ..)| d.get(&JobStatus::Processing).copied().unwrap_or_default().max(0)),
            (&names::STALE, |(.., stale)| *stale),
        ];
        for (family, figure) in families {
            for (group, found) in groups {
                let [domain, queue, job_type] = group_names(tally, *group);
                self.out.sample(family, &[domain, queue, job_type], figure(found));
            }
        }
        let mut running: BTreeMap<&str, i64> = BTreeMap::new();
        for (group, (depths, ..)) in groups {
            let [.., job_type] = group_names(tally, *group);
            *running.entry(job_type).or_default() += count(depths, JobStatus::Processing);
        }
        for (job_type, jobs) in running {
            self.out.sample(&names::IN_PROGRESS, &[job_type], jobs);
        }
    }

    fn percentiles(&mut self, standing: &Standing) {
        let mut owners: BTreeMap<[&str; 4], (Vec<f64>, Vec<f64>)> = BTreeMap::new();
        for run in standing.runs.iter().filter(|run| self.shows(&run.kind)) {
            let RecentRun { kind, owner_user_id, .. } = run;
            let owner = owner_user_id.as_deref().unwrap_or_default();
            let key = [kind.domain.as_str(), &kind.queue, &kind.job_type, owner];
            let known = owners.contains_key(&key) || owners.len() < self.metrics.config.owner_groups;
            let key = if known { key } else { [OTHER; 4] };
            let (waited, ran) = owners.entry(key).or_default();
            waited.push(run.queue_latency_seconds);
            ran.push(run.duration_seconds);
        }
        for (waited, ran) in owners.values_mut() {
            waited.sort_by(f64::total_cmp);
            ran.sort_by(f64::total_cmp);
        }
        let families: [(&'static Family, &'static Family, f64); 4] = [
            (&names::LATENCY_P50, &names::DURATION_P50, 0.5),
            (&names::LATENCY_P90, &names::DURATION_P90, 0.9),
            (&names::LATENCY_P95, &names::DURATION_P95, 0.95),
            (&names::LATENCY_P99, &names::DURATION_P99, 0.99),
        ];
        for (latency, duration, share) in families {
            for (key, (waited, _)) in &owners {
                self.owner_sample(latency, *key, percentile(waited, share));
            }
            for (key, (_, ran)) in &owners {
                self.owner_sample(duration, *key, percentile(ran, share));
            }
        }
    }

    fn owner_sample(&mut self, family: &'static Family, key: [&str; 4], value: f64) {
        let [domain, queue, job_type, owner] = key;
        self.out.sample(family, &[domain, queue, job_type, &cut(owner)], value);
    }

    /// Workers serve every tenant, so only who sees all tenants sees them.
    pub fn workers(&mut self, standing: &Standing) {
        self.out.sample(&names::WORKERS, &["live"], standing.workers.live);
        self.out.sample(&names::WORKERS, &["stale"], standing.workers.stale);
        let mut reduced: BTreeMap<(String, String), i64> = BTreeMap::new();
        for worker in standing.workers.workers.iter().filter(|worker| !worker.stale) {
            for kind in worker.metadata["reduced"].as_array().into_iter().flatten() {
                let word = |name: &str| cut(kind[name].as_str().unwrap_or_default());
                let number = |name: &str| kind[name].as_i64().unwrap_or_default();
                let places = (number("of") - number("to")).max(0);
                *reduced.entry((word("domain"), word("job_type"))).or_default() += places;
            }
        }
        for ((domain, job_type), places) in reduced.iter().take(self.metrics.config.groups) {
            self.out.sample(&names::REDUCED, &[domain, job_type], places);
        }
    }

    // ---- from the events

    pub fn tally(&mut self, tally: &Tally, slugs: Option<&Standing>) {
        let (mut groups, mut types): (BTreeMap<Label, Counts>, BTreeMap<&str, Counts>) = Default::default();
        let mut tenants: BTreeMap<String, Counts> = BTreeMap::new();
        for (tenant, group, counts) in tally.counts(self.tenant) {
            groups.entry(group).or_default().add(counts);
            let [.., job_type] = group_names(tally, group);
            types.entry(job_type).or_default().add(counts);
            tenants.entry(known_tenant(slugs, tally, tenant)).or_default().add(counts);
        }
        self.by_group(&groups, tally);
        self.by_type(&types, tally);
        self.by_tenant(&tenants);
    }

    fn by_group(&mut self, groups: &BTreeMap<Label, Counts>, tally: &Tally) {
        type Figure = fn(&Counts) -> u64;
        let plain: [(&'static Family, Figure); 6] = [
            (&names::CREATED, |c| c.created),
            (&names::COMPLETED, |c| c.completed),
            (&names::FAILED, Counts::failed),
            (&names::RETRIES, |c| c.retries),
            (&names::CANCELLED, |c| c.cancelled),
            (&names::CANCELLATIONS, |c| c.cancelled),
        ];
        for (family, figure) in plain {
            for (group, counts) in groups {
                self.out.sample(family, &group_names(tally, *group), figure(counts));
            }
        }
        for (group, counts) in groups {
            let [domain, queue, job_type] = group_names(tally, *group);
            for (status, jobs) in &counts.failures {
                self.out.sample(&names::FAILURES, &[domain, queue, job_type, status.as_str()], jobs);
            }
        }
        for (group, counts) in groups {
            let [domain, queue, job_type] = group_names(tally, *group);
            for (code, jobs) in &counts.failure_codes {
                let code = tally.codes.text(*code);
                self.out.sample(&names::FAILURES_BY_CODE, &[domain, queue, job_type, code], jobs);
            }
        }
        let config = &self.metrics.config;
        for (family, bounds, seen) in [
            (&names::DURATION, &config.duration_buckets, (|c| &c.duration) as fn(&Counts) -> &_),
            (&names::QUEUE_LATENCY, &config.latency_buckets, |c| &c.latency),
            (&names::RETRY_AFTER, &config.duration_buckets, |c| &c.retry_after),
            (&names::TIME_TO_EXPIRY, &config.duration_buckets, |c| &c.time_to_expiry),
        ] {
            for (group, counts) in groups {
                self.out.histogram(family, &group_names(tally, *group), bounds, seen(counts));
            }
        }
    }

    fn by_type(&mut self, types: &BTreeMap<&str, Counts>, tally: &Tally) {
        type Figure = fn(&Counts) -> u64;
        let plain: [(&'static Family, Figure); 5] = [
            (&names::ENQUEUED, |c| c.created),
            (&names::STARTED, |c| c.started),
            (&names::ATTEMPTS_STARTED, |c| c.attempts_started),
            (&names::ALERTS, |c| c.alerts),
            (&names::CANCELED, |c| c.cancelled),
        ];
        for (family, figure) in plain {
            for (job_type, counts) in types {
                self.out.sample(family, &[job_type], figure(counts));
            }
        }
        type Classes = fn(&Counts) -> &BTreeMap<Label, u64>;
        let classes: [(&'static Family, Classes); 2] =
            [(&names::RETRY, |c| &c.retry_classes), (&names::FAILURE, |c| &c.failure_classes)];
        for (family, of) in classes {
            for (job_type, counts) in types {
                for (class, jobs) in of(counts) {
                    self.out.sample(family, &[job_type, tally.classes.text(*class)], jobs);
                }
            }
        }
        let bounds = &self.metrics.config.duration_buckets;
        for (job_type, counts) in types {
            for (outcome, seen) in &counts.wall_time {
                self.out.histogram(&names::WALL_TIME, &[job_type, outcome.as_str()], bounds, seen);
            }
        }
        for (job_type, counts) in types {
            self.out.histogram(&names::ATTEMPTS, &[job_type], ATTEMPT_BOUNDS, &counts.attempts);
        }
        for (job_type, counts) in types {
            for (stage, seen) in &counts.stages {
                let stage = tally.stages.text(*stage);
                self.out.histogram(&names::STAGE_TIME, &[job_type, stage], bounds, seen);
            }
        }
    }

    fn by_tenant(&mut self, tenants: &BTreeMap<String, Counts>) {
        type Figure = fn(&Counts) -> u64;
        let plain: [(&'static Family, Figure); 5] = [
            (&names::TENANT_ENQUEUED, |c| c.created),
            (&names::TENANT_SUCCEEDED, |c| c.completed),
            (&names::TENANT_FAILED, Counts::failed),
            (&names::TENANT_RETRIED, |c| c.retries),
            (&names::TENANT_DEAD, |c| c.failures.get(&JobStatus::DeadLetter).copied().unwrap_or_default()),
        ];
        for (family, figure) in plain {
            for (tenant, counts) in tenants {
                self.out.sample(family, &[tenant], figure(counts));
            }
        }
        let config = &self.metrics.config;
        for (tenant, counts) in tenants {
            self.out.histogram(&names::TENANT_LATENCY, &[tenant], &config.latency_buckets, &counts.latency);
        }
        for (tenant, counts) in tenants {
            self.out.histogram(
                &names::TENANT_DURATION,
                &[tenant],
                &config.duration_buckets,
                &counts.duration,
            );
        }
    }

    pub fn event_lag(&mut self) {
        let seen = self.metrics.event_lag().clone();
        self.out.histogram(&names::EVENT_LAG, &[], LAG_BOUNDS, &seen);
    }
}

fn queued(depths: &Depths) -> i64 {
    depths.get(&JobStatus::Queued).copied().unwrap_or_default().max(0)
}

fn group_names(tally: &Tally, group: Label) -> [&str; 3] {
    tally.groups.word(group).map_or([OTHER; 3], |g| [&g.domain, &g.queue, &g.job_type])
}

fn tenant_name(standing: &Standing, tally: &mut Tally, tenant: TenantId) -> String {
    tally.tenants.of(&tenant);
    known_tenant(Some(standing), tally, tenant)
}

/// The slug of a tenant that got a label; its id while nobody knows the slug.
fn known_tenant(standing: Option<&Standing>, tally: &Tally, tenant: TenantId) -> String {
    if !tally.tenants.has(&tenant) {
        return OTHER.to_owned();
    }
    standing.and_then(|s| s.slugs.get(&tenant)).cloned().unwrap_or_else(|| tenant.to_string())
}
