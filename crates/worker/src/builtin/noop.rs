//! A job that does nothing, for measuring what everything around it costs.

use super::Builtin;
use crate::executor::{Ctx, Halt};
use async_trait::async_trait;
use leasehold_queue::params::{ClaimedJob, NewDefinition};
use leasehold_types::{DefinitionLimits, view::RetryPolicy};
use serde_json::{Value, json};

pub struct Noop;

#[async_trait]
impl Builtin for Noop {
    fn definition(&self) -> NewDefinition {
        NewDefinition {
            key: "leasehold.noop".into(),
            description: "Does nothing, for measuring".into(),
            domain: "leasehold".into(),
            job_type: "noop".into(),
            queue: "default".into(),
            executor: "builtin".into(),
            arg_schema: json!({"type": "object"}),
            timeout_seconds: 60,
            max_attempts: 3,
            retry: RetryPolicy::default(),
            stages: Vec::new(),
            limits: DefinitionLimits::default(),
        }
    }

    async fn run(&self, _: &ClaimedJob, _: &Ctx) -> Result<Option<Value>, Halt> {
        Ok(None)
    }
}
