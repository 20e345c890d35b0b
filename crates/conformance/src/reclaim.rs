//! Taking jobs back from workers that were not heard of.

use super::bench::{Bench, rules};
use leasehold_queue::{
    params::{FinishAnswer, NewJob, Reclaimed},
    transition::Ending,
};
use leasehold_types::{AttemptOutcome, JobRef, JobStatus};

impl Bench {
    async fn reclaim(&self) -> Vec<Reclaimed> {
        self.store.reclaim_expired(&rules(), 100).await.unwrap()
    }
}

pub async fn a_live_lease_is_left_alone(b: Bench) {
    let job = b.running().await;
    b.wait(59);
    assert!(b.reclaim().await.is_empty());
    assert_eq!(b.status(job.lease.number).await, JobStatus::Processing);
}

pub async fn an_expired_lease_is_taken_back(b: Bench) {
    let job = b.running().await;
    b.wait(61);
    let taken = b.reclaim().await;
    assert_eq!((taken.len(), taken[0].number, taken[0].status), (1, job.lease.number, JobStatus::Queued));
    assert_eq!(taken[0].worker_id, job.lease.worker_id);
    let detail = b.detail(job.lease.number).await;
    assert_eq!((detail.row.worker_id, detail.leased_until), (None, None));
    let wait = detail.row.available_at.unwrap().seconds_since(b.clock.now());
    assert!((0.0..=1.0).contains(&wait), "it is claimable again within a second, not {wait}");
}

pub async fn a_lost_attempt_is_recorded(b: Bench) {
    let job = b.running().await;
    b.wait(61);
    b.reclaim().await;
    let detail = b.detail(job.lease.number).await;
    let attempt = &detail.attempts[0];
    assert_eq!((attempt.outcome, attempt.error_code.as_deref()), (AttemptOutcome::Lost, Some("worker_lost")));
    assert_eq!(attempt.finished_at, Some(b.clock.now()));
    assert_eq!(detail.failure_timeline[0].error_code.as_deref(), Some("worker_lost"));
    assert_eq!(b.kinds(job.lease.number).await, ["job.created", "job.started", "job.retrying"]);
}

pub async fn the_last_lost_attempt_is_a_dead_letter(b: Bench) {
    let job = b.running_with(|j| j.max_attempts = 1).await;
    b.wait(61);
    assert_eq!(b.reclaim().await[0].status, JobStatus::DeadLetter);
    let detail = b.detail(job.lease.number).await;
    assert_eq!(
        (detail.row.status, detail.error_class.as_deref()),
        (JobStatus::DeadLetter, Some("worker_lost"))
    );
    assert_eq!(detail.row.completed_at, Some(b.clock.now()));
}

pub async fn a_cancelled_lost_job_is_cancelled(b: Bench) {
    let job = b.running().await;
    b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("why")).await.unwrap();
    b.wait(61);
    assert_eq!(b.reclaim().await[0].status, JobStatus::Cancelled);
}

pub async fn reclaim_is_bounded(b: Bench) {
    b.create_many(b.a, 5).await;
    b.claim(5).await;
    b.wait(61);
    assert_eq!(b.store.reclaim_expired(&rules(), 3).await.unwrap().len(), 3);
    assert_eq!(b.reclaim().await.len(), 2);
}

pub async fn a_lost_worker_cannot_come_back(b: Bench) {
    let job = b.running().await;
    b.wait(61);
    b.reclaim().await;
    b.wait(2);
    let second = b.claim_as("w2", 1).await.remove(0);
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Stale);
    assert_eq!(b.finish(&second.lease, Ending::Completed).await, FinishAnswer::Applied(JobStatus::Completed));
}

pub async fn reclaiming_twice_does_nothing(b: Bench) {
    b.running().await;
    b.wait(61);
    assert_eq!(b.reclaim().await.len(), 1);
    assert!(b.reclaim().await.is_empty());
}

pub async fn attempt_numbers_go_on_after_a_loss(b: Bench) {
    let number = b.create(NewJob { max_attempts: 2, ..b.job(b.a) }).await.number;
    b.claim(1).await;
    b.wait(61);
    b.reclaim().await;
    b.wait(2);
    assert_eq!(b.claim(1).await[0].attempt, 2);
    b.wait(61);
    assert_eq!(b.reclaim().await[0].status, JobStatus::DeadLetter);
    assert_eq!(b.detail(number).await.attempts.len(), 2);
}
