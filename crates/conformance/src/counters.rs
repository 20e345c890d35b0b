//! Counts on the overview: kept by the moves themselves, never by counting jobs.

use super::bench::{Bench, NOW, failed};
use leasehold_queue::{
    params::{Heartbeat, NewJob},
    scope::Scope,
    steering::QueueAction,
    transition::{Ending, Failure},
};
use leasehold_types::{JobRef, WorkerId, browse::KindFilter, view::Overview};
use serde_json::json;

impl Bench {
    async fn overview(&self) -> Overview {
        self.store.overview(&self.ann(), self.a).await.unwrap()
    }

    /// Queued, scheduled, running, completed, failed, dead letter, quarantined, cancelled.
    async fn counts(&self) -> [i64; 8] {
        let c = self.card(self.a).await;
        [c.queued, c.scheduled, c.running, c.completed, c.failed, c.dead_letter, c.quarantined, c.cancelled]
    }
}

pub async fn counts_follow_every_move(b: Bench) {
    let numbers = b.create_many(b.a, 7).await;
    assert_eq!(b.counts().await, [7, 0, 0, 0, 0, 0, 0, 0]);
    let jobs = b.claim(5).await;
    assert_eq!(b.counts().await, [2, 0, 5, 0, 0, 0, 0, 0]);
    b.finish(&jobs[0].lease, Ending::Completed).await;
    b.finish(&jobs[1].lease, Ending::Failed(Failure { retryable: Some(false), ..Failure::default() })).await;
    b.finish(&jobs[2].lease, failed(Some("x"))).await;
    b.finish(&jobs[3].lease, Ending::Cancelled).await;
    b.store.cancel(&b.ann(), JobRef::Number(numbers[6]), Some("why")).await.unwrap();
    assert_eq!(b.counts().await, [1, 1, 1, 1, 1, 0, 0, 2]);
    b.wait(61);
    b.store.reclaim_expired(&super::bench::rules(), 10).await.unwrap();
    b.wait(5);
    assert_eq!(b.counts().await, [3, 0, 0, 1, 1, 0, 0, 2]);
    assert_eq!(b.store.recount().await.unwrap(), 0);
}

/// Ready and scheduled jobs are counted up to ten thousand; when there are more of both, that is the least there are.
pub async fn where_counting_stops_it_is_said(b: Bench) {
    let everything = KindFilter::default();
    b.create_many(b.a, 10_001).await;
    let card = b.card(b.a).await;
    assert_eq!((card.queued, card.scheduled, card.scheduled_capped), (10_001, 0, false));
    let later = |_| NewJob { available_at: Some(NOW.plus_secs(10)), ..b.job(b.a) };
    b.store.create_jobs(&Scope::system("test"), (0..10_001).map(later).collect()).await.unwrap();
    let card = b.card(b.a).await;
    assert_eq!((card.queued, card.scheduled, card.scheduled_capped), (10_002, 10_000, true));
    let kind = b.store.kind_counts(&b.ann(), &everything).await.unwrap().remove(0);
    assert_eq!((kind.queued, kind.scheduled, kind.scheduled_capped), (10_002, 10_000, true));
    b.wait(10);
    let kind = b.store.kind_counts(&b.ann(), &everything).await.unwrap().remove(0);
    assert_eq!((kind.queued, kind.scheduled, kind.scheduled_capped), (20_002, 0, false));
}

pub async fn ready_and_scheduled_are_told_apart(b: Bench) {
    b.create(NewJob { available_at: Some(NOW.plus_secs(10)), ..b.job(b.a) }).await;
    b.create_many(b.a, 2).await;
    assert_eq!(b.counts().await[..2], [2, 1]);
    b.wait(10);
    assert_eq!(b.counts().await[..2], [3, 0], "time alone moves a job from scheduled to ready");
}

/// More than is counted one by one: the smaller part is counted, in every lane of the queue.
pub async fn many_scheduled_jobs_do_not_swallow_the_ready_ones(b: Bench) {
    let later = |_| NewJob { available_at: Some(NOW.plus_secs(10)), ..b.job(b.a) };
    for answer in b.store.create_jobs(&Scope::system("test"), (0..150).map(later).collect()).await.unwrap() {
        answer.unwrap();
    }
    b.create_many(b.a, 5).await;
    b.create(NewJob { priority: 7, ..b.job(b.a) }).await;
    assert_eq!(b.counts().await[..2], [6, 150]);
    b.create_many(b.a, 1_200).await;
    assert_eq!(b.counts().await[..2], [1_206, 150]);
}

pub async fn the_oldest_waiting_job_is_known(b: Bench) {
    assert!(b.overview().await.cards.is_empty());
    b.create(b.job(b.a)).await;
    b.wait(30);
    b.create(b.job(b.a)).await;
    assert_eq!(b.card(b.a).await.oldest_queued_at, Some(NOW));
    b.claim(2).await;
    assert_eq!(b.card(b.a).await.oldest_queued_at, None);
}

pub async fn an_unserved_queue_is_marked(b: Bench) {
    b.create(b.job(b.a)).await;
    assert!(b.card(b.a).await.unserved);
    let beat = Heartbeat {
        worker_id: WorkerId("w".into()),
        hostname: "h".into(),
        version: String::new(),
        queues: vec!["commands/*".into()],
        commands: vec!["import".into()],
        running_count: 0,
        metadata: json!({}),
        started_at: NOW,
    };
    b.store.heartbeat(beat).await.unwrap();
    assert!(!b.card(b.a).await.unserved);
    assert_eq!(b.overview().await.workers_live, 1);
    b.wait(16);
    assert!(b.card(b.a).await.unserved, "a silent worker serves nobody");
    assert_eq!(b.overview().await.workers_live, 0);
}

pub async fn a_paused_queue_is_marked(b: Bench) {
    b.create(b.job(b.a)).await;
    b.control_queue(QueueAction::Pause).await;
    let card = b.card(b.a).await;
    assert!(card.paused && !card.draining);
}

pub async fn folding_changes_no_count(b: Bench) {
    b.create_many(b.a, 10).await;
    for job in b.claim(4).await {
        b.finish(&job.lease, Ending::Completed).await;
    }
    let before = b.card(b.a).await;
    b.store.fold_counters().await.unwrap();
    assert_eq!(b.card(b.a).await, before);
    b.store.fold_counters().await.unwrap();
    b.claim(2).await;
    assert_eq!(b.counts().await, [4, 0, 2, 4, 0, 0, 0, 0]);
}

pub async fn a_recount_finds_nothing_wrong(b: Bench) {
    b.create_many(b.a, 3).await;
    b.create_many(b.b, 2).await;
    b.claim(4).await;
    assert_eq!(b.store.recount().await.unwrap(), 0);
    b.store.fold_counters().await.unwrap();
    assert_eq!(b.store.recount().await.unwrap(), 0);
    assert_eq!(b.counts().await[..3], [1, 0, 2]);
}

pub async fn throughput_is_counted_in_slots(b: Bench) {
    b.create_many(b.a, 3).await;
    let jobs = b.claim(3).await;
    b.finish(&jobs[0].lease, Ending::Completed).await;
    b.wait(10);
    b.finish(&jobs[1].lease, Ending::Completed).await;
    b.finish(&jobs[2].lease, Ending::Failed(Failure { retryable: Some(false), ..Failure::default() })).await;
    for _ in 0..2 {
        let card = b.card(b.a).await;
        assert_eq!((card.finished_per_slot.len(), card.failed_per_slot.len()), (60, 60));
        assert_eq!(
            (card.finished_per_slot[59], card.finished_per_slot[57], card.failed_per_slot[59]),
            (1, 1, 1)
        );
        assert_eq!(card.finished_per_slot.iter().sum::<u32>(), 2);
        b.store.fold_counters().await.unwrap();
    }
}

pub async fn recent_failures_and_running_jobs_are_shown(b: Bench) {
    b.create_many(b.a, 3).await;
    let jobs = b.claim(2).await;
    b.finish(&jobs[0].lease, Ending::Failed(Failure { retryable: Some(false), ..Failure::default() })).await;
    let overview = b.overview().await;
    let numbers = |rows: &[leasehold_types::view::JobRow]| rows.iter().map(|r| r.number).collect::<Vec<_>>();
    assert_eq!(numbers(&overview.recent_failures), [jobs[0].lease.number]);
    assert_eq!(numbers(&overview.running), [jobs[1].lease.number]);
}

pub async fn tenants_are_counted_apart(b: Bench) {
    b.create_many(b.a, 3).await;
    b.create_many(b.b, 2).await;
    assert_eq!((b.card(b.a).await.queued, b.card(b.b).await.queued), (3, 2));
}
