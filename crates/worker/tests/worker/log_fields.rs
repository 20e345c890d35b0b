//! What an executor logs says which attempt it belongs to.

use crate::house::House;
use async_trait::async_trait;
use leasehold_queue::{engine::EnqueueRequest, params::ClaimedJob};
use leasehold_types::Source;
use leasehold_worker::{Ctx, Executor, Outcome, Registry};
use serde_json::{Value, json};
use std::{
    io::Write,
    sync::{Arc, Mutex},
};
use tracing_subscriber::fmt::MakeWriter;

const SAID: &str = "half of it is done";

struct Talker;

#[async_trait]
impl Executor for Talker {
    async fn run(&self, _: &ClaimedJob, _: &Ctx) -> Outcome {
        tracing::info!("{SAID}");
        Outcome::completed(None)
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_logged_inside_an_attempt_carries_its_ids() {
    let log = Log::default();
    // As the server logs with JOBS_LOG_JSON.
    tracing_subscriber::fmt().json().with_writer(log.clone()).init();
    let house = House::with_commands("[commands.talk]\nprogram = \"/bin/true\"").await;
    let mut registry = Registry::default();
    registry.register("commands", "talk", Arc::new(Talker));
    let worker = house.start_with(registry, House::config());
    let request = EnqueueRequest {
        request_id: Some("req-7".into()),
        ..EnqueueRequest::new("talk", json!({}), Source::Manual)
    };
    let made = house.engine.enqueue(&house.scope, house.tenant, request).await.unwrap().job;
    let job = house.finished(made.number).await;
    let (worker_id, text) = (worker.id.clone(), String::from_utf8(log.0.lock().unwrap().clone()).unwrap());
    worker.stop().await;
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said = lines.into_iter().find(|line| line["fields"]["message"] == SAID).expect("the line was logged");
    let expected = [
        ("job_id", json!(job.row.id)),
        ("tenant_id", json!(house.tenant)),
        ("definition_key", json!("talk")),
        ("attempt_no", json!(1)),
        ("worker_id", json!(worker_id)),
        ("request_id", json!("req-7")),
        ("trace_id", json!(job.trace_id)),
    ];
    for (field, value) in expected {
        assert_eq!(said["span"][field], value, "{field} in {said}");
    }
}
