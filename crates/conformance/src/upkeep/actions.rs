//! What each bulk action does to its jobs: the same moves as the single verbs.

use super::{
    Keeper, apply, assert_counters_are_right, bulk, ended, exists, permanent, plan, request, statuses,
};
use crate::bench::{Bench, NOW};
use leasehold_queue::{
    bulk::BulkAction,
    params::{HowCreated, Idempotency, NewJob, NewLogLine, Wake},
    transition::Ending,
};
use leasehold_types::{JobFilter, JobRef, JobStatus, LogStream, Source, WorkerId};
use std::time::Duration;

const PRUNE: BulkAction = BulkAction::Prune { archive: false };

fn keyed(b: &Bench) -> NewJob {
    NewJob { dedupe_key: Some("k".into()), ..b.job(b.a) }
}

pub async fn cancelling_ends_the_waiting_and_asks_the_running(b: Bench, keeper: Keeper) {
    let parked = b.quarantined().await;
    let running = b.running().await.lease.number;
    let waiting = b.create(b.job(b.a)).await.number;
    assert_eq!(bulk(&b, &keeper, BulkAction::Cancel).await, (3, 0));
    assert_eq!(statuses(&b, &[parked, waiting]).await, [JobStatus::Cancelled; 2]);
    let detail = b.detail(waiting).await;
    assert_eq!(detail.cancellation_reason.as_deref(), Some("spring cleaning"));
    assert_eq!(
        (detail.cancelled_by.as_deref(), detail.row.completed_at),
        (Some("ann@example.org"), Some(b.clock.now()))
    );
    assert_eq!(b.kinds(waiting).await, ["job.created", "job.cancelled"]);
    let detail = b.detail(running).await;
    assert_eq!(
        (detail.row.status, detail.row.cancel_requested_at),
        (JobStatus::Processing, Some(b.clock.now()))
    );
    assert_eq!(b.kinds(running).await.last(), Some(&"job.cancel_requested"));
    assert_eq!(b.store.cancel_requests(&WorkerId("w1".into())).await.unwrap(), [running]);
    assert_counters_are_right(&b).await;
}

pub async fn a_second_request_to_stop_is_skipped(b: Bench, keeper: Keeper) {
    let running = b.running().await.lease.number;
    b.store.cancel(&b.ann(), JobRef::Number(running), Some("first")).await.unwrap();
    assert_eq!(bulk(&b, &keeper, BulkAction::Cancel).await, (0, 1));
    assert_eq!(b.detail(running).await.cancellation_reason.as_deref(), Some("first"));
    assert_eq!(b.kinds(running).await.iter().filter(|k| **k == "job.cancel_requested").count(), 1);
}

pub async fn cancelling_releases_dedupe_keys(b: Bench, keeper: Keeper) {
    b.create(keyed(&b)).await;
    bulk(&b, &keeper, BulkAction::Cancel).await;
    assert_eq!(b.create(keyed(&b)).await.how, HowCreated::Inserted);
}

pub async fn rescheduling_moves_the_moment(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    let later = NOW.plus_secs(300);
    assert_eq!(bulk(&b, &keeper, BulkAction::Reschedule { at: Some(later) }).await, (1, 0));
    assert_eq!(b.detail(number).await.row.available_at, Some(later));
    assert_eq!(b.kinds(number).await, ["job.created", "job.rescheduled"]);
    assert_eq!((b.card(b.a).await.queued, b.card(b.a).await.scheduled), (0, 1));
    assert!(b.claim(1).await.is_empty());
    b.wait(300);
    assert_eq!(b.claim_numbers(1).await, [number]);
    assert_counters_are_right(&b).await;
}

pub async fn rescheduling_to_now_makes_jobs_ready(b: Bench, keeper: Keeper) {
    let late = b.create(NewJob { available_at: Some(NOW.plus_secs(900)), ..b.job(b.a) }).await.number;
    assert!(b.claim(1).await.is_empty());
    assert_eq!(bulk(&b, &keeper, BulkAction::Reschedule { at: None }).await, (1, 0));
    assert_eq!(b.claim_numbers(1).await, [late]);
}

pub async fn retrying_makes_new_jobs_with_parents(b: Bench, keeper: Keeper) {
    let failed = ended(&b, permanent("x")).await;
    let cancelled = ended(&b, Ending::Cancelled).await;
    let completed = ended(&b, Ending::Completed).await;
    let lost = b.running_with(|job| (job.max_attempts, job.priority) = (1, 7)).await;
    b.fail(&lost.lease, "y").await;
    let dead = lost.lease.number;
    assert_eq!(b.status(dead).await, JobStatus::DeadLetter);
    assert_eq!(bulk(&b, &keeper, BulkAction::Retry).await, (3, 0));
    assert!(b.detail(completed).await.children.is_empty());
    for parent in [failed, cancelled, dead] {
        let old = b.detail(parent).await;
        assert!(old.row.status.is_terminal(), "a terminal job stays as it is");
        assert_eq!(old.children.len(), 1);
        let new = b.detail(old.children[0].number).await;
        assert_eq!((new.row.status, new.row.source), (JobStatus::Queued, Source::Manual));
        assert_eq!((&new.payload, new.row.priority), (&old.payload, old.row.priority));
        assert_eq!((new.row.attempt_count, new.row.max_attempts), (0, old.row.max_attempts));
        assert_eq!((new.parent.unwrap().number, new.requested_by.as_str()), (parent, "ann@example.org"));
        assert_eq!(b.kinds(new.row.number).await, ["job.created"]);
    }
    assert_eq!(b.claim(10).await.len(), 3);
    assert_counters_are_right(&b).await;
}

/// As a single retry leaves it behind.
pub async fn a_retry_has_no_dedupe_key(b: Bench, keeper: Keeper) {
    let failed = b.running_with(|job| job.dedupe_key = Some("k".into())).await;
    b.finish(&failed.lease, permanent("x")).await;
    b.create(keyed(&b)).await;
    assert_eq!(bulk(&b, &keeper, BulkAction::Retry).await, (1, 0));
    let new = b.detail(failed.lease.number).await.children[0].number;
    assert_eq!(b.detail(new).await.dedupe_key, None);
}

pub async fn a_retry_of_a_kind_that_is_off_is_skipped(b: Bench, keeper: Keeper) {
    let number = ended(&b, permanent("x")).await;
    b.switch_definition(b.definition.id, false).await;
    assert_eq!(bulk(&b, &keeper, BulkAction::Retry).await, (0, 1));
    assert!(b.detail(number).await.children.is_empty());
}

pub async fn requeueing_brings_quarantined_jobs_back(b: Bench, keeper: Keeper) {
    let number = b.quarantined().await;
    assert_eq!(bulk(&b, &keeper, BulkAction::RequeueQuarantined).await, (1, 0));
    let detail = b.detail(number).await;
    assert_eq!((detail.row.status, detail.row.completed_at), (JobStatus::Queued, None));
    assert_eq!((detail.quarantined_at, detail.row.error_code), (None, None));
    assert_eq!(b.kinds(number).await.last(), Some(&"job.requeued"));
    assert_eq!(b.claim(1).await[0].attempt, 4, "attempt numbers go on");
    assert_counters_are_right(&b).await;
}

pub async fn a_requeue_blocked_by_a_dedupe_key_is_skipped(b: Bench, keeper: Keeper) {
    let blocked = b.quarantined_with(|job| job.dedupe_key = Some("k".into())).await;
    let free = b.quarantined().await;
    b.create(keyed(&b)).await;
    assert_eq!(bulk(&b, &keeper, BulkAction::RequeueQuarantined).await, (1, 1));
    assert_eq!(statuses(&b, &[blocked, free]).await, [JobStatus::Quarantined, JobStatus::Queued]);
}

pub async fn twins_in_quarantine_come_back_one_at_a_time(b: Bench, keeper: Keeper) {
    let first = b.quarantined_with(|job| job.dedupe_key = Some("k".into())).await;
    let second = b.quarantined_with(|job| job.dedupe_key = Some("k".into())).await;
    assert_eq!(bulk(&b, &keeper, BulkAction::RequeueQuarantined).await, (1, 1));
    assert_eq!(statuses(&b, &[first, second]).await, [JobStatus::Queued, JobStatus::Quarantined]);
    assert_counters_are_right(&b).await;
}

pub async fn pruning_removes_attempts_and_logs_too(b: Bench, keeper: Keeper) {
    let job = b.running().await;
    let line = NewLogLine { seq: 1, stream: LogStream::Stdout, text: "hello".into(), at: NOW };
    assert!(b.store.append_logs(&job.lease, job.attempt, vec![line]).await.unwrap());
    b.finish(&job.lease, Ending::Completed).await;
    let number = job.lease.number;
    assert_eq!(bulk(&b, &keeper, PRUNE).await, (1, 0));
    assert!(!exists(&b, number).await);
    assert!(b.store.logs(&b.ann(), JobRef::Number(number), 1, 0, 10).await.unwrap().is_empty());
    assert_eq!(b.kinds(number).await.len(), 4, "events outlive the job");
    assert_eq!(b.card(b.a).await.completed, 0);
    assert_counters_are_right(&b).await;
    assert!(b.create(b.job(b.a)).await.number > number, "numbers are never used again");
}

pub async fn pruning_frees_idempotency_keys(b: Bench, keeper: Keeper) {
    let key = Idempotency { key: "i".into(), payload_hash: "h".into(), expires_at: None };
    let job = b.running_with(|job| job.idempotency = Some(key.clone())).await;
    b.finish(&job.lease, Ending::Completed).await;
    bulk(&b, &keeper, PRUNE).await;
    let again = b.create(NewJob { idempotency: Some(key), ..b.job(b.a) }).await;
    assert_eq!(again.how, HowCreated::Inserted);
}

pub async fn pruning_never_touches_active_jobs(b: Bench, keeper: Keeper) {
    let gone = [ended(&b, Ending::Completed).await, ended(&b, permanent("x")).await, b.quarantined().await];
    let running = b.running().await.lease.number;
    let waiting = b.create(b.job(b.a)).await.number;
    assert_eq!(bulk(&b, &keeper, PRUNE).await, (3, 0));
    for number in gone {
        assert!(!exists(&b, number).await);
    }
    assert_eq!(statuses(&b, &[running, waiting]).await, [JobStatus::Processing, JobStatus::Queued]);
    assert_counters_are_right(&b).await;
}

pub async fn pruning_by_age_spares_the_young(b: Bench, keeper: Keeper) {
    let long_queued = b.create(NewJob { available_at: Some(NOW.plus_secs(900)), ..b.job(b.a) }).await.number;
    let old = ended(&b, Ending::Completed).await;
    b.wait(1_000);
    b.store.cancel(&b.ann(), JobRef::Number(long_queued), Some("why")).await.unwrap();
    let filter = JobFilter { completed_before: Some(NOW.plus_secs(500)), ..JobFilter::default() };
    let plan = keeper.plan_bulk(&b.ann(), request(PRUNE, filter)).await.unwrap();
    assert_eq!(apply(&b, &plan).await.changed, 1);
    assert!(!exists(&b, old).await);
    assert!(exists(&b, long_queued).await, "it was created long ago, but has only just ended");
}

pub async fn pruning_into_the_archive_removes_jobs_too(b: Bench, keeper: Keeper) {
    let numbers = [ended(&b, Ending::Completed).await, b.quarantined().await];
    assert_eq!(bulk(&b, &keeper, BulkAction::Prune { archive: true }).await, (2, 0));
    for number in numbers {
        assert!(!exists(&b, number).await);
    }
    assert_counters_are_right(&b).await;
}

pub async fn bulk_changes_are_in_the_trail(b: Bench, keeper: Keeper) {
    let number = b.create(b.job(b.a)).await.number;
    bulk(&b, &keeper, BulkAction::Cancel).await;
    let trail = b.detail(number).await.trail;
    assert_eq!((trail[0].action.as_str(), trail[0].actor.as_str()), ("job.cancel", "ann@example.org"));
    assert_eq!(trail[0].reason.as_deref(), Some("spring cleaning"));
}

pub async fn bulk_changes_wake_workers(b: Bench, keeper: Keeper) {
    ended(&b, permanent("x")).await;
    b.running().await;
    for (action, expected) in [(BulkAction::Retry, Wake::Jobs), (BulkAction::Cancel, Wake::Cancel)] {
        let plan = plan(&b, &keeper, action).await;
        let mut wakes = b.store.wakes();
        apply(&b, &plan).await;
        let heard = async { while wakes.recv().await.unwrap() != expected {} };
        tokio::time::timeout(Duration::from_secs(5), heard).await.expect("nobody was woken");
    }
}
