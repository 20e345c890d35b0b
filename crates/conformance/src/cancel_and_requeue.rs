//! Stopping jobs, and giving parked ones another chance.

use super::bench::{Bench, NOW, code_of};
use leasehold_queue::{
    params::{CancelAnswer, NewJob},
    scope::Scope,
    transition::Ending,
};
use leasehold_types::{JobRef, JobStatus, WorkerId};

impl Bench {
    async fn cancel(
        &self,
        scope: &Scope,
        number: i64,
        reason: &str,
    ) -> Result<CancelAnswer, leasehold_queue::StoreError> {
        self.store.cancel(scope, JobRef::Number(number), Some(reason)).await
    }

    async fn requeue(&self, scope: &Scope, number: i64) -> Result<(), leasehold_queue::StoreError> {
        self.store.requeue(scope, JobRef::Number(number), Some("mended")).await
    }
}

pub async fn a_queued_job_is_cancelled_at_once(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    assert_eq!(b.cancel(&b.ann(), number, "mistake").await.unwrap(), CancelAnswer::Cancelled);
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::Cancelled, Some(NOW)));
    assert_eq!(detail.cancellation_reason.as_deref(), Some("mistake"));
    assert_eq!(detail.cancelled_by.as_deref(), Some("ann@example.org"));
    assert!(b.claim(1).await.is_empty());
    assert_eq!(b.kinds(number).await, ["job.created", "job.cancelled"]);
}

pub async fn a_running_job_is_asked_to_stop(b: Bench) {
    let job = b.running().await;
    assert_eq!(b.cancel(&b.ann(), job.lease.number, "why").await.unwrap(), CancelAnswer::Requested);
    let detail = b.detail(job.lease.number).await;
    assert_eq!((detail.row.status, detail.row.cancel_requested_at), (JobStatus::Processing, Some(NOW)));
    assert_eq!(b.kinds(job.lease.number).await.last(), Some(&"job.cancel_requested"));
}

pub async fn the_first_request_wins(b: Bench) {
    let job = b.running().await;
    b.cancel(&b.ann(), job.lease.number, "first").await.unwrap();
    b.wait(5);
    b.cancel(&b.ann(), job.lease.number, "second").await.unwrap();
    let detail = b.detail(job.lease.number).await;
    assert_eq!(
        (detail.row.cancel_requested_at, detail.cancellation_reason.as_deref()),
        (Some(NOW), Some("first"))
    );
}

pub async fn a_finished_job_cannot_be_cancelled(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    assert_eq!(code_of(b.cancel(&b.ann(), job.lease.number, "late").await), "WRONG_STATE");
    assert_eq!(b.status(job.lease.number).await, JobStatus::Completed);
}

pub async fn a_foreign_job_cannot_be_cancelled(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    assert_eq!(code_of(b.cancel(&b.bob(), number, "mine now").await), "NOT_FOUND");
    assert_eq!(code_of(b.cancel(&b.ann(), 999_999, "what").await), "NOT_FOUND");
    assert_eq!(b.status(number).await, JobStatus::Queued);
}

pub async fn a_quarantined_job_can_be_given_up(b: Bench) {
    let number = b.quarantined().await;
    assert_eq!(b.cancel(&b.ann(), number, "hopeless").await.unwrap(), CancelAnswer::Cancelled);
    assert_eq!(b.status(number).await, JobStatus::Cancelled);
}

pub async fn a_cancellation_is_in_the_trail(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    b.cancel(&b.ann(), number, "mistake").await.unwrap();
    let trail = b.detail(number).await.trail;
    assert_eq!((trail[0].action.as_str(), trail[0].reason.as_deref()), ("job.cancel", Some("mistake")));
    assert_eq!(trail[0].actor, "ann@example.org");
}

pub async fn a_worker_hears_of_its_own_only(b: Bench) {
    b.create_many(b.a, 2).await;
    let mine = b.claim_as("w1", 1).await.remove(0).lease.number;
    let other = b.claim_as("w2", 1).await.remove(0).lease.number;
    for number in [mine, other] {
        b.cancel(&b.ann(), number, "stop").await.unwrap();
    }
    assert_eq!(b.store.cancel_requests(&WorkerId("w1".into())).await.unwrap(), [mine]);
}

pub async fn cancel_works_by_id_too(b: Bench) {
    let made = b.create(b.job(b.a)).await;
    b.store.cancel(&b.ann(), JobRef::Id(made.id), Some("why")).await.unwrap();
    assert_eq!(b.status(made.number).await, JobStatus::Cancelled);
}

pub async fn a_quarantined_job_is_requeued(b: Bench) {
    let number = b.quarantined().await;
    b.requeue(&b.ann(), number).await.unwrap();
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::Queued, None));
    assert_eq!((detail.quarantined_at, detail.row.error_code, detail.queued_at), (None, None, b.clock.now()));
    assert_eq!(b.kinds(number).await.last(), Some(&"job.requeued"));
    assert_eq!(detail.trail[0].reason.as_deref(), Some("mended"));
    assert_eq!(b.claim_numbers(1).await, [number]);
}

pub async fn a_requeued_job_has_a_fresh_budget(b: Bench) {
    let number = b.quarantined_with(|j| j.max_attempts = 3).await;
    b.requeue(&b.ann(), number).await.unwrap();
    let job = b.claim(1).await.remove(0);
    assert_eq!(job.attempt, 4, "attempt numbers go on");
    b.fail(&job.lease, "same").await;
    assert_eq!(
        b.status(number).await,
        JobStatus::Queued,
        "one failure of the same code must not park it again"
    );
}

pub async fn only_quarantined_jobs_are_requeued(b: Bench) {
    let job = b.running().await;
    assert_eq!(code_of(b.requeue(&b.ann(), job.lease.number).await), "WRONG_STATE");
    b.finish(&job.lease, Ending::Completed).await;
    assert_eq!(code_of(b.requeue(&b.ann(), job.lease.number).await), "WRONG_STATE");
}

pub async fn a_requeue_respects_dedupe(b: Bench) {
    let number = b.quarantined_with(|j| j.dedupe_key = Some("d".into())).await;
    b.create(NewJob { dedupe_key: Some("d".into()), ..b.job(b.a) }).await;
    assert_eq!(code_of(b.requeue(&b.ann(), number).await), "ALREADY_EXISTS");
    assert_eq!(b.status(number).await, JobStatus::Quarantined);
}

pub async fn a_foreign_job_cannot_be_requeued(b: Bench) {
    let number = b.quarantined().await;
    assert_eq!(code_of(b.requeue(&b.bob(), number).await), "NOT_FOUND");
}
