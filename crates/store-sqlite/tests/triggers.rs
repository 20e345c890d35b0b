//! What no verb shows of triggers: the plan of a look with nothing due, ten thousand at once, and the audit trail.

mod common;

use leasehold_conformance::{Bench, NOW};
use leasehold_queue::{
    Clock, Engine, EngineConfig,
    engine::{AppEventRequest, EnqueueRequest, TriggerDraft},
};
use leasehold_types::{Source, TriggerKind};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The statement itself, so that what is explained is what runs.
const SOURCE: &str = include_str!("../src/triggers/read.rs");

fn look() -> &'static str {
    let (_, function) = SOURCE.split_once("async fn due").expect("the function is there");
    let (_, statement) = function.split_once("r#\"").expect("with its statement");
    statement.split_once("\"#").expect("which ends").0
}

fn every_minute() -> TriggerDraft {
    TriggerDraft {
        label: Some("Every minute".into()),
        trigger_type: Some(TriggerKind::Schedule),
        cron_expr: Some("* * * * *".into()),
        definition_key: Some("import".into()),
        payload_template: Some(json!({"due": "{{schedule.due_at}}", "by": "{{trigger.id}}"})),
        ..TriggerDraft::default()
    }
}

/// Ten thousand schedules that are due in the same second.
async fn crowd() -> (Bench, Engine, SqliteConnection, TempDir) {
    let clock = Clock::frozen(NOW);
    let (store, folder) = common::fresh_store(clock.clone()).await;
    let engine = Engine::new(store.clone(), clock.clone(), EngineConfig::default());
    let bench = Bench::new(store, clock).await;
    engine.create_trigger(&bench.ann(), bench.a, every_minute()).await.unwrap();
    let mut direct = by_hand(&folder).await;
    direct
        .execute(
            "WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < 9999)
             INSERT INTO job_triggers (id, tenant_id, label, trigger_type, cron_expr, timezone, definition_id,
                    payload_template, next_due_at, created_at, updated_at)
             SELECT format('0192f3c4-0000-7000-8000-%012d', n),
                    CASE n % 2 WHEN 0 THEN (SELECT min(id) FROM tenants) ELSE (SELECT max(id) FROM tenants) END, 'Copy ' || n, trigger_type, cron_expr,
                    timezone, definition_id, payload_template, next_due_at, created_at, updated_at
             FROM job_triggers, copies",
        )
        .await
        .unwrap();
    (bench, engine, direct, folder)
}

async fn by_hand(folder: &TempDir) -> SqliteConnection {
    let url = format!("sqlite:{}", folder.path().join("data/leasehold.db").display());
    SqliteConnection::connect(&url).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_with_nothing_due_is_one_probe_of_an_index() {
    let (_bench, _engine, mut direct, _folder) = crowd().await;
    let explain = format!("EXPLAIN QUERY PLAN {}", look());
    let plan: Vec<(i64, i64, i64, String)> =
        sqlx::query_as(AssertSqlSafe(explain)).bind(NOW.to_string()).fetch_all(&mut direct).await.unwrap();
    let steps: Vec<_> = plan.into_iter().map(|step| step.3).collect();
    assert_eq!(steps.len(), 2, "nothing is sorted: {steps:?}");
    assert!(steps[0].starts_with("SEARCH t USING INDEX job_triggers_due (next_due_at<"), "{steps:?}");
    assert!(steps[1].starts_with("SEARCH d USING"), "{steps:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_schedules_due_at_once_are_enqueued_within_five_seconds() {
    let (bench, engine, mut direct, _folder) = crowd().await;
    bench.wait(60);
    let began = Instant::now();
    let fired = engine.fire_due_triggers("test").await.unwrap();
    let took = began.elapsed();
    let jobs: i64 = sqlx::query_scalar("SELECT count(DISTINCT job_number) FROM trigger_firings")
        .fetch_one(&mut direct)
        .await
        .unwrap();
    assert_eq!((fired, jobs), (10_000, 10_000));
    // A machine that is busy with other things, or a build without optimisation, shows in a plain enqueue as well.
    let plain = Instant::now();
    let requests = (0..10_000).map(|n| EnqueueRequest::new("import", json!({"n": n}), Source::Api)).collect();
    engine.enqueue_many(&bench.ann(), bench.a, requests).await.unwrap();
    let plain = plain.elapsed();
    println!("ten thousand schedules took {took:?}, ten thousand plain jobs {plain:?}");
    assert!(took < Duration::from_secs(5).max(plain * 4), "{took:?}, plain jobs {plain:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_is_in_the_audit_log() {
    let clock = Clock::frozen(NOW);
    let (store, folder) = common::fresh_store(clock.clone()).await;
    let engine = Engine::new(store.clone(), clock.clone(), EngineConfig::default());
    let b = Bench::new(store, clock).await;
    let id = engine.create_trigger(&b.ann(), b.a, every_minute()).await.unwrap().id;
    let label = TriggerDraft { label: Some("x".into()), ..TriggerDraft::default() };
    engine.update_trigger(&b.ann(), id, label).await.unwrap();
    engine.run_trigger(&b.ann(), id, None).await.unwrap();
    engine.delete_trigger(&b.ann(), id).await.unwrap();
    let event = AppEventRequest { name: "a.b".into(), event_id: Some("e1".into()), payload: json!({}) };
    engine.app_event(&b.ann(), b.a, event).await.unwrap();
    let mut direct = by_hand(&folder).await;
    let acts: Vec<(String, String)> = sqlx::query_as("SELECT action, object_id FROM audit_log ORDER BY id")
        .fetch_all(&mut direct)
        .await
        .unwrap();
    let act = |action: &str, object: &str| (action.to_owned(), object.to_owned());
    let id = id.to_string();
    assert_eq!(
        acts,
        [
            act("trigger.create", &id),
            act("trigger.update", &id),
            act("job.create", "1"),
            act("trigger.run", &id),
            act("trigger.delete", &id),
            act("event.receive", "e1"),
        ]
    );
}
