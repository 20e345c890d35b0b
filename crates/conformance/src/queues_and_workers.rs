//! Queue control, heartbeats, leadership.

use super::bench::{Bench, NOW};
use leasehold_queue::{
    params::{Heartbeat, QueueControl},
    scope::Scope,
    steering::QueueAction,
};
use leasehold_types::{PageRequest, WorkerId, people::AuditFilter, view::WorkerView};
use serde_json::json;
use std::time::Duration;

fn beat(id: &str) -> Heartbeat {
    Heartbeat {
        worker_id: WorkerId(id.into()),
        hostname: "web-1".into(),
        version: "0.1.0".into(),
        queues: vec!["commands/*".into()],
        commands: vec!["import".into()],
        running_count: 2,
        metadata: json!({"pid": 1}),
        started_at: NOW,
    }
}

async fn listed(b: &Bench) -> Vec<WorkerView> {
    b.store.workers(100).await.unwrap().workers
}

fn control(paused: bool, draining: bool) -> QueueControl {
    QueueControl { domain: "commands".into(), queue: "low".into(), paused, draining }
}

async fn change(b: &Bench, queue: &str, action: QueueAction) -> QueueControl {
    let governor = Scope::terminal("ops");
    b.store.control_queue(&governor, "commands", queue, action, Some("why")).await.unwrap()
}

pub async fn a_queue_is_paused_and_resumed(b: Bench) {
    assert_eq!(change(&b, "low", QueueAction::Pause).await, control(true, false));
    assert_eq!(b.store.queue_controls().await.unwrap(), [control(true, false)]);
    assert_eq!(change(&b, "low", QueueAction::Resume).await, control(false, false));
    assert!(b.store.queue_controls().await.unwrap().iter().all(|c| !c.paused && !c.draining));
    let log = AuditFilter { action: Some("queue.".into()), ..AuditFilter::default() };
    let page = b.store.audit_entries(&Scope::system("test"), &log, PageRequest::default()).await.unwrap();
    let entries: Vec<_> = page.items.iter().map(|e| (e.action.as_str(), e.object_id.as_str())).collect();
    assert_eq!(entries, [("queue.resume", "commands/low"), ("queue.pause", "commands/low")]);
}

pub async fn pause_and_drain_leave_each_other_alone(b: Bench) {
    assert_eq!(change(&b, "low", QueueAction::Pause).await, control(true, false));
    assert_eq!(change(&b, "low", QueueAction::Drain).await, control(true, true));
    assert_eq!(change(&b, "low", QueueAction::Pause).await, control(true, true));
    assert_eq!(change(&b, "low", QueueAction::Resume).await, control(false, false));
}

/// One pauses and one drains at the same moment: both hold.
pub async fn two_who_control_a_queue_at_once_lose_nothing(b: Bench) {
    let b = std::sync::Arc::new(b);
    for round in 0..20 {
        let queue = format!("q{round}");
        let both = [QueueAction::Pause, QueueAction::Drain].map(|action| {
            let (b, queue) = (b.clone(), queue.clone());
            tokio::spawn(async move { change(&b, &queue, action).await })
        });
        for task in both {
            let answer = task.await.unwrap();
            assert!(answer.paused || answer.draining, "it says what holds");
        }
        let now = b.store.queue_controls().await.unwrap().into_iter().find(|c| c.queue == queue).unwrap();
        assert!(now.paused && now.draining, "round {round}: {now:?}");
    }
}

pub async fn controls_are_listed(b: Bench) {
    change(&b, "low", QueueAction::Drain).await;
    change(&b, "high", QueueAction::Pause).await;
    let high = QueueControl { queue: "high".into(), ..control(true, false) };
    assert_eq!(b.store.queue_controls().await.unwrap(), [high, control(false, true)]);
}

pub async fn a_heartbeat_is_shown(b: Bench) {
    b.store.heartbeat(beat("web-1:1:x")).await.unwrap();
    b.wait(5);
    b.store.heartbeat(Heartbeat { running_count: 3, ..beat("web-1:1:x") }).await.unwrap();
    let workers = listed(&b).await;
    assert_eq!(workers.len(), 1);
    let w = &workers[0];
    assert_eq!(
        (w.worker_id.as_str(), w.hostname.as_str(), w.version.as_str()),
        ("web-1:1:x", "web-1", "0.1.0")
    );
    assert_eq!((w.running_count, w.started_at, w.last_seen_at), (3, NOW, NOW.plus_secs(5)));
    assert_eq!((w.queues.len(), w.commands.as_slice(), w.stale), (1, &["import".to_owned()][..], false));
}

pub async fn a_silent_worker_is_stale(b: Bench) {
    b.store.heartbeat(beat("w")).await.unwrap();
    b.wait(15);
    assert!(!listed(&b).await[0].stale);
    b.wait(1);
    assert!(listed(&b).await[0].stale);
}

pub async fn a_worker_gone_for_an_hour_is_removed(b: Bench) {
    b.store.heartbeat(beat("old")).await.unwrap();
    b.wait(3_601);
    b.store.heartbeat(beat("new")).await.unwrap();
    let ids: Vec<_> = listed(&b).await.into_iter().map(|w| w.worker_id).collect();
    assert_eq!(ids, ["new"]);
    assert_eq!(b.store.prune_workers().await.unwrap(), 1);
    assert_eq!(b.store.prune_workers().await.unwrap(), 0, "only the old one");
    assert_eq!(listed(&b).await.len(), 1);
}

pub async fn a_long_list_of_workers_is_cut_and_counted(b: Bench) {
    for n in 0..5 {
        b.store.heartbeat(beat(&format!("w{n}"))).await.unwrap();
        b.wait(5);
    }
    let list = b.store.workers(2).await.unwrap();
    let ids: Vec<_> = list.workers.iter().map(|w| w.worker_id.as_str()).collect();
    assert_eq!(ids, ["w4", "w3"], "the newest sign of life first");
    assert_eq!((list.live, list.stale), (3, 2));
}

/// What it told last is two; its leases know better once it is silent.
pub async fn a_silent_worker_runs_what_it_still_holds(b: Bench) {
    b.create_many(b.a, 3).await;
    b.store.heartbeat(beat("w")).await.unwrap();
    let jobs = b.claim_as("w", 3).await;
    assert_eq!(listed(&b).await[0].running_count, 2);
    b.wait(20);
    let silent = &listed(&b).await[0];
    assert_eq!((silent.running_count, silent.stale), (3, true));
    assert_eq!(silent.silent.as_ref().and_then(|s| s.lease_left_seconds), Some(40));
    b.finish(&jobs[0].lease, leasehold_queue::transition::Ending::Completed).await;
    assert_eq!(listed(&b).await[0].running_count, 2);
    b.wait(40);
    let over = &listed(&b).await[0];
    assert_eq!((over.running_count, over.silent.as_ref().and_then(|s| s.lease_left_seconds)), (0, None));
}

pub async fn a_worker_says_good_bye(b: Bench) {
    b.store.heartbeat(beat("w")).await.unwrap();
    b.store.forget_worker(&WorkerId("w".into())).await.unwrap();
    assert!(listed(&b).await.is_empty());
}

pub async fn leadership_is_exclusive(b: Bench) {
    let ttl = Duration::from_secs(30);
    assert!(b.store.try_lead("sweeps", "p1", ttl).await.unwrap());
    assert!(b.store.try_lead("scheduler", "p1", ttl).await.unwrap(), "another name is another lock");
}

pub async fn leadership_is_kept_by_its_holder(b: Bench) {
    let ttl = Duration::from_secs(30);
    assert!(b.store.try_lead("sweeps", "p1", ttl).await.unwrap());
    b.wait(10);
    assert!(b.store.try_lead("sweeps", "p1", ttl).await.unwrap());
}
