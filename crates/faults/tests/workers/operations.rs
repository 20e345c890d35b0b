//! `kill -9` in the middle of a bulk operation: the next process carries it on, and every job is done exactly once.

use crate::{
    Ground,
    crew::{Member, definition, enqueue, job},
    scope,
};
use leasehold_queue::{
    bulk::{BulkAction, BulkRequest},
    steering::QueueAction,
};
use leasehold_types::{
    JobFilter, JobStatus,
    view::{BulkOperation, BulkState},
};
use serde_json::json;
use std::time::{Duration, Instant};

const JOBS: usize = 5_000;
/// Who applies is killed when so many are done.
const KILLED_AT: [i64; 3] = [500, 1_500, 3_000];
const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn ordeal(ground: Ground) {
    let mut member = Member::start(&ground, LEASE);
    let toil = definition(&ground, "toil").await;
    // What is retried must stay where it can be counted.
    let (domain, queue) = (toil.domain.as_str(), "default");
    ground.store.control_queue(&scope(), domain, queue, QueueAction::Pause, None).await.unwrap();
    let parents = enqueue(&ground, &toil, json!({"seconds": 0}), JOBS).await;
    cancel_all(&ground).await;
    let retry = plan(&ground, BulkAction::Retry).await;
    assert_eq!(retry.planned, JOBS as i64);
    ground.store.begin_bulk(&scope(), retry.id).await.unwrap();
    let mut in_the_middle = 0;
    for at in KILLED_AT {
        let seen = until(&ground, &retry, |now| now.changed >= at).await;
        member.kill();
        in_the_middle += usize::from(seen.state == BulkState::Applying);
        member = Member::start(&ground, LEASE);
    }
    let done = until(&ground, &retry, |now| now.state != BulkState::Applying).await;
    assert_eq!((done.state, done.changed, done.skipped), (BulkState::Done, JOBS as i64, 0));
    println!("{in_the_middle} of {} kills came in the middle of it", KILLED_AT.len());
    assert!(in_the_middle > 0, "it was over before anybody was killed");
    for number in parents {
        let parent = job(&ground, number).await;
        assert_eq!((parent.row.status, parent.children.len()), (JobStatus::Cancelled, 1), "job {number}");
    }
    assert_eq!(plan(&ground, BulkAction::Cancel).await.planned, JOBS as i64, "no job has no parent");
    assert_eq!(ground.store.recount().await.unwrap(), 0, "the counters must equal a recount");
}

async fn plan(ground: &Ground, action: BulkAction) -> BulkOperation {
    let request =
        BulkRequest { action, filter: JobFilter::default(), reason: "faults".into(), top_groups: 0 };
    ground.store.plan_bulk(&scope(), request).await.unwrap()
}

async fn cancel_all(ground: &Ground) {
    let cancel = plan(ground, BulkAction::Cancel).await;
    ground.store.begin_bulk(&scope(), cancel.id).await.unwrap();
    let done = until(ground, &cancel, |now| now.state != BulkState::Applying).await;
    assert_eq!(done.changed, JOBS as i64);
}

async fn until(
    ground: &Ground,
    operation: &BulkOperation,
    reached: impl Fn(&BulkOperation) -> bool,
) -> BulkOperation {
    let began = Instant::now();
    loop {
        let now = ground.store.bulk_operation(&scope(), operation.id).await.unwrap();
        if reached(&now) {
            return now;
        }
        assert!(began.elapsed() < PATIENCE, "stuck: {now:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
