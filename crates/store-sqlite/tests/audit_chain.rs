//! What the audit log's chain shows when somebody changes the log by hand, and what the chain costs.

mod common;

use common::fresh_store;
use leasehold_conformance::{Bench, NOW};
use leasehold_queue::{Clock, Engine, EngineConfig, Scope, scope::Actor};
use leasehold_types::{KeyId, people::ChainState};
use sqlx::{Connection, Executor, SqliteConnection};
use std::time::{Duration, Instant};

/// Six acts, chained, then tampered with.
async fn after(tampering: &[&'static str]) -> ChainState {
    let clock = Clock::frozen(NOW);
    let (store, folder) = fresh_store(clock.clone()).await;
    let b = Bench::new(store, clock.clone()).await;
    for _ in 0..6 {
        b.store.create_jobs(&b.ann(), vec![b.job(b.a)]).await.unwrap();
    }
    b.store.chain_audit(100).await.unwrap();
    let url = format!("sqlite:{}", folder.path().join("data/leasehold.db").display());
    let mut by_hand = SqliteConnection::connect(&url).await.unwrap();
    for statement in tampering {
        by_hand.execute(*statement).await.unwrap();
    }
    let engine = Engine::new(b.store.clone(), clock, EngineConfig::default());
    engine.verify_audit(&Scope::system("test")).await.unwrap()
}

/// Intact up to, and the place of the first broken row.
fn found(state: &ChainState) -> (i64, Option<i64>) {
    (state.intact_up_to, state.broken.as_ref().map(|broken| broken.position))
}

#[tokio::test]
async fn an_untouched_log_is_intact() {
    assert_eq!(found(&after(&[]).await), (6, None));
}

#[tokio::test]
async fn a_changed_row_shows() {
    let state = after(&["UPDATE audit_log SET actor = 'nobody' WHERE position = 3"]).await;
    assert_eq!(found(&state), (2, Some(3)));
    let state = after(&["UPDATE audit_log SET hash = NULL WHERE position = 4"]).await;
    assert_eq!(found(&state), (3, Some(4)));
}

#[tokio::test]
async fn a_removed_row_shows() {
    assert_eq!(found(&after(&["DELETE FROM audit_log WHERE position = 4"]).await), (3, Some(4)));
    assert_eq!(found(&after(&["DELETE FROM audit_log WHERE position = 6"]).await), (5, Some(6)), "the last");
    assert_eq!(found(&after(&["DELETE FROM audit_log"]).await), (0, Some(1)), "all");
    let closed_up =
        ["DELETE FROM audit_log WHERE position = 5", "UPDATE audit_log SET position = 5 WHERE position = 6"];
    assert_eq!(found(&after(&closed_up).await), (4, Some(5)));
}

#[tokio::test]
async fn a_row_slipped_in_shows() {
    let state =
        after(&["INSERT INTO audit_log (actor, action, object_type, object_id, created_at, position, hash)
         SELECT 'ann', 'job.cancel', 'job', '1', created_at, 7, hash FROM audit_log WHERE position = 6"])
        .await;
    assert_eq!(found(&state), (6, Some(7)));
    let moved_up = [
        "UPDATE audit_log SET position = 7 WHERE position = 6",
        "INSERT INTO audit_log (actor, action, object_type, object_id, created_at, position, hash)
         SELECT 'ann', 'job.cancel', 'job', '1', created_at, 6, 'x' FROM audit_log WHERE position = 5",
    ];
    assert_eq!(found(&after(&moved_up).await), (5, Some(6)));
}

#[tokio::test]
async fn rows_in_another_order_show() {
    let swapped = [
        "UPDATE audit_log SET position = -1 WHERE position = 2",
        "UPDATE audit_log SET position = 2 WHERE position = 5",
        "UPDATE audit_log SET position = 5 WHERE position = -1",
    ];
    assert_eq!(found(&after(&swapped).await), (1, Some(2)));
}

#[tokio::test]
async fn a_forged_end_shows() {
    let cut = ["DELETE FROM audit_log WHERE position = 6", "UPDATE audit_chain SET position = 5"];
    assert_eq!(found(&after(&cut).await), (5, Some(5)));
}

/// For people: `--run-ignored only --no-capture`. Eight callers enqueue one by one, with and without the chain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn enqueueing_by_keys_beside_the_chain() {
    for (what, by_key, chained) in [
        ("warm-up, not audited", false, false),
        ("not audited", false, false),
        ("audited, not chained", true, false),
        ("audited and chained", true, true),
        ("audited, not chained", true, false),
        ("audited and chained", true, true),
    ] {
        let clock = Clock::system();
        let (store, _guard) = fresh_store(clock.clone()).await;
        let b = Bench::new(store, clock).await;
        let actor = Actor::Key { id: KeyId(uuid::Uuid::now_v7()), name: "ci".into(), prefix: "p".into() };
        let scope = if by_key { Scope { actor, ..b.ann() } } else { Scope::system("test") };
        let keeper = chained.then(|| {
            let store = b.store.clone();
            tokio::spawn(async move {
                loop {
                    store.chain_audit(1_000).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            })
        });
        let began = Instant::now();
        let callers: Vec<_> = (0..8)
            .map(|_| {
                let (store, scope) = (b.store.clone(), scope.clone());
                let jobs: Vec<_> = (0..500).map(|_| b.job(b.a)).collect();
                tokio::spawn(async move {
                    for job in jobs {
                        store.create_jobs(&scope, vec![job]).await.unwrap();
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.unwrap();
        }
        println!("{what}: {:.0} jobs/s", 4_000.0 / began.elapsed().as_secs_f64());
        if let Some(keeper) = keeper {
            keeper.abort();
        }
    }
}
