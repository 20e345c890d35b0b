//! Composite jobs in a whole worker: what their units do to them, and what becomes of them.

use crate::house::{House, Worker};
use async_trait::async_trait;
use leasehold_queue::{
    Engine,
    params::{ClaimedJob, NewDefinition},
    transition::Failure,
    units::{ProviderSpec, UnitError, UnitOutcome, UnitResult, WorkUnit},
};
use leasehold_types::{
    AttemptOutcome, ErrorClass, JobRef, JobStatus,
    unit::{UnitKind, UnitState, UnitsView},
    view::{JobDetail, RetryPolicy},
};
use leasehold_worker::{
    Ctx, PoolConfig, ProviderBook, Registry,
    composite::{self, Composite, CompositeExecutor, Kit},
    executor::failure,
    providers::{Heard, Provider},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// Does as its payload says, and keeps what it hears.
#[derive(Serialize, Deserialize, Default)]
struct Puppet {
    heard: Vec<String>,
    wanted: usize,
    fail_on_complete: bool,
}

#[async_trait]
impl Composite for Puppet {
    async fn start(&mut self, job: &ClaimedJob, _: &Ctx) -> Result<Vec<WorkUnit>, Failure> {
        let units: Vec<WorkUnit> = job.payload["units"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|request| {
                let provider = request["provider"].as_str().unwrap_or_default();
                WorkUnit::new(UnitKind::Llm, "unit", request.clone()).through(provider)
            })
            .collect();
        self.wanted = job.payload["wanted"].as_u64().map_or(units.len(), |n| n as usize);
        self.fail_on_complete = job.payload["fail_on_complete"] == true;
        Ok(units)
    }

    async fn on_complete(&mut self, _: &Ctx, result: &UnitResult) -> Result<Vec<WorkUnit>, Failure> {
        if self.fail_on_complete {
            return Err(failure("did_not_like_it", ErrorClass::ValidationError, "No."));
        }
        self.heard.push(match &result.outcome {
            Ok(value) => value.to_string(),
            Err(error) => format!("{} after {}", error.code, result.attempts),
        });
        Ok(Vec::new())
    }

    fn done(&self) -> bool {
        self.heard.len() >= self.wanted
    }

    fn status(&self) -> String {
        format!("{} heard", self.heard.len())
    }

    fn result(&self) -> Value {
        json!(self.heard)
    }
}

/// Answers, fails or hangs, as it is asked to.
#[derive(Default)]
struct Oracle {
    calls: AtomicUsize,
}

#[async_trait]
impl Provider for Oracle {
    async fn call(&self, request: &Value, _: &Heard) -> UnitOutcome {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match request["do"].as_str().unwrap_or_default() {
            "hang" => std::future::pending().await,
            "busy" => Err(UnitError::passing("busy", ErrorClass::ModelOverloaded, "Busy.")),
            "refuse" => Err(UnitError::permanent("refused", ErrorClass::ValidationError, "Never.")),
            "panic" => panic!("as asked"),
            "ramble" => Ok(json!("x".repeat(300_000))),
            _ => Ok(json!("fine")),
        }
    }
}

struct Stage {
    house: House,
    oracle: Arc<Oracle>,
    worker: Option<Worker>,
}

impl Stage {
    async fn set() -> Self {
        let house = House::with_commands("").await;
        let oracle = Arc::new(Oracle::default());
        let spec = ProviderSpec {
            name: "oracle".into(),
            kind: UnitKind::Llm,
            is_local: true,
            requests_per_second: 500.0,
            max_concurrency: 8,
            max_retries: 2,
            retry_delay: Duration::from_millis(5),
        };
        house.engine.store().ensure_provider(spec.clone()).await.unwrap();
        house.engine.store().ensure_definition(definition()).await.unwrap();
        let worker = Some(puppeteer(&house, spec, oracle.clone()));
        Self { house, oracle, worker }
    }

    async fn play(&self, payload: Value) -> JobDetail {
        let number = self.house.enqueue("puppet", payload).await;
        self.house.finished(number).await
    }

    async fn units(&self, number: i64) -> UnitsView {
        let scope = leasehold_queue::Scope::system("test");
        self.house.engine.store().units(&scope, JobRef::Number(number), 50).await.unwrap()
    }

    async fn end(mut self) {
        if let Some(worker) = self.worker.take() {
            worker.stop().await;
        }
    }
}

/// A worker that runs puppets and knows one provider.
fn puppeteer(house: &House, spec: ProviderSpec, oracle: Arc<Oracle>) -> Worker {
    let mut book = ProviderBook::default();
    book.insert(spec, oracle);
    let config = PoolConfig { providers: book.names(), ..House::config() };
    let mut registry = Registry::default();
    let kit = Kit::new(house.engine.clone(), Arc::new(book));
    registry.register("tests", "puppet", Arc::new(CompositeExecutor::<Puppet>::new(kit)));
    house.start_with(registry, config)
}

fn definition() -> NewDefinition {
    NewDefinition {
        key: "puppet".into(),
        description: String::new(),
        domain: "tests".into(),
        job_type: "puppet".into(),
        queue: "default".into(),
        executor: "builtin".into(),
        arg_schema: json!({"type": "object"}),
        timeout_seconds: 60,
        max_attempts: 3,
        retry: RetryPolicy::default(),
        stages: vec![],
        limits: Default::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_units_at_all_is_done_at_once() {
    let stage = Stage::set().await;
    let job = stage.play(json!({"units": []})).await;
    assert_eq!((job.row.status, job.result), (JobStatus::Completed, Some(json!([]))));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_units_run_and_every_one_is_heard_once() {
    let stage = Stage::set().await;
    let job = stage.play(json!({"units": vec![json!({}); 40]})).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{job:#?}");
    assert_eq!(job.result.unwrap().as_array().unwrap().len(), 40);
    assert_eq!(stage.oracle.calls.load(Ordering::SeqCst), 40);
    assert_eq!(stage.units(job.row.number).await.counts, [(UnitState::Succeeded, 40)]);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_that_is_too_large_fails_the_job_and_is_not_tried_again() {
    let stage = Stage::set().await;
    let job = stage.play(json!({"units": vec![json!({"do": "ramble"}); 4]})).await;
    assert_eq!(
        (job.row.status, job.row.error_code.as_deref()),
        (JobStatus::Failed, Some("result_too_large"))
    );
    let message = job.error_message.unwrap_or_default();
    assert!(message.contains("1048576"), "{message}");
    assert_eq!((job.result, job.attempts.len()), (None, 1));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_a_result_like_any_other() {
    let stage = Stage::set().await;
    let job =
        stage.play(json!({"units": [{"do": "busy"}, {"do": "refuse"}, {"provider": "ghost"}, {}]})).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{job:#?}");
    let mut heard: Vec<String> = serde_json::from_value(job.result.unwrap()).unwrap();
    heard.sort();
    // Busy three times: the first try and two retries.
    assert_eq!(heard, ["\"fine\"", "busy after 3", "refused after 1", "unknown_provider after 1"]);
    assert_eq!(stage.oracle.calls.load(Ordering::SeqCst), 5);
    let view = stage.units(job.row.number).await;
    assert_eq!(view.counts, [(UnitState::Succeeded, 1), (UnitState::Failed, 3)]);
    assert_eq!(view.rows[0].error_code.as_deref(), Some("busy"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_of_another_worker_sends_the_job_on() {
    let mut stage = Stage::set().await;
    let spec = ProviderSpec {
        name: "faraway".into(),
        kind: UnitKind::Llm,
        is_local: true,
        requests_per_second: 500.0,
        max_concurrency: 8,
        max_retries: 2,
        retry_delay: Duration::from_millis(5),
    };
    // As another worker's start would have written it.
    stage.house.engine.store().ensure_provider(spec.clone()).await.unwrap();
    let units = json!({"units": [{"provider": "faraway"}, {"provider": "oracle"}, {"provider": "oracle"}]});
    let number = stage.house.enqueue("puppet", units).await;
    // More often than it has attempts.
    let four_times = |job: &JobDetail| job.attempts.len() == 4 && job.row.status == JobStatus::Queued;
    let job = stage.house.until(number, four_times).await;
    assert_eq!((job.row.attempts_used, job.failure_timeline.len()), (0, 0), "{job:#?}");
    for attempt in &job.attempts {
        assert_eq!(attempt.outcome, AttemptOutcome::Released);
        assert_eq!(attempt.error_code.as_deref(), Some("provider_elsewhere"));
        assert!(attempt.error_text.as_deref().unwrap().contains("“faraway” is known to another worker"));
    }
    let waits: Vec<f64> = job
        .attempts
        .windows(2)
        .map(|pair| pair[1].started_at.seconds_since(pair[0].finished_at.unwrap()))
        .collect();
    assert!(waits.windows(2).all(|pair| pair[1] > pair[0]), "it comes back less and less often: {waits:?}");
    let counts = stage.units(number).await.counts;
    assert!(counts.contains(&(UnitState::Succeeded, 2)), "what could be done was done first: {counts:?}");
    let diagnosis = stage.house.engine.diagnosis(&stage.house.scope, JobRef::Number(number)).await.unwrap();
    assert!(diagnosis.causes.iter().any(|cause| cause.code == "no_provider"), "{diagnosis:?}");
    stage.worker.take().unwrap().stop().await;
    // As in another process: an engine whose worker has been stopped claims nothing any more.
    let engine = &stage.house.engine;
    let other = Engine::new(engine.store().clone(), engine.clock().clone(), engine.config().clone());
    stage.house.engine = Arc::new(other);
    stage.worker = Some(puppeteer(&stage.house, spec, stage.oracle.clone()));
    let job = stage.house.finished(number).await;
    assert_eq!((job.row.status, job.row.error_code), (JobStatus::Completed, None));
    assert_eq!(stage.oracle.calls.load(Ordering::SeqCst), 3, "nothing was done twice");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_the_job_itself_fails_it() {
    let stage = Stage::set().await;
    let job = stage.play(json!({"units": [{}], "fail_on_complete": true})).await;
    assert_eq!((job.row.status, job.row.error_code.as_deref()), (JobStatus::Failed, Some("did_not_like_it")));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_cannot_go_on_is_a_bug() {
    let stage = Stage::set().await;
    let job = stage.play(json!({"units": [{}], "wanted": 2})).await;
    assert_eq!((job.row.status, job.row.error_code.as_deref()), (JobStatus::Failed, Some("stuck")));
    assert_eq!(job.error_class.as_deref(), Some("internal_bug"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_panics_takes_nobody_with_it() {
    let stage = Stage::set().await;
    let job = stage.play(json!({"units": [{"do": "panic"}]})).await;
    assert_eq!((job.row.status, job.row.error_code.as_deref()), (JobStatus::Failed, Some("provider_panic")));
    assert_eq!(stage.play(json!({"units": [{}]})).await.row.status, JobStatus::Completed);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_stops_calls_at_once_and_drops_the_rest() {
    let stage = Stage::set().await;
    let number = stage.house.enqueue("puppet", json!({"units": vec![json!({"do": "hang"}); 20]})).await;
    while stage.oracle.calls.load(Ordering::SeqCst) < 8 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stage.house.cancel(number).await;
    let job = stage.house.finished(number).await;
    assert_eq!(job.row.status, JobStatus::Cancelled);
    assert_eq!(stage.house.engine.store().sweep_units(100).await.unwrap(), 20);
    assert_eq!(stage.units(number).await.counts, [(UnitState::Dropped, 20)]);
    assert_eq!(stage.house.engine.store().providers().await.unwrap()[0].running, 0);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_leaves_lets_the_next_go_on() {
    let mut stage = Stage::set().await;
    let number = stage.house.enqueue("puppet", json!({"units": [{}, {"do": "hang"}]})).await;
    while stage.units(number).await.count(UnitState::Succeeded) < 1 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stage.worker.take().unwrap().stop().await;
    let job = stage.house.job(number).await;
    assert_eq!(job.row.status, JobStatus::Queued);
    assert_eq!(stage.house.engine.store().sweep_units(100).await.unwrap(), 1);
    assert_eq!(stage.units(number).await.counts, [(UnitState::Queued, 1), (UnitState::Succeeded, 1)]);
    stage.end().await;
}

/// The two kinds that are built in, with the providers that need nothing.
async fn built_in(key: &str, payload: Value) -> JobDetail {
    let house = House::with_commands("").await;
    let sample = include_str!("../../../../providers.toml");
    let guard = House::config().guard_program;
    let book = ProviderBook::parse(sample, Path::new("providers.toml"), &guard).unwrap();
    for spec in book.specs() {
        house.engine.store().ensure_provider(spec.clone()).await.unwrap();
    }
    for definition in composite::definitions() {
        house.engine.store().ensure_definition(definition).await.unwrap();
    }
    let mut registry = Registry::default();
    composite::register(&mut registry, &Kit::new(house.engine.clone(), Arc::new(book)));
    let worker = house.start_with(registry, House::config());
    let number = house.enqueue(key, payload).await;
    let job = house.finished(number).await;
    worker.stop().await;
    job
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_book_is_read_corrected_and_put_together() {
    let pages = json!([{"text": "The har-\nbour is"}, {"file": "scan.png"}, {"text": "quiet  at\nnight."}]);
    let job = built_in("books.ocr-correct", json!({"pages": pages})).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{job:#?}");
    assert_eq!(job.row.progress_message.as_deref(), Some("3 of 3 pages read, 2 corrected"));
    let result = job.result.unwrap();
    assert_eq!(result["text"], "The harbour is\n\nquiet at night.");
    assert_eq!((&result["missing"], &result["uncorrected"]), (&json!([2]), &json!([])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_stays_as_it_was_read_when_nobody_corrects_it() {
    let payload = json!({"pages": [{"text": "two\nlines"}], "llm_provider": "ghost"});
    let job = built_in("books.ocr-correct", payload).await;
    assert_eq!(job.result.unwrap()["uncorrected"], json!([1]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_book_nobody_can_read_fails() {
    let job = built_in("books.ocr-correct", json!({"pages": [{"file": "a.png"}, {"file": "b.png"}]})).await;
    assert_eq!(job.row.error_code.as_deref(), Some("nothing_read"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_is_answered() {
    let job = built_in("decks.ai", json!({"prompt": "Say it\nin one line"})).await;
    assert_eq!(job.row.status, JobStatus::Completed, "{job:#?}");
    let result = job.result.unwrap();
    assert_eq!(result["text"], "Say it in one line");
    assert_eq!(
        (&result["provider"], &result["model"]),
        (&json!("local-llm"), &json!("local, deterministic"))
    );
    assert_eq!(job.row.stage.as_deref(), Some("finalizing"));
}
