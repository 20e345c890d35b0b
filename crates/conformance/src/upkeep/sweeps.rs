//! Rows that contradict themselves, and events nobody needs any more.

use super::{Keeper, assert_counters_are_right, bulk, ended};
use crate::bench::{Bench, NOW, rules};
use leasehold_queue::{
    bulk::BulkAction,
    params::{FinishAnswer, NewJob},
    scope::Scope,
    transition::Ending,
    upkeep::{IntegrityCount, Place},
};
use leasehold_types::JobStatus;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// Everywhere.
async fn sweep(keeper: &Keeper, fix: bool) -> leasehold_queue::StoreResult<IntegrityCount> {
    keeper.sweep_integrity(&Scope::system("test"), &Place::default(), &rules(), fix).await
}

pub async fn a_sound_queue_needs_no_mending(b: Bench, keeper: Keeper) {
    b.quarantined().await;
    ended(&b, Ending::Completed).await;
    b.running().await;
    b.create(b.job(b.a)).await;
    for fix in [false, true] {
        assert_eq!(sweep(&keeper, fix).await.unwrap(), IntegrityCount::default());
    }
}

pub async fn expired_leases_are_counted_and_left_alone(b: Bench, keeper: Keeper) {
    let number = b.running().await.lease.number;
    b.wait(61);
    let count = sweep(&keeper, false).await.unwrap();
    assert_eq!(count, IntegrityCount { leases_on_idle_rows: 0, expired_leases: 1, fixed: 0 });
    assert_eq!(b.status(number).await, JobStatus::Processing);
}

pub async fn expired_leases_are_mended(b: Bench, keeper: Keeper) {
    b.create_many(b.a, 3).await;
    let jobs = b.claim(3).await;
    b.wait(61);
    let count = sweep(&keeper, true).await.unwrap();
    assert_eq!(count, IntegrityCount { leases_on_idle_rows: 0, expired_leases: 3, fixed: 3 });
    assert_eq!(b.status(jobs[0].lease.number).await, JobStatus::Queued);
    assert_eq!(b.finish(&jobs[0].lease, Ending::Completed).await, FinishAnswer::Stale);
    assert_eq!(sweep(&keeper, true).await.unwrap(), IntegrityCount::default());
    assert_counters_are_right(&b).await;
}

pub async fn a_sweep_mends_only_its_place_and_tenant(b: Bench, keeper: Keeper) {
    b.create(b.job(b.a)).await;
    b.create(b.job(b.b)).await;
    let jobs = b.claim(2).await;
    assert_eq!(jobs.len(), 2);
    b.wait(61);
    let elsewhere = Place { queue: Some("elsewhere".into()), ..Place::default() };
    let here = Place { domain: Some(jobs[0].domain.clone()), ..Place::default() };
    let found = keeper.sweep_integrity(&b.ann(), &elsewhere, &rules(), true).await.unwrap();
    assert_eq!(found, IntegrityCount::default());
    let found = keeper.sweep_integrity(&b.ann(), &here, &rules(), true).await.unwrap();
    assert_eq!(found, IntegrityCount { leases_on_idle_rows: 0, expired_leases: 1, fixed: 1 });
    for job in jobs {
        let expected = if job.tenant_id == b.a { JobStatus::Queued } else { JobStatus::Processing };
        assert_eq!(b.status(job.lease.number).await, expected);
    }
}

pub async fn old_events_of_ended_jobs_are_removed(b: Bench, keeper: Keeper) {
    let old = ended(&b, Ending::Completed).await;
    b.wait(86_401);
    let young = ended(&b, Ending::Completed).await;
    assert_eq!(keeper.prune_events(DAY, 100).await.unwrap(), 3);
    assert!(b.kinds(old).await.is_empty());
    assert_eq!(b.kinds(young).await.len(), 3);
    assert_eq!(keeper.prune_events(DAY, 100).await.unwrap(), 0);
}

pub async fn only_a_beginning_is_forgotten(b: Bench, keeper: Keeper) {
    let first = ended(&b, Ending::Completed).await;
    let someday = Some(NOW.plus_secs(86_400 * 365));
    let waiting = b.create(NewJob { available_at: someday, ..b.job(b.a) }).await.number;
    b.wait(86_401);
    let second = ended(&b, Ending::Completed).await;
    bulk(&b, &keeper, BulkAction::Prune { archive: false }).await;
    assert_eq!(
        keeper.prune_events(DAY, 100).await.unwrap(),
        4,
        "whether its job waits, has ended or is gone"
    );
    for number in [first, waiting] {
        assert!(b.kinds(number).await.is_empty());
    }
    assert_eq!(b.kinds(second).await.len(), 3, "they are not old yet");
}

pub async fn the_newest_event_stays(b: Bench, keeper: Keeper) {
    ended(&b, Ending::Completed).await;
    let newest = b.store.outbox_tail().await.unwrap();
    b.wait(86_401);
    assert_eq!(keeper.prune_events(DAY, 100).await.unwrap(), 2);
    assert_eq!(keeper.prune_events(DAY, 100).await.unwrap(), 0);
    assert_eq!(b.store.outbox_tail().await.unwrap(), newest, "a cursor never goes back");
}

pub async fn removing_events_is_bounded(b: Bench, keeper: Keeper) {
    for _ in 0..2 {
        ended(&b, Ending::Completed).await;
    }
    b.wait(86_401);
    ended(&b, Ending::Completed).await;
    let mut removed = Vec::new();
    for _ in 0..3 {
        removed.push(keeper.prune_events(DAY, 4).await.unwrap());
    }
    assert_eq!(removed, [4, 2, 0]);
}
