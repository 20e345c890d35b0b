//! What has happened since this process started, counted from the installation's events.

use super::{
    histogram::{Exemplar, Histogram},
    labels::{Label, Labels},
    memory::{Memory, Open},
};
use crate::config::MetricsConfig;
use leasehold_queue::{
    figures::{JobTimes, Kindred},
    params::OutboxEvent,
};
use leasehold_types::{JobStatus, LiveEvent, LiveKind, TenantId};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Attempts are counted one by one at first.
pub const ATTEMPT_BOUNDS: &[f64] = &[1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0];
/// Tenants times groups that are kept apart; a hostile tenant that invents kinds of jobs fills `other`.
const MOST_KEPT: usize = 5_000;

/// A kind of job as labels name it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    pub domain: String,
    pub queue: String,
    pub job_type: String,
}

impl Group {
    pub fn of(kind: &Kindred) -> Self {
        let Kindred { domain, queue, job_type, .. } = kind.clone();
        Self { domain, queue, job_type }
    }
}

/// Figures of one kind of job of one tenant, or of several together.
#[derive(Clone, Default, Debug)]
pub struct Counts {
    pub created: u64,
    /// Jobs, at their first attempt.
    pub started: u64,
    pub attempts_started: u64,
    pub alerts: u64,
    pub completed: u64,
    pub cancelled: u64,
    pub retries: u64,
    pub failures: BTreeMap<JobStatus, u64>,
    pub failure_codes: BTreeMap<Label, u64>,
    pub failure_classes: BTreeMap<Label, u64>,
    pub retry_classes: BTreeMap<Label, u64>,
    pub duration: Histogram,
    pub latency: Histogram,
    pub retry_after: Histogram,
    pub time_to_expiry: Histogram,
    pub attempts: Histogram,
    pub wall_time: BTreeMap<JobStatus, Histogram>,
    pub stages: BTreeMap<Label, Histogram>,
}

impl Counts {
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub fn add(&mut self, other: &Self) {
        self.created += other.created;
        self.started += other.started;
        self.attempts_started += other.attempts_started;
        self.alerts += other.alerts;
        self.completed += other.completed;
        self.cancelled += other.cancelled;
        self.retries += other.retries;
        add_all(&mut self.failures, &other.failures);
        add_all(&mut self.failure_codes, &other.failure_codes);
        add_all(&mut self.failure_classes, &other.failure_classes);
        add_all(&mut self.retry_classes, &other.retry_classes);
        self.duration.add(&other.duration);
        self.latency.add(&other.latency);
        self.retry_after.add(&other.retry_after);
        self.time_to_expiry.add(&other.time_to_expiry);
        self.attempts.add(&other.attempts);
        for (outcome, seen) in &other.wall_time {
            self.wall_time.entry(*outcome).or_default().add(seen);
        }
        for (stage, seen) in &other.stages {
            self.stages.entry(*stage).or_default().add(seen);
        }
    }
}

fn add_all<K: Ord + Copy>(sums: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, count) in more {
        *sums.entry(*key).or_default() += count;
    }
}

pub struct Tally {
    config: Arc<MetricsConfig>,
    pub groups: Labels<Group>,
    pub tenants: Labels<TenantId>,
    pub codes: Labels<String>,
    pub classes: Labels<String>,
    pub stages: Labels<String>,
    counts: HashMap<(TenantId, Label), Counts>,
    memory: Memory,
    pub events_missed: u64,
    pub times_unknown: u64,
}

impl Tally {
    pub fn new(config: Arc<MetricsConfig>) -> Self {
        let most = config.groups;
        Self {
            config,
            groups: Labels::new(most),
            tenants: Labels::new(most),
            codes: Labels::new(most),
            classes: Labels::new(most),
            stages: Labels::new(most),
            counts: HashMap::new(),
            memory: Memory::default(),
            events_missed: 0,
            times_unknown: 0,
        }
    }

    /// Figures by tenant and group, of one tenant or of all.
    pub fn counts(&self, tenant: Option<TenantId>) -> impl Iterator<Item = (TenantId, Label, &Counts)> {
        let seen = self.counts.iter().map(|((tenant, group), counts)| (*tenant, *group, counts));
        seen.filter(move |(owner, ..)| tenant.is_none_or(|wanted| *owner == wanted))
    }

    /// Whether the job's times must be looked up before this event can be counted fully.
    pub fn needs_times(&self, event: &LiveEvent) -> bool {
        let known = self.memory.knows(event.number);
        match event.kind {
            LiveKind::Started => event.attempt == 1 && known.is_none_or(|job| job.created.is_none()),
            kind if ends(kind) => event.attempt > 0 && known.is_none_or(|job| job.last_start.is_none()),
            _ => false,
        }
    }

    pub fn learn(&mut self, times: &[JobTimes]) {
        times.iter().for_each(|times| self.memory.learn(times));
    }

    pub fn lease_left(&mut self, kind: &Kindred, seconds: f64) {
        let bounds = self.config.duration_buckets.clone();
        self.of(kind.tenant_id, Group::of(kind)).time_to_expiry.observe(&bounds, seconds);
    }

    fn of(&mut self, tenant: TenantId, group: Group) -> &mut Counts {
        self.tenants.of(&tenant);
        let mut group = self.groups.of(&group);
        if self.counts.len() >= MOST_KEPT && !self.counts.contains_key(&(tenant, group)) {
            group = Label::OTHER;
        }
        self.counts.entry((tenant, group)).or_default()
    }

    /// Counts one event; `trace` is shown beside the job's duration.
    pub fn count(&mut self, heard: &OutboxEvent, trace: Option<&str>) {
        let event = &heard.event;
        match event.kind {
            LiveKind::Created => {
                self.memory.job(event.number).created = Some(event.at);
                self.counts_of(heard).created += 1;
            }
            LiveKind::Started => self.started(heard),
            LiveKind::Progress => self.moved_on(heard),
            LiveKind::Retrying => self.retried(heard),
            LiveKind::Alert => self.counts_of(heard).alerts += 1,
            kind if ends(kind) => self.ended(heard, trace),
            _ => {}
        }
    }

    fn counts_of(&mut self, heard: &OutboxEvent) -> &mut Counts {
        let LiveEvent { domain, queue, job_type, .. } = heard.event.clone();
        self.of(heard.tenant_id, Group { domain, queue, job_type })
    }

    fn started(&mut self, heard: &OutboxEvent) {
        let (event, bounds) = (&heard.event, self.config.latency_buckets.clone());
        let job = self.memory.job(event.number);
        job.first_start.get_or_insert(event.at);
        job.last_start = Some(event.at);
        job.stage = None;
        let created = job.created.filter(|_| event.attempt == 1);
        let counts = self.counts_of(heard);
        counts.attempts_started += 1;
        counts.started += u64::from(event.attempt == 1);
        if let Some(created) = created {
            counts.latency.observe(&bounds, event.at.seconds_since(created));
        }
    }

    fn moved_on(&mut self, heard: &OutboxEvent) {
        let Some(name) = &heard.event.stage else { return };
        let stage = self.stages.of_text(name);
        let job = self.memory.job(heard.event.number);
        let left = job.stage.filter(|(before, _)| *before != stage);
        if left.is_some() || job.stage.is_none() {
            job.stage = Some((stage, heard.event.at));
        }
        self.left_stage(heard, left);
    }

    fn left_stage(&mut self, heard: &OutboxEvent, left: Option<(Label, leasehold_types::Timestamp)>) {
        let Some((stage, since)) = left else { return };
        let bounds = self.config.duration_buckets.clone();
        let seconds = heard.event.at.seconds_since(since);
        self.counts_of(heard).stages.entry(stage).or_default().observe(&bounds, seconds);
    }

    fn retried(&mut self, heard: &OutboxEvent) {
        let event = &heard.event;
        let left = self.memory.job(event.number).stage.take();
        self.left_stage(heard, left);
        // A worker that ends hands its jobs back: nothing failed, and they do not wait.
        let Some(retry_at) = event.retry_at else { return };
        let class = self.classes.of_text(event.error_class.as_deref().unwrap_or("unknown"));
        let bounds = self.config.duration_buckets.clone();
        let counts = self.counts_of(heard);
        counts.retries += 1;
        *counts.retry_classes.entry(class).or_default() += 1;
        counts.retry_after.observe(&bounds, retry_at.seconds_since(event.at));
    }

    fn ended(&mut self, heard: &OutboxEvent, trace: Option<&str>) {
        let event = &heard.event;
        let Open { first_start, last_start, stage, .. } = self.memory.forget(event.number);
        self.left_stage(heard, stage);
        if last_start.is_none() && event.attempt > 0 {
            self.times_unknown += 1;
        }
        self.outcome(heard);
        let bounds = self.config.duration_buckets.clone();
        let counts = self.counts_of(heard);
        counts.attempts.observe(ATTEMPT_BOUNDS, f64::from(event.attempt));
        if let Some(start) = last_start {
            let value = event.at.seconds_since(start).max(0.0);
            match trace {
                Some(trace) => {
                    let at_seconds = event.at.millis() as f64 / 1e3;
                    let exemplar = Exemplar { trace_id: trace.into(), value, at_seconds };
                    counts.duration.observe_with(&bounds, exemplar);
                }
                None => counts.duration.observe(&bounds, value),
            }
        }
        if let Some(start) = first_start.or(last_start) {
            let took = event.at.seconds_since(start);
            counts.wall_time.entry(event.status).or_default().observe(&bounds, took);
        }
    }

    fn outcome(&mut self, heard: &OutboxEvent) {
        let event = &heard.event;
        let code = event.error_code.as_deref().unwrap_or("unknown");
        let class = event.error_class.as_deref().unwrap_or("unknown");
        match event.status {
            JobStatus::Completed => self.counts_of(heard).completed += 1,
            JobStatus::Cancelled => self.counts_of(heard).cancelled += 1,
            status => {
                let (code, class) = (self.codes.of_text(code), self.classes.of_text(class));
                let counts = self.counts_of(heard);
                *counts.failures.entry(status).or_default() += 1;
                *counts.failure_codes.entry(code).or_default() += 1;
                *counts.failure_classes.entry(class).or_default() += 1;
            }
        }
    }
}

/// The job is finished with this event.
pub fn ends(kind: LiveKind) -> bool {
    use LiveKind::{Cancelled, Completed, DeadLettered, Failed, Quarantined};
    matches!(kind, Completed | Failed | DeadLettered | Quarantined | Cancelled)
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
