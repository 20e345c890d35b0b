//! How attempts end that were asked to stop: by what the worker did about it.

use super::bench::{Bench, NOW};
use leasehold_queue::{params::FinishAnswer, transition::Ending};
use leasehold_types::{AttemptOutcome, JobRef, JobStatus};

/// Who asked for it and why stays in the job's history, where it is true; of the job itself it is not.
pub async fn a_job_completed_in_spite_of_a_cancel_request_was_not_cancelled(b: Bench) {
    let job = b.running().await;
    b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("too late")).await.unwrap();
    let answer = b.finish(&job.lease, Ending::Completed).await;
    assert_eq!(answer, FinishAnswer::Applied(JobStatus::Completed));
    let detail = b.detail(job.lease.number).await;
    assert_eq!(
        (&detail.cancelled_by, &detail.cancellation_reason, detail.cancelled_at),
        (&None, &None, None)
    );
    assert_eq!(detail.row.cancel_requested_at, None);
    assert!(b.kinds(job.lease.number).await.contains(&"job.cancel_requested"));
    let asked = detail.trail.iter().find(|entry| entry.reason.as_deref() == Some("too late"));
    assert_eq!(asked.map(|entry| entry.actor.as_str()), Some("ann@example.org"));
}

pub async fn a_cancel_request_wins_over_a_retry(b: Bench) {
    let job = b.running().await;
    b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("enough")).await.unwrap();
    assert_eq!(b.fail(&job.lease, "x").await, FinishAnswer::Applied(JobStatus::Cancelled));
    let detail = b.detail(job.lease.number).await;
    assert_eq!(detail.row.completed_at, Some(NOW));
    assert_eq!(detail.cancellation_reason.as_deref(), Some("enough"));
}

pub async fn completion_wins_over_a_late_cancel(b: Bench) {
    let job = b.running().await;
    b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("enough")).await.unwrap();
    assert_eq!(b.finish(&job.lease, Ending::Completed).await, FinishAnswer::Applied(JobStatus::Completed));
}

pub async fn an_acknowledged_cancel_is_cancelled(b: Bench) {
    let job = b.running().await;
    b.store.cancel(&b.ann(), JobRef::Number(job.lease.number), Some("enough")).await.unwrap();
    assert_eq!(b.finish(&job.lease, Ending::Cancelled).await, FinishAnswer::Applied(JobStatus::Cancelled));
    let detail = b.detail(job.lease.number).await;
    assert_eq!(detail.attempts[0].outcome, AttemptOutcome::Cancelled);
    assert_eq!(detail.cancelled_by.as_deref(), Some("ann@example.org"));
}
