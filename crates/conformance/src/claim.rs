//! Claiming: what may be taken, in which order, and what a claim leaves behind.

use super::bench::{Bench, LEASE, NOW, definition};
use leasehold_queue::{
    params::{NewJob, Selector},
    scope::Scope,
    steering::QueueAction,
    transition::Ending,
};
use leasehold_types::{JobStatus, WorkerId};
use serde_json::json;
use std::{collections::HashSet, sync::Arc};

impl Bench {
    async fn claim_by(&self, selector: Selector) -> Vec<i64> {
        let jobs = self.store.claim(&WorkerId("w1".into()), &selector, 10, LEASE).await.unwrap();
        jobs.into_iter().map(|j| j.lease.number).collect()
    }
}

pub async fn a_claimed_job_is_processing_under_a_lease(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    b.wait(5);
    let claimed = b.claim_as("host:1:boot", 1).await.remove(0);
    assert_eq!((claimed.lease.number, claimed.leased_until), (number, b.clock.now().plus(LEASE)));
    let job = b.detail(number).await;
    assert_eq!((job.row.status, job.row.worker_id.as_deref()), (JobStatus::Processing, Some("host:1:boot")));
    assert_eq!((job.row.acquired_at, job.row.started_at), (Some(b.clock.now()), Some(b.clock.now())));
    assert_eq!(job.leased_until, Some(b.clock.now().plus(LEASE)));
}

pub async fn a_claim_takes_at_most_what_is_asked(b: Bench) {
    b.create_many(b.a, 5).await;
    assert_eq!(b.claim(3).await.len(), 3);
    assert_eq!(b.claim(3).await.len(), 2);
    assert_eq!(b.claim(0).await.len(), 0);
}

pub async fn nothing_ready_means_an_empty_claim(b: Bench) {
    assert!(b.claim(10).await.is_empty());
}

pub async fn priority_comes_first(b: Bench) {
    let mut numbers = Vec::new();
    for priority in [500, 1, 100, 1000] {
        numbers.push(b.create(NewJob { priority, ..b.job(b.a) }).await.number);
    }
    assert_eq!(b.claim_numbers(10).await, [numbers[1], numbers[2], numbers[0], numbers[3]]);
}

pub async fn age_decides_among_equals(b: Bench) {
    let early = b.create(NewJob { available_at: Some(NOW.plus_secs(1)), ..b.job(b.a) }).await.number;
    b.wait(2);
    let late = b.create(b.job(b.a)).await.number;
    assert_eq!(b.claim_numbers(10).await, [early, late]);
}

pub async fn the_number_decides_among_twins(b: Bench) {
    let numbers = b.create_many(b.a, 10).await;
    assert_eq!(b.claim_numbers(10).await, numbers);
}

pub async fn a_retry_does_not_overtake_older_jobs(b: Bench) {
    let first = b.running().await;
    b.wait(1);
    let waiting = b.create(b.job(b.a)).await.number;
    b.fail(&first.lease, "x").await;
    b.wait(60);
    assert_eq!(b.claim_numbers(10).await, [waiting, first.lease.number]);
}

pub async fn a_scheduled_job_waits_for_its_time(b: Bench) {
    let number = b.create(NewJob { available_at: Some(NOW.plus_secs(10)), ..b.job(b.a) }).await.number;
    assert!(b.claim(1).await.is_empty());
    b.wait(9);
    assert!(b.claim(1).await.is_empty());
    b.wait(1);
    assert_eq!(b.claim_numbers(1).await, [number]);
}

pub async fn the_selector_limits_kinds(b: Bench) {
    b.create(b.job(b.a)).await;
    let other =
        b.create(NewJob { job_type: "export".into(), definition_id: None, ..b.job(b.a) }).await.number;
    let kinds = vec![("commands".to_owned(), "export".to_owned()), ("decks".to_owned(), "import".to_owned())];
    assert_eq!(b.claim_by(Selector { kinds, ..Selector::default() }).await, [other]);
}

pub async fn the_selector_limits_queues(b: Bench) {
    b.create(b.job(b.a)).await;
    let high = b.create(NewJob { queue: "high".into(), ..b.job(b.a) }).await.number;
    let queues = vec![("commands".to_owned(), "high".to_owned())];
    assert_eq!(b.claim_by(Selector { queues, ..Selector::default() }).await, [high]);
}

pub async fn the_selector_limits_the_tenant(b: Bench) {
    b.create(b.job(b.a)).await;
    let theirs = b.create(b.job(b.b)).await.number;
    assert_eq!(b.claim_by(Selector { tenant: Some(b.b), ..Selector::default() }).await, [theirs]);
}

pub async fn a_paused_queue_gives_nothing(b: Bench) {
    b.create(b.job(b.a)).await;
    b.control_queue(QueueAction::Pause).await;
    assert!(b.claim(1).await.is_empty());
    b.control_queue(QueueAction::Resume).await;
    assert_eq!(b.claim(1).await.len(), 1);
}

pub async fn a_draining_queue_gives_nothing(b: Bench) {
    b.create(b.job(b.a)).await;
    b.control_queue(QueueAction::Drain).await;
    assert!(b.claim(1).await.is_empty());
}

pub async fn an_inactive_definition_is_skipped(b: Bench) {
    b.create(b.job(b.a)).await;
    b.switch_definition(b.definition.id, false).await;
    assert!(b.claim(1).await.is_empty());
    assert!(!b.store.definition(b.definition.id).await.unwrap().unwrap().is_active);
    b.switch_definition(b.definition.id, true).await;
    assert_eq!(b.claim(1).await.len(), 1);
}

pub async fn attempt_count_grows_at_claim(b: Bench) {
    let first = b.running().await;
    assert_eq!(first.attempt, 1);
    b.fail(&first.lease, "x").await;
    assert_eq!(b.detail(first.lease.number).await.row.attempt_count, 1);
    b.wait(60);
    assert_eq!(b.claim(1).await[0].attempt, 2);
}

pub async fn every_claim_has_a_fresh_lease(b: Bench) {
    let first = b.running().await;
    b.fail(&first.lease, "x").await;
    b.wait(60);
    let second = b.claim(1).await.remove(0);
    assert_eq!(second.lease.number, first.lease.number);
    assert_ne!(second.lease.lease_id, first.lease.lease_id);
    b.create_many(b.a, 5).await;
    let leases: HashSet<_> = b.claim(5).await.into_iter().map(|j| j.lease.lease_id).collect();
    assert_eq!(leases.len(), 5);
}

pub async fn started_at_is_the_first_start(b: Bench) {
    let first = b.running().await;
    b.fail(&first.lease, "x").await;
    b.wait(60);
    b.claim(1).await;
    let row = b.detail(first.lease.number).await.row;
    assert_eq!((row.started_at, row.acquired_at), (Some(NOW), Some(NOW.plus_secs(60))));
}

pub async fn a_claim_is_announced(b: Bench) {
    let job = b.running().await;
    let events = b.events().await;
    let started = &events[1].event;
    assert_eq!(
        (started.kind.as_str(), started.status, started.attempt),
        ("job.started", JobStatus::Processing, 1)
    );
    assert_eq!((started.number, started.worker.as_deref()), (job.lease.number, Some("w1")));
}

pub async fn claimed_jobs_are_not_claimed_again(b: Bench) {
    b.create_many(b.a, 3).await;
    assert_eq!(b.claim_as("w1", 3).await.len(), 3);
    assert!(b.claim_as("w2", 3).await.is_empty());
}

pub async fn parallel_claimers_share_without_overlap(b: Bench) {
    b.create_many(b.a, 200).await;
    let b = Arc::new(b);
    let claimers: Vec<_> = (0..8)
        .map(|i| {
            let b = b.clone();
            tokio::spawn(async move {
                let mut mine = Vec::new();
                for _ in 0..40 {
                    let jobs = b.claim_as(&format!("w{i}"), 7).await;
                    mine.extend(jobs.into_iter().map(|j| j.lease.number));
                }
                mine
            })
        })
        .collect();
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.unwrap());
    }
    let distinct: HashSet<_> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (200, 200));
}

pub async fn the_claimed_job_carries_what_a_worker_needs(b: Bench) {
    let new =
        NewJob { payload: json!({"x": [1]}), request_id: Some("r".into()), max_attempts: 7, ..b.job(b.a) };
    let made = b.create(new).await;
    let job = b.claim(1).await.remove(0);
    assert_eq!((job.id, job.tenant_id, job.tenant_slug.as_str()), (made.id, b.a, "acme"));
    assert_eq!(
        (job.domain.as_str(), job.queue.as_str(), job.job_type.as_str()),
        ("commands", "default", "import")
    );
    assert_eq!((job.payload, job.max_attempts, job.checkpoint), (json!({"x": [1]}), 7, None));
    assert_eq!((job.definition_id, job.request_id.as_deref()), (Some(b.definition.id), Some("r")));
    assert_eq!((job.trace_id.as_str(), job.progress), ("trace", 0));
}

pub async fn an_unserved_type_does_not_block_others(b: Bench) {
    let unserved = b.store.ensure_definition(definition("nobody")).await.unwrap();
    let jobs = (0..300).map(|_| NewJob { priority: 1, ..super::bench::new_job(b.a, &unserved) }).collect();
    b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap();
    let wanted = b.create(b.job(b.a)).await.number;
    let kinds = vec![("commands".to_owned(), "import".to_owned())];
    assert_eq!(b.claim_by(Selector { kinds, ..Selector::default() }).await, [wanted]);
    let finished = b.finish(&b.detail_lease(wanted).await, Ending::Completed).await;
    assert!(matches!(finished, leasehold_queue::params::FinishAnswer::Stale), "the lease id is not guessed");
}

impl Bench {
    /// A lease with the right worker but another lease id.
    async fn detail_lease(&self, number: i64) -> leasehold_queue::params::Lease {
        let worker = self.detail(number).await.row.worker_id.unwrap();
        leasehold_queue::params::Lease {
            number,
            worker_id: WorkerId(worker),
            lease_id: leasehold_types::LeaseId(uuid::Uuid::new_v4()),
        }
    }
}
