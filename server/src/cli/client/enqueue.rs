//! `leasehold enqueue`: one new job.

use super::{Target, call::Call, run, show};
use crate::cli::Out;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Args)]
pub struct Enqueue {
    /// The definition: the kind of job.
    definition_key: String,
    /// Its payload, a JSON object.
    #[arg(default_value = "{}", value_parser = object)]
    payload: Value,
    #[arg(long)]
    queue: Option<String>,
    /// 1 comes before 1000.
    #[arg(long)]
    priority: Option<i32>,
    #[arg(long)]
    max_attempts: Option<i32>,
    /// Not before this moment: 2030-01-31T08:00:00Z
    #[arg(long, value_name = "TIME")]
    scheduled_for: Option<String>,
    #[arg(long)]
    dedupe_key: Option<String>,
    #[arg(long)]
    idempotency_key: Option<String>,
    #[arg(long)]
    concurrency_key: Option<String>,
    #[arg(long)]
    correlation_id: Option<String>,
    #[arg(long)]
    owner_user_id: Option<String>,
    #[command(flatten)]
    target: Target,
}

fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("it must be a JSON object, such as {\"seconds\": 3}".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Enqueue {
    pub fn run(self, out: Out) -> ExitCode {
        let mut body = json!({"definition_key": self.definition_key, "payload": self.payload});
        let more = [
            ("queue", self.queue.map(Value::from)),
            ("priority", self.priority.map(Value::from)),
            ("max_attempts", self.max_attempts.map(Value::from)),
            ("scheduled_for", self.scheduled_for.map(Value::from)),
            ("dedupe_key", self.dedupe_key.map(Value::from)),
            ("idempotency_key", self.idempotency_key.map(Value::from)),
            ("concurrency_key", self.concurrency_key.map(Value::from)),
            ("correlation_id", self.correlation_id.map(Value::from)),
            ("owner_user_id", self.owner_user_id.map(Value::from)),
        ];
        for (name, value) in more {
            if let Some(value) = value {
                body[name] = value;
            }
        }
        run(&self.target, Call::post("/jobs", body), out, show::enqueued)
    }
}
