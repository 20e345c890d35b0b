//! The outbox: every committed event, once, in order.

use super::bench::Bench;
use leasehold_queue::{
    params::{OutboxCursor, Wake},
    scope::Scope,
    transition::Ending,
};
use leasehold_types::LiveKind;
use std::time::Duration;

pub async fn events_come_in_order_and_once(b: Bench) {
    b.create_many(b.a, 5).await;
    for job in b.claim(5).await {
        b.finish(&job.lease, Ending::Completed).await;
    }
    let events = b.events().await;
    assert_eq!(events.len(), 15);
    assert!(events.windows(2).all(|w| w[0].event.id < w[1].event.id));
}

pub async fn the_tail_is_the_newest(b: Bench) {
    b.create_many(b.a, 5).await;
    let tail = b.store.outbox_tail().await.unwrap();
    assert_eq!(Some(tail), b.events().await.last().map(|e| e.event.id));
    let number = b.create(b.job(b.a)).await.number;
    let mut cursor = OutboxCursor { after: tail, gap: None };
    let news = b.store.read_outbox(&mut cursor, 10).await.unwrap();
    assert_eq!(news.iter().map(|e| e.event.number).collect::<Vec<_>>(), [number]);
    assert!(b.store.read_outbox(&mut cursor, 10).await.unwrap().is_empty());
}

pub async fn a_limit_pages_the_outbox(b: Bench) {
    b.create_many(b.a, 7).await;
    let mut cursor = OutboxCursor::default();
    let mut sizes = Vec::new();
    for _ in 0..4 {
        sizes.push(b.store.read_outbox(&mut cursor, 3).await.unwrap().len());
    }
    assert_eq!(sizes, [3, 3, 1, 0]);
}

pub async fn events_are_replayed_within_a_scope(b: Bench) {
    b.create_many(b.a, 3).await;
    b.create_many(b.b, 2).await;
    let tail = b.store.outbox_tail().await.unwrap();
    let mine = b.store.events(&b.ann(), 0, tail, 100).await.unwrap();
    assert_eq!((mine.len(), mine.iter().all(|e| e.tenant_id == b.a)), (3, true));
    let later = b.store.events(&b.ann(), mine[0].event.id, mine[1].event.id, 100).await.unwrap();
    assert_eq!(later, mine[1..2]);
    assert_eq!(b.store.events(&Scope::system("test"), 0, tail, 4).await.unwrap().len(), 4);
}

pub async fn events_carry_what_a_page_needs(b: Bench) {
    let job = b.running().await;
    b.fail(&job.lease, "boom").await;
    let event = b.events().await.pop().unwrap().event;
    assert_eq!((event.kind, event.attempt), (LiveKind::Retrying, 1));
    assert_eq!(
        (event.domain.as_str(), event.queue.as_str(), event.job_type.as_str()),
        ("commands", "default", "import")
    );
    assert_eq!((event.error_code.as_deref(), event.at), (Some("boom"), b.clock.now()));
}

pub async fn the_oldest_event_is_known(b: Bench) {
    assert_eq!(b.store.oldest_event().await.unwrap(), 0);
    b.create_many(b.a, 2).await;
    let oldest = b.store.oldest_event().await.unwrap();
    assert_eq!(Some(oldest), b.events().await.first().map(|e| e.event.id));
}

pub async fn a_refused_write_leaves_no_event(b: Bench) {
    let job = b.running().await;
    b.finish(&job.lease, Ending::Completed).await;
    let before = b.events().await.len();
    b.finish(&job.lease, Ending::Completed).await;
    b.store.renew(vec![super::bench::renewal(&job.lease)]).await.unwrap();
    let _ = b.store.create_jobs(&b.bob(), vec![b.job(b.a)]).await.unwrap();
    assert_eq!(b.events().await.len(), before);
}

pub async fn wakes_follow_events(b: Bench) {
    let job = b.running().await;
    let mut wakes = b.store.wakes();
    b.finish(&job.lease, Ending::Completed).await;
    let events = async { while wakes.recv().await.unwrap() != Wake::Events {} };
    tokio::time::timeout(Duration::from_secs(5), events).await.expect("listeners were not woken");
}
