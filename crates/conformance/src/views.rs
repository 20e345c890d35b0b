//! One job, as its page sees it.

use super::bench::{Bench, NOW, failed};
use leasehold_queue::{
    attachments::NewAttachment,
    history::{self, Streak},
    params::NewJob,
    scope::Scope,
    transition::Ending,
};
use leasehold_types::{
    AttemptOutcome, JobFilter, JobId, JobRef, JobStatus, PageRequest,
    browse::{Browse, Sorting},
    view::LastRun,
};
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

pub async fn only_so_many_children_are_listed(b: Bench) {
    let parent = b.create(b.job(b.a)).await.number;
    let children = (0..101).map(|_| NewJob { parent: Some(parent), ..b.job(b.a) }).collect();
    b.store.create_jobs(&Scope::system("test"), children).await.unwrap();
    assert_eq!(b.detail(parent).await.children.len(), 100);
}

pub async fn only_the_newest_activity_is_listed(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    for _ in 0..201 {
        let file = NewAttachment::new("a.txt", "text/plain", vec![1]);
        b.store.keep_file(&b.ann(), JobRef::Number(number), file).await.unwrap();
    }
    b.store.cancel(&b.ann(), JobRef::Number(number), Some("enough")).await.unwrap();
    let trail = b.detail(number).await.trail;
    assert_eq!((trail.len(), trail.last().unwrap().action.as_str()), (200, "job.cancel"));
}

pub async fn the_cursor_is_current(b: Bench) {
    let number = b.create(b.job(b.a)).await.number;
    let cursor = b.detail(number).await.cursor;
    assert_eq!(Some(cursor), b.events().await.last().map(|e| e.event.id));
}

pub async fn a_released_attempt_is_counted_but_not_used(b: Bench) {
    let number = b.create(NewJob { max_attempts: 3, ..b.job(b.a) }).await.number;
    for taken in 1..=5 {
        let job = b.claim(1).await.remove(0);
        let row = b.detail(number).await.row;
        assert_eq!((row.attempt_count, row.attempts_used), (taken, 1));
        b.finish(&job.lease, Ending::Released).await;
    }
    let row = b.detail(number).await.row;
    assert_eq!((row.attempt_count, row.attempts_used, row.max_attempts), (5, 0, 3));
}

pub async fn a_requeued_job_tells_its_past(b: Bench) {
    let number = b.quarantined_with(|job| job.max_attempts = 4).await;
    let parked_at = b.clock.now();
    let parked = history::parked(&b.detail(number).await);
    let streak = Some(Streak { error_code: "same".into(), count: 3 });
    assert_eq!((parked[0].since, parked[0].until, &parked[0].streak), (parked_at, None, &streak));
    b.wait(7_200);
    b.store.requeue(&b.ann(), JobRef::Number(number), Some("fixed")).await.unwrap();
    b.wait(10);
    let job = b.claim(1).await.remove(0);
    b.wait(5);
    b.fail(&job.lease, "same").await;
    let detail = b.detail(number).await;
    assert_eq!((detail.row.attempt_count, detail.row.attempts_used, detail.row.max_attempts), (4, 1, 4));
    let parked = history::parked(&detail);
    assert_eq!((parked.len(), parked[0].after_attempt, &parked[0].streak), (1, 3, &streak));
    assert_eq!(parked[0].until, Some(parked_at.plus_secs(7_200)));
    let requeued = parked[0].requeued.as_ref().unwrap();
    assert_eq!((requeued.actor.as_str(), requeued.reason.as_deref()), ("ann@example.org", Some("fixed")));
    assert_eq!(history::seconds_run(&detail), 5.0, "neither waits nor the quarantine count");
}

pub async fn a_job_given_up_in_quarantine_tells_how_long_it_was_there(b: Bench) {
    let number = b.quarantined().await;
    let since = b.clock.now();
    b.wait(60);
    b.store.cancel(&b.ann(), JobRef::Number(number), Some("hopeless")).await.unwrap();
    let parked = history::parked(&b.detail(number).await);
    assert_eq!((parked[0].since, parked[0].until), (since, Some(b.clock.now())));
    assert!(parked[0].requeued.is_none());
}

pub async fn the_last_worker_stays_known(b: Bench) {
    let job = b.running().await;
    let number = job.lease.number;
    let running = LastRun { worker_id: "w1".into(), started_at: NOW, finished_at: None };
    assert_eq!(b.detail(number).await.row.last_run, Some(running));
    b.wait(3);
    b.fail(&job.lease, "x").await;
    b.wait(60);
    let job = b.claim_as("w2", 1).await.remove(0);
    b.wait(4);
    b.finish(&job.lease, failed(Some("y"))).await;
    b.wait(60);
    let job = b.claim_as("w3", 1).await.remove(0);
    let started_at = b.clock.now();
    b.wait(5);
    b.finish(&job.lease, failed(Some("z"))).await;
    let ended = LastRun { worker_id: "w3".into(), started_at, finished_at: Some(b.clock.now()) };
    let row = b.detail(number).await.row;
    assert_eq!((row.status, row.worker_id, row.last_run), (JobStatus::DeadLetter, None, Some(ended.clone())));
    let (filter, page) = (JobFilter::default(), PageRequest::default());
    let listed = b.store.list(&b.ann(), &filter, page).await.unwrap();
    assert_eq!(listed.rows[0].last_run, Some(ended.clone()));
    let browsed = b
        .store
        .browse(&b.ann(), &filter, Browse { sorting: Sorting::default(), after: None, skip: 0, limit: 10 })
        .await
        .unwrap();
    assert_eq!(browsed.jobs[0].row.last_run, Some(ended.clone()));
    let overview = b.store.overview(&b.ann(), b.a).await.unwrap();
    assert_eq!(overview.recent_failures[0].last_run, Some(ended));
}
