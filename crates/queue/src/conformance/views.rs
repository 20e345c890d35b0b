//! One job, as its page sees it.

use super::bench::{Bench, NOW};
use crate::{params::NewJob, transition::Ending};
use leasehold_types::{AttemptOutcome, JobId, JobRef, JobStatus};
use uuid::Uuid;

pub async fn a_job_is_found_by_number_and_id(b: Bench) {
    let made = b.create(b.job(b.a)).await;
    for name in [JobRef::Number(made.number), JobRef::Id(made.id)] {
        let job = b.store.job(&b.ann(), name, 1).await.unwrap().unwrap();
        assert_eq!((job.row.number, job.row.id, job.now), (made.number, made.id, NOW));
    }
    assert!(b.store.job(&b.ann(), JobRef::Number(made.number + 1), 1).await.unwrap().is_none());
    assert!(b.store.job(&b.ann(), JobRef::Id(JobId(Uuid::now_v7())), 1).await.unwrap().is_none());
}

pub async fn a_foreign_job_is_not_found(b: Bench) {
    let made = b.create(b.job(b.a)).await;
    for name in [JobRef::Number(made.number), JobRef::Id(made.id)] {
        assert!(b.store.job(&b.bob(), name, 1).await.unwrap().is_none());
    }
}

pub async fn a_running_attempt_is_shown(b: Bench) {
    let job = b.running().await;
    let attempts = b.detail(job.lease.number).await.attempts;
    assert_eq!(attempts.len(), 1);
    assert_eq!((attempts[0].attempt, attempts[0].outcome), (1, AttemptOutcome::Running));
    assert_eq!((attempts[0].started_at, attempts[0].finished_at), (NOW, None));
    assert_eq!(attempts[0].worker_id, "w1");
}

pub async fn attempts_are_listed_oldest_first(b: Bench) {
    let job = b.running().await;
    b.fail(&job.lease, "x").await;
    b.wait(60);
    b.claim(1).await;
    let attempts = b.detail(job.lease.number).await.attempts;
    let outcomes: Vec<_> = attempts.iter().map(|a| (a.attempt, a.outcome)).collect();
    assert_eq!(outcomes, [(1, AttemptOutcome::Failed), (2, AttemptOutcome::Running)]);
}

pub async fn parents_and_children_are_linked(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    let child = b.create(NewJob { parent: Some(job.lease.number), ..b.job(b.a) }).await.number;
    let parent = b.detail(job.lease.number).await;
    assert_eq!((parent.children[0].number, parent.children[0].status), (child, JobStatus::Queued));
    let link = b.detail(child).await.parent.unwrap();
    assert_eq!((link.number, link.status), (job.lease.number, JobStatus::Completed));
}

pub async fn the_cursor_is_current(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    let cursor = b.detail(number).await.cursor;
    assert_eq!(Some(cursor), b.events().await.last().map(|e| e.event.id));
}
