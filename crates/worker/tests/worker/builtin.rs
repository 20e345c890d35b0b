//! Handlers in Rust: what they keep outlives them, and a worker that lost its lease keeps nothing.

use crate::house::{House, On};
use async_trait::async_trait;
use leasehold_queue::{
    attachments::Attachment,
    params::{ClaimedJob, NewDefinition},
};
use leasehold_types::{DefinitionLimits, JobRef, JobStatus, Stage, view::RetryPolicy};
use leasehold_worker::{
    Ctx, Halt, Registry,
    builtin::{
        Builtin,
        compute::{Share, on_a_thread},
        register,
    },
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::Notify;

/// Three steps, each with a file and a checkpoint; the first attempt is held up after the second step.
#[derive(Default)]
struct Steps {
    done: Mutex<Vec<(i32, i64)>>,
    /// How the call ended that a held-up attempt made when it was let go.
    late: Mutex<Option<Result<(), Halt>>>,
    held_up: Notify,
    go_on: Notify,
}

fn definition(job_type: &str) -> NewDefinition {
    NewDefinition {
        key: job_type.into(),
        description: "A handler of a test.".into(),
        domain: "test".into(),
        job_type: job_type.into(),
        queue: "default".into(),
        executor: "builtin".into(),
        arg_schema: json!({"type": "object"}),
        timeout_seconds: 60,
        max_attempts: 3,
        retry: RetryPolicy::default(),
        stages: vec![Stage { name: "stepping".into(), from: 0, to: 100 }],
        limits: DefinitionLimits::default(),
    }
}

#[async_trait]
impl Builtin for Steps {
    fn definition(&self) -> NewDefinition {
        definition("steps")
    }

    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Result<Option<Value>, Halt> {
        let from = job.checkpoint.as_ref().and_then(|c| c["done"].as_i64()).unwrap_or(0);
        for step in from..3 {
            ctx.stage("stepping")?;
            self.done.lock().unwrap().push((job.attempt, step));
            let text = format!("step {step} of attempt {}", job.attempt);
            ctx.attach(&format!("{step}.txt"), "text/plain", text.into_bytes()).await?;
            ctx.checkpoint(json!({"done": step + 1})).await?;
            if (job.attempt, step) == (1, 1) {
                self.held_up.notify_one();
                self.go_on.notified().await;
                let late = ctx.attach("0.txt", "text/plain", b"too late".to_vec()).await.map(drop);
                *self.late.lock().unwrap() = Some(late.clone());
                late?;
            }
        }
        Ok(Some(json!({"from": from})))
    }
}

/// A worker for one handler, with a lease short enough to wait for its end.
fn config() -> leasehold_worker::PoolConfig {
    let mut config = House::config();
    config.lease = Duration::from_secs(2);
    config
}

async fn registry(house: &House, handler: Arc<dyn Builtin>) -> Registry {
    house.engine.store().ensure_definition(handler.definition()).await.unwrap();
    let mut registry = Registry::default();
    register(&mut registry, handler);
    registry
}

async fn text_of(house: &House, number: i64, name: &str) -> String {
    let files = house.engine.store().attachments(&house.scope, JobRef::Number(number)).await.unwrap();
    let file = files.iter().find(|file| file.name == name).unwrap_or_else(|| panic!("{name}: {files:?}"));
    let Attachment { bytes, .. } =
        house.engine.store().attachment(&house.scope, file.id).await.unwrap().unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn a_killed_handler_goes_on_where_its_checkpoint_stands(database: On) {
    let house = House::on(database).await;
    let steps = Arc::new(Steps::default());
    let first = house.start_with(registry(&house, steps.clone()).await, config());
    let number = house.enqueue("steps", json!({})).await;
    steps.held_up.notified().await;
    first.vanish();
    house.reclaimed(number).await;

    let second = house.start_with(registry(&house, steps.clone()).await, config());
    let job = house.finished(number).await;
    assert_eq!((job.row.status, job.attempts.len()), (JobStatus::Completed, 2));
    assert_eq!(job.result, Some(json!({"from": 2})));
    assert_eq!(*steps.done.lock().unwrap(), [(1, 0), (1, 1), (2, 2)], "nothing was done twice");

    // The first worker was not dead after all: whatever it writes now is refused, and it hears so.
    steps.go_on.notify_one();
    house.until(number, |_| steps.late.lock().unwrap().is_some()).await;
    assert_eq!(*steps.late.lock().unwrap(), Some(Err(Halt::Stopped)));
    assert_eq!(text_of(&house, number, "0.txt").await, "step 0 of attempt 1");
    assert_eq!(text_of(&house, number, "2.txt").await, "step 2 of attempt 2");
    second.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_handler_goes_on_where_its_checkpoint_stands_sqlite() {
    a_killed_handler_goes_on_where_its_checkpoint_stands(On::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_handler_goes_on_where_its_checkpoint_stands_postgres() {
    a_killed_handler_goes_on_where_its_checkpoint_stands(On::Postgres).await;
}

/// Blocks its thread for longer than the lease.
struct Computes;

#[async_trait]
impl Builtin for Computes {
    fn definition(&self) -> NewDefinition {
        definition("computes")
    }

    async fn run(&self, _: &ClaimedJob, ctx: &Ctx) -> Result<Option<Value>, Halt> {
        ctx.stage("stepping")?;
        let told = on_a_thread(ctx, "stepping", Share::WHOLE, |meter| {
            let mut steps = 0;
            while steps < 60 && meter.tell(steps, 60).is_continue() {
                std::thread::sleep(Duration::from_millis(50));
                steps += 1;
            }
            steps
        });
        let steps = told.await?;
        if steps < 60 { Err(Halt::Stopped) } else { Ok(Some(json!({"steps": steps}))) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_computing_handler_does_not_cost_its_lease() {
    let house = House::on(On::Sqlite).await;
    let worker = house.start_with(registry(&house, Arc::new(Computes)).await, config());
    let number = house.enqueue("computes", json!({})).await;
    let halfway = house.until(number, |job| job.row.progress > 20).await;
    assert_eq!(halfway.row.stage.as_deref(), Some("stepping"));
    let job = house.finished(number).await;
    assert_eq!((job.row.status, job.attempts.len()), (JobStatus::Completed, 1));
    assert_eq!(job.result, Some(json!({"steps": 60})));
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_reaches_a_computing_handler() {
    let house = House::on(On::Sqlite).await;
    let worker = house.start_with(registry(&house, Arc::new(Computes)).await, config());
    let number = house.enqueue("computes", json!({})).await;
    house.until(number, |job| job.row.progress > 0).await;
    house.cancel(number).await;
    let job = house.finished(number).await;
    assert_eq!(job.row.status, JobStatus::Cancelled);
    assert!(job.row.progress < 100, "{:?}", job.row);
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_not_be_kept_fails_the_job_at_once() {
    struct BadName;
    #[async_trait]
    impl Builtin for BadName {
        fn definition(&self) -> NewDefinition {
            definition("bad-name")
        }
        async fn run(&self, _: &ClaimedJob, ctx: &Ctx) -> Result<Option<Value>, Halt> {
            ctx.attach("../escape", "text/plain", Vec::new()).await?;
            Ok(None)
        }
    }
    let house = House::on(On::Sqlite).await;
    let worker = house.start_with(registry(&house, Arc::new(BadName)).await, config());
    let job = house.finished(house.enqueue("bad-name", json!({})).await).await;
    assert_eq!((job.row.status, job.attempts.len()), (JobStatus::Failed, 1));
    assert_eq!(job.error_class.as_deref(), Some("validation_error"));
    worker.stop().await;
}
