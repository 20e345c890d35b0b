//! Gates under real concurrency: a hundred callers, seven places.

use super::{bench::Bench, gates::gate};
use leasehold_queue::{
    gate::{Counted, Extent, Gate},
    params::NewJob,
    scope::Scope,
};
use std::sync::Arc;
use tokio::{sync::Barrier, task::JoinSet};

const CALLERS: usize = 100;
const PLACES: i64 = 7;

/// Everybody starts at the same moment; how many came in, and what the others were told.
async fn race(b: &Arc<Bench>, make: impl Fn(&Bench, usize) -> NewJob) -> (usize, Vec<&'static str>) {
    let start = Arc::new(Barrier::new(CALLERS));
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (b, start, job) = (b.clone(), start.clone(), make(b, caller));
        callers.spawn(async move {
            start.wait().await;
            b.try_create(job).await
        });
    }
    let answers = callers.join_all().await;
    let refused = answers.iter().filter_map(|a| a.as_ref().err()).map(|p| p.code.as_str()).collect();
    (answers.iter().filter(|a| a.is_ok()).count(), refused)
}

async fn exactly_seven(b: Bench, gates: Vec<Gate>, code: &str, change: impl Fn(&mut NewJob)) {
    let b = Arc::new(b);
    let (made, refused) = race(&b, |b, _| {
        let mut job = b.behind(&gates);
        change(&mut job);
        job
    })
    .await;
    assert_eq!(made, PLACES as usize);
    assert!(refused.iter().all(|refused| *refused == code), "{refused:?}");
    assert_eq!(b.card(b.a).await.queued, PLACES);
    assert_eq!(b.events().await.len(), PLACES as usize);
    assert_eq!(b.store.recount().await.unwrap(), 0);
}

pub async fn seven_of_a_hundred_may_wait(b: Bench) {
    let gates = vec![gate(Counted::Queued, Extent::Tenant(b.a), PLACES)];
    exactly_seven(b, gates, "QUOTA_EXCEEDED", |_| {}).await;
}

pub async fn seven_of_a_hundred_fit_into_the_minute(b: Bench) {
    let gates = vec![gate(Counted::SubmittedThisMinute, Extent::Tenant(b.a), PLACES)];
    exactly_seven(b, gates, "QUOTA_EXCEEDED", |_| {}).await;
}

pub async fn seven_of_a_hundred_may_hold_a_key(b: Bench) {
    let gates = vec![gate(Counted::Active, b.key(b.a, "doc"), PLACES)];
    exactly_seven(b, gates, "CONCURRENCY_LIMIT", |job| job.concurrency_key = Some("doc".into())).await;
}

pub async fn seven_of_a_hundred_jobs_of_one_owner_may_wait(b: Bench) {
    let gates =
        vec![gate(Counted::Queued, Extent::Owner { tenant: b.a, owner: "u".into(), domain: None }, PLACES)];
    exactly_seven(b, gates, "QUOTA_EXCEEDED", |job| job.owner_user_id = Some("u".into())).await;
}

pub async fn seven_of_a_hundred_fit_below_the_watermark(b: Bench) {
    let queue = Extent::Queue { domain: "commands".into(), queue: "default".into() };
    let gates = vec![gate(Counted::Queued, queue, PLACES)];
    exactly_seven(b, gates, "QUEUE_OVERLOADED", |_| {}).await;
}

/// A replay that waited behind the first post for the only place is still a replay.
pub async fn a_hundred_posts_of_one_key_for_one_place_make_one_job_and_no_refusal(b: Bench) {
    let b = Arc::new(b);
    let gates = [gate(Counted::Queued, Extent::Tenant(b.a), 1)];
    let (made, refused) = race(&b, |b, _| NewJob { dedupe_key: Some("d".into()), ..b.behind(&gates) }).await;
    assert_eq!((made, refused.len()), (CALLERS, 0));
    assert_eq!(b.card(b.a).await.queued, 1);
}

/// Batches that name the same extents in opposite order must not wait for each other for ever.
pub async fn batches_with_gates_in_any_order_all_come_to_an_end(b: Bench) {
    let b = Arc::new(b);
    let owners = ["u1", "u2", "u3", "u4", "u5"];
    let owned = |b: &Bench, owner: &str| NewJob {
        owner_user_id: Some(owner.into()),
        ..b.behind(&[gate(
            Counted::Queued,
            Extent::Owner { tenant: b.a, owner: owner.into(), domain: None },
            PLACES,
        )])
    };
    let mut callers = JoinSet::new();
    for caller in 0..20 {
        let b = b.clone();
        let mut jobs: Vec<_> = owners.iter().map(|owner| owned(&b, owner)).collect();
        if caller % 2 == 1 {
            jobs.reverse();
        }
        callers.spawn(async move { b.store.create_jobs(&Scope::system("test"), jobs).await.unwrap() });
    }
    let answers: Vec<_> = callers.join_all().await.into_iter().flatten().collect();
    assert_eq!(answers.iter().filter(|a| a.is_ok()).count(), owners.len() * PLACES as usize);
}
