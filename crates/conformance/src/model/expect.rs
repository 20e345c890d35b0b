//! The model: what a store must do, in a page of plain Rust.

use leasehold_queue::{
    params::{FinishAnswer, HowCreated, Lease, NewJob, RenewAnswer},
    transition::{Ending, JobFacts, Verdict, judge},
};
use leasehold_types::{JobStatus, Timestamp};

use super::super::bench::rules;

/// How many jobs of one concurrency key may run at a time.
pub const MAX_PER_KEY: usize = 2;

#[derive(Clone, Debug)]
pub struct ModelJob {
    pub number: i64,
    pub status: JobStatus,
    pub priority: i32,
    pub dedupe_key: Option<String>,
    pub concurrency_key: Option<String>,
    pub created_at: Timestamp,
    pub available_at: Option<Timestamp>,
    pub attempt_count: i32,
    pub attempt_base: i32,
    pub max_attempts: i32,
    pub progress: i16,
    pub cancel_requested: bool,
    pub streak_code: Option<String>,
    pub streak_count: i32,
    pub last_backoff: Option<f64>,
    pub lease: Option<(Lease, Timestamp)>,
    pub closed_attempts: usize,
    pub state_events: usize,
}

#[derive(Default)]
pub struct Model {
    pub jobs: Vec<ModelJob>,
    /// How many may run at a time.
    pub max_in_flight: Option<usize>,
}

impl Model {
    /// Which job a creation must return, and how; none = a new one.
    pub fn active_with_key(&self, key: Option<&str>) -> Option<i64> {
        let key = key?;
        let active = |j: &&ModelJob| matches!(j.status, JobStatus::Queued | JobStatus::Processing);
        self.jobs.iter().filter(active).find(|j| j.dedupe_key.as_deref() == Some(key)).map(|j| j.number)
    }

    pub fn created(&mut self, number: i64, new: &NewJob, how: HowCreated, now: Timestamp) {
        if how != HowCreated::Inserted {
            return;
        }
        self.jobs.push(ModelJob {
            number,
            status: JobStatus::Queued,
            priority: new.priority,
            dedupe_key: new.dedupe_key.clone(),
            concurrency_key: new.concurrency_key.clone(),
            created_at: now,
            available_at: new.available_at,
            attempt_count: 0,
            attempt_base: 0,
            max_attempts: new.max_attempts,
            progress: 0,
            cancel_requested: false,
            streak_code: None,
            streak_count: 0,
            last_backoff: None,
            lease: None,
            closed_attempts: 0,
            state_events: 1,
        });
    }

    /// The numbers a claim of `n` must return, in order.
    pub fn claimable(&self, n: usize, now: Timestamp) -> Vec<i64> {
        let due = |j: &&ModelJob| j.status == JobStatus::Queued && j.available_at.is_none_or(|at| at <= now);
        let mut ready: Vec<_> = self.jobs.iter().filter(due).collect();
        ready.sort_by_key(|j| (j.priority, j.available_at.unwrap_or(j.created_at), j.number));
        let mut running: Vec<_> = self.jobs.iter().filter(|j| j.status == JobStatus::Processing).collect();
        let before = running.len();
        for job in ready {
            let of_key = running.iter().filter(|r| r.concurrency_key == job.concurrency_key).count();
            let key_is_full = job.concurrency_key.is_some() && of_key >= MAX_PER_KEY;
            let tenant_is_full = self.max_in_flight.is_some_and(|max| running.len() >= max);
            if !key_is_full && !tenant_is_full && running.len() - before < n {
                running.push(job);
            }
        }
        running[before..].iter().map(|j| j.number).collect()
    }

    pub fn job(&mut self, number: i64) -> &mut ModelJob {
        self.jobs.iter_mut().find(|j| j.number == number).expect("the model knows the job")
    }

    pub fn claimed(&mut self, lease: &Lease, until: Timestamp) {
        let job = self.job(lease.number);
        job.status = JobStatus::Processing;
        job.attempt_count += 1;
        job.lease = Some((lease.clone(), until));
        job.state_events += 1;
    }

    /// Is this lease the job's own at the moment?
    pub fn holds(&self, lease: &Lease) -> bool {
        self.jobs.iter().any(|j| j.lease.as_ref().is_some_and(|(own, _)| own == lease))
    }

    pub fn renewed(&mut self, lease: &Lease, until: Timestamp, percent: i16) -> RenewAnswer {
        if !self.holds(lease) {
            return RenewAnswer::Lost;
        }
        let job = self.job(lease.number);
        let cancel_requested = job.cancel_requested;
        job.progress = job.progress.max(percent);
        if let Some((_, own)) = &mut job.lease {
            *own = until.max(*own);
        }
        RenewAnswer::Held { cancel_requested }
    }

    pub fn finished(&mut self, lease: &Lease, ending: &Ending, now: Timestamp) -> FinishAnswer {
        if !self.holds(lease) {
            return FinishAnswer::Stale;
        }
        FinishAnswer::Applied(self.end(lease.number, ending, now))
    }

    /// Ends the running attempt as the pure judgement says.
    pub fn end(&mut self, number: i64, ending: &Ending, now: Timestamp) -> JobStatus {
        let job = self.job(number);
        let facts = JobFacts {
            attempts_used: job.attempt_count - job.attempt_base,
            max_attempts: job.max_attempts,
            cancel_requested: job.cancel_requested,
            streak_code: job.streak_code.clone(),
            streak_count: job.streak_count,
            last_backoff: job.last_backoff,
        };
        let verdict: Verdict = judge(&facts, ending, None, &rules(), now, 0.0);
        job.status = verdict.status;
        job.available_at = verdict.available_at;
        job.attempt_base += i32::from(verdict.refund_attempt);
        job.streak_code = verdict.streak_code;
        job.streak_count = verdict.streak_count;
        job.last_backoff = verdict.mark.map_or(job.last_backoff, |m| m.retry_backoff);
        job.lease = None;
        job.cancel_requested = false;
        job.closed_attempts += 1;
        job.state_events += 1;
        if verdict.status == JobStatus::Completed {
            job.progress = 100;
        }
        verdict.status
    }

    /// The jobs whose lease has run out.
    pub fn expired(&self, now: Timestamp) -> Vec<i64> {
        let expired = |j: &&ModelJob| j.lease.as_ref().is_some_and(|(_, until)| *until <= now);
        self.jobs.iter().filter(expired).map(|j| j.number).collect()
    }
}
