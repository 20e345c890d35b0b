//! Limits: what no verb shows of them, and two processes at one door.

mod common;

use common::{fresh_store, open};
use leasehold_conformance::{Bench, NOW};
use leasehold_queue::{
    Clock, Store,
    gate::{Counted, Extent, Gate, Measure, Refusal},
    params::NewJob,
    scope::Scope,
};
use leasehold_types::{DefinitionLimits, TenantLimits};
use sqlx::{Connection, SqliteConnection};
use std::sync::Arc;
use tokio::{sync::Barrier, task::JoinSet};

fn gate(counted: Counted, extent: Extent, max: i64) -> Gate {
    Gate { measure: Measure { counted, extent }, max, refusal: Refusal::Quota }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_limits_are_in_the_audit_log_and_old_minutes_are_removed() {
    let clock = Clock::frozen(NOW);
    let (store, folder) = fresh_store(clock.clone()).await;
    let b = Bench::new(store, clock).await;
    b.store.set_tenant_limits(&b.ann(), b.a, TenantLimits::default()).await.unwrap();
    b.store.set_definition_limits(&b.ann(), b.definition.id, DefinitionLimits::default()).await.unwrap();
    let url = format!("sqlite:{}", folder.path().join("data/leasehold.db").display());
    let mut by_hand = SqliteConnection::connect(&url).await.unwrap();
    let acts: Vec<(String, String, String)> =
        sqlx::query_as("SELECT actor, action, object_id FROM audit_log ORDER BY id")
            .fetch_all(&mut by_hand)
            .await
            .unwrap();
    let by_ann = |action: &str, object: &str| ("ann@example.org".to_owned(), action.into(), object.into());
    assert_eq!(acts, [by_ann("tenant.limit", "acme"), by_ann("definition.limit", "import")]);

    let rate = vec![gate(Counted::SubmittedThisMinute, Extent::Tenant(b.a), 9)];
    for _ in 0..3 {
        b.create(NewJob { gates: rate.clone(), ..b.job(b.a) }).await;
        b.wait(120);
    }
    let kept: i64 =
        sqlx::query_scalar("SELECT count(*) FROM job_submits").fetch_one(&mut by_hand).await.unwrap();
    assert_eq!(kept, 1);
}

/// Two stores on one file stand for two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_processes_share_seven_places() {
    let clock = Clock::frozen(NOW);
    let (store, folder) = fresh_store(clock.clone()).await;
    let other: Arc<dyn Store> = open(folder.path(), clock.clone()).await;
    let b = Bench::new(store, clock).await;
    let places = vec![gate(Counted::Queued, Extent::Tenant(b.a), 7)];
    let start = Arc::new(Barrier::new(100));
    let mut callers = JoinSet::new();
    for caller in 0..100 {
        let (start, store) = (start.clone(), if caller % 2 == 0 { b.store.clone() } else { other.clone() });
        let job = NewJob { gates: places.clone(), ..b.job(b.a) };
        callers.spawn(async move {
            start.wait().await;
            store.create_jobs(&Scope::system("test"), vec![job]).await.unwrap().remove(0).is_ok()
        });
    }
    assert_eq!(callers.join_all().await.into_iter().filter(|came_in| *came_in).count(), 7);
}
