//! The random steps, each done to the store and to the model, and the final comparison.

use super::{Run, WORKERS};
use crate::bench::{LEASE, failed, finish, new_job, renewal, rules};
use leasehold_queue::{
    params::{CancelAnswer, FinishAnswer, HowCreated, Lease, Measured, NewJob, Renewal, Selector},
    scope::Scope,
    store::StoreError,
    transition::{Ending, Failure, Snooze},
};
use leasehold_types::{JobFilter, JobRef, JobStatus, PageRequest, ProblemCode, WorkerId};
use rand::Rng;
use std::time::Duration;

impl Run {
    pub async fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..22 => self.create().await,
            22..50 => self.claim().await,
            50..60 => self.renew().await,
            60..80 => self.finish().await,
            80..86 => self.cancel().await,
            86..90 => self.requeue().await,
            90..94 => self.reclaim().await,
            94..96 => self.limit().await,
            _ => self.let_time_pass(),
        }
    }

    fn dice(&mut self, sides: usize) -> usize {
        self.rng.random_range(0..sides)
    }

    async fn create(&mut self) {
        let now = self.bench.clock.now();
        let delay = [0, 0, 0, 3, 20][self.dice(5)];
        // Jobs of one kind wait for their key.
        let keyed = self.dice(3) == 0;
        let kind = if keyed { &self.keyed } else { &self.bench.definition };
        let plain = new_job(self.tenant, kind);
        let new = NewJob {
            priority: [1, 100, 100, 900][self.dice(4)],
            max_attempts: [1, 2, 3, 10][self.dice(4)],
            available_at: (delay > 0).then(|| now.plus_secs(delay)),
            dedupe_key: (self.dice(4) == 0).then(|| format!("key{}", self.dice(2))),
            concurrency_key: keyed.then(|| format!("doc{}", self.dice(2))),
            ..plain
        };
        let expected = self.model.active_with_key(new.dedupe_key.as_deref());
        let made = self.bench.create(new.clone()).await;
        match expected {
            Some(number) => assert_eq!((made.number, made.how), (number, HowCreated::Deduplicated)),
            None => assert_eq!(made.how, HowCreated::Inserted),
        }
        self.model.created(made.number, &new, made.how, now);
    }

    async fn claim(&mut self) {
        let n = [1, 1, 2, 5][self.dice(4)];
        let worker = WorkerId(format!("w{}", self.dice(WORKERS)));
        let now = self.bench.clock.now();
        let expected = self.model.claimable(n, now);
        let selector = Selector { tenant: Some(self.tenant), ..Selector::default() };
        let jobs = self.bench.store.claim(&worker, &selector, n as u32, LEASE).await.unwrap();
        let numbers: Vec<_> = jobs.iter().map(|j| j.lease.number).collect();
        assert_eq!(numbers, expected, "a claim takes exactly the first {n} in claim order");
        for job in jobs {
            self.model.claimed(&job.lease, job.leased_until);
            assert_eq!(job.attempt, self.model.job(job.lease.number).attempt_count);
            self.leases.push(job.lease);
        }
    }

    /// A lease that was handed out once; it may be stale by now.
    fn some_lease(&mut self) -> Option<Lease> {
        if self.leases.is_empty() {
            return None;
        }
        let i = self.dice(self.leases.len());
        Some(self.leases[i].clone())
    }

    async fn renew(&mut self) {
        let Some(lease) = self.some_lease() else { return };
        let percent = self.rng.random_range(0..=100);
        let progress = Measured { percent: Some(percent), ..Measured::default() };
        let until = self.bench.clock.now().plus(LEASE);
        let expected = self.model.renewed(&lease, until, percent);
        let renewal = Renewal { progress: Some(progress), ..renewal(&lease) };
        let answers = self.bench.store.renew(vec![renewal]).await.unwrap();
        assert_eq!(answers, [expected], "{lease:?}");
    }

    fn some_ending(&mut self) -> Ending {
        match self.dice(11) {
            0..4 => Ending::Completed,
            4 => failed(Some("a")),
            5 => failed(Some("b")),
            6 => failed(None),
            7 => Ending::Failed(Failure { retryable: Some(false), ..Failure::default() }),
            8 => Ending::Released,
            9 => {
                let wait = Duration::from_secs(3);
                Ending::Snoozed(Snooze { error_code: "a".into(), message: "Not here.".into(), wait })
            }
            _ => Ending::Cancelled,
        }
    }

    async fn finish(&mut self) {
        let Some(lease) = self.some_lease() else { return };
        let ending = self.some_ending();
        let now = self.bench.clock.now();
        let expected = self.model.finished(&lease, &ending, now);
        let answer = self.bench.finish_item(finish(&lease, ending.clone())).await;
        assert_eq!(answer, expected, "{ending:?} under {lease:?}");
        if matches!(answer, FinishAnswer::Applied(JobStatus::Completed)) {
            let again = self.bench.finish(&lease, Ending::Completed).await;
            assert_eq!(again, FinishAnswer::Stale, "at most one completion is ever accepted");
        }
    }

    async fn cancel(&mut self) {
        if self.model.jobs.is_empty() {
            return;
        }
        let i = self.dice(self.model.jobs.len());
        let job = &mut self.model.jobs[i];
        let answer =
            self.bench.store.cancel(&Scope::system("test"), JobRef::Number(job.number), Some("x")).await;
        match job.status {
            JobStatus::Queued | JobStatus::Quarantined => {
                assert_eq!(answer.unwrap(), CancelAnswer::Cancelled);
                job.status = JobStatus::Cancelled;
                job.state_events += 1;
            }
            JobStatus::Processing => {
                assert_eq!(answer.unwrap(), CancelAnswer::Requested);
                job.cancel_requested = true;
            }
            _ => assert!(is_problem(answer, ProblemCode::WrongState)),
        }
    }

    async fn requeue(&mut self) {
        let Some(parked) = self.model.jobs.iter().position(|j| j.status == JobStatus::Quarantined) else {
            return;
        };
        let key = self.model.jobs[parked].dedupe_key.clone();
        let taken = self.model.active_with_key(key.as_deref()).is_some();
        let job = &mut self.model.jobs[parked];
        let answer =
            self.bench.store.requeue(&Scope::system("test"), JobRef::Number(job.number), Some("x")).await;
        if taken {
            assert!(is_problem(answer, ProblemCode::AlreadyExists));
            return;
        }
        answer.unwrap();
        job.status = JobStatus::Queued;
        job.attempt_base = job.attempt_count;
        (job.streak_code, job.streak_count) = (None, 0);
        (job.available_at, job.last_backoff) = (None, job.last_backoff);
        job.state_events += 1;
    }

    async fn reclaim(&mut self) {
        let now = self.bench.clock.now();
        let expected = self.model.expired(now);
        let taken = self.bench.store.reclaim_expired(&rules(), 1_000).await.unwrap();
        let mut numbers: Vec<_> = taken.iter().map(|t| t.number).collect();
        numbers.retain(|n| self.model.jobs.iter().any(|j| j.number == *n));
        numbers.sort_unstable();
        assert_eq!(numbers, expected);
        for number in expected {
            let status = self.model.end(number, &Ending::Lost, now);
            let row = self.bench.detail(number).await.row;
            assert_eq!(row.status, status);
            // The spread of a lost job is random: take the store's word, within its bounds.
            if let Some(at) = row.available_at.filter(|_| status == JobStatus::Queued) {
                assert!((0.0..=1.0).contains(&at.seconds_since(now)));
                self.model.job(number).available_at = Some(at);
            }
        }
    }

    async fn limit(&mut self) {
        let limit = [None, Some(1), Some(2), Some(4)][self.dice(4)];
        self.bench.limit_tenant(self.tenant, limit).await;
        self.model.max_in_flight = limit.map(|max| max as usize);
    }

    fn let_time_pass(&mut self) {
        let seconds = [1, 5, 30, 61, 130][self.dice(5)];
        self.bench.clock.advance(Duration::from_secs(seconds));
    }

    /// Every job says what the model says, and was announced as often as it moved.
    pub async fn compare(&mut self) {
        let scope = Scope::system("test").within(self.tenant);
        let page = PageRequest { before: None, limit: 200 };
        let listed = self.bench.store.list(&scope, &JobFilter::default(), page).await.unwrap();
        assert_eq!(listed.rows.len(), self.model.jobs.len());
        let tail = self.bench.store.outbox_tail().await.unwrap();
        let events = self.bench.store.events(&scope, 0, tail, 10_000).await.unwrap();
        for job in &self.model.jobs {
            let row = listed.rows.iter().find(|r| r.number == job.number).expect("listed");
            assert_eq!(
                (row.status, row.attempt_count, row.progress),
                (job.status, job.attempt_count, job.progress),
                "{job:?}"
            );
            assert_eq!(row.worker_id.is_some(), job.lease.is_some(), "{job:?}");
            let attempts = self.bench.detail(job.number).await.attempts;
            let running = usize::from(job.lease.is_some());
            assert_eq!(attempts.len(), job.closed_attempts + running, "{job:?}");
            let moves = events
                .iter()
                .filter(|e| e.event.number == job.number && e.event.kind.moves_state())
                .filter(|e| e.event.kind != leasehold_types::LiveKind::CancelRequested)
                .count();
            assert_eq!(moves, job.state_events, "{job:?}");
        }
    }
}

fn is_problem<T>(answer: Result<T, StoreError>, code: ProblemCode) -> bool {
    matches!(answer, Err(StoreError::Problem(p)) if p.code == code)
}
