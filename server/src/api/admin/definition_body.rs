//! A kind of job as the API reads and writes it.

use crate::api::schemas::{Anything, StageShape};
use leasehold_queue::{
    administration::DefinitionChange,
    params::{COMMAND, NewDefinition, REMOTE},
};
use leasehold_types::{
    DefinitionId, DefinitionLimits, Problem, Stage,
    view::{Definition as View, Jitter, RetryPolicy},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The domain of commands unless something else is said.
const COMMANDS: &str = "commands";

/// A definition to be created.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewDefinition)]
pub struct New {
    /// Its name: letters, digits, - _ .
    #[schema(min_length = 1, max_length = 64)]
    key: String,
    #[serde(default)]
    description: String,
    /// `commands`, or `remote` with that executor, unless something else is said.
    domain: Option<String>,
    /// The key unless something else is said.
    job_type: Option<String>,
    /// `default` unless something else is said.
    queue: Option<String>,
    /// `command`: a program of some worker's `commands.toml`, under this key. `remote`: workers over HTTP run it. Left
    /// out, it is `remote` when another domain than `commands` is named, else `command`. What is built in brings its own.
    executor: Option<String>,
    /// The JSON Schema of its payload; without one any object is taken.
    #[schema(value_type = Option<Anything>)]
    arg_schema: Option<Value>,
    #[schema(minimum = 1, maximum = 31_536_000)]
    timeout_seconds: Option<i32>,
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: Option<i32>,
    retry: Option<Retry>,
    #[serde(default)]
    #[schema(value_type = Vec<StageShape>)]
    stages: Vec<Stage>,
    #[serde(default)]
    #[schema(value_type = LimitsShape)]
    limits: DefinitionLimits,
    is_active: Option<bool>,
}

impl New {
    /// The definition, and whether it is on.
    pub fn parts(self) -> Result<(NewDefinition, bool), Problem> {
        check_text(self.arg_schema.as_ref(), self.retry.as_ref(), &self.stages)?;
        let executor = self.executor.unwrap_or_else(|| {
            let of_commands = self.domain.as_deref().is_none_or(|domain| domain == COMMANDS);
            if of_commands { COMMAND.to_owned() } else { REMOTE.to_owned() }
        });
        let domain = if executor == COMMAND { COMMANDS } else { REMOTE };
        let definition = NewDefinition {
            job_type: self.job_type.unwrap_or_else(|| self.key.clone()),
            key: self.key,
            description: self.description,
            domain: self.domain.unwrap_or_else(|| domain.to_owned()),
            queue: self.queue.unwrap_or_else(|| "default".to_owned()),
            executor,
            arg_schema: self.arg_schema.unwrap_or_else(|| json!({"type": "object"})),
            timeout_seconds: self.timeout_seconds.unwrap_or(3_600),
            max_attempts: self.max_attempts.unwrap_or(3),
            retry: self.retry.map(RetryPolicy::from).unwrap_or_default(),
            stages: self.stages,
            limits: self.limits,
        };
        Ok((definition, self.is_active.unwrap_or(true)))
    }
}

/// What no database can keep.
fn check_text(schema: Option<&Value>, retry: Option<&Retry>, stages: &[Stage]) -> Result<(), Problem> {
    let classes = retry.map(|retry| retry.retryable_classes.as_slice()).unwrap_or_default();
    let checks = [
        ("arg_schema", schema.is_some_and(has_nul)),
        ("retry", classes.iter().any(|class| class.contains('\0'))),
        ("stages", stages.iter().any(|stage| stage.name.contains('\0'))),
    ];
    match checks.iter().find(|(_, found)| *found) {
        Some((field, _)) => {
            Err(Problem::invalid(*field, "It contains a NUL character. Nothing was changed."))
        }
        None => Ok(()),
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(map) => map.iter().any(|(key, inner)| key.contains('\0') || has_nul(inner)),
        _ => false,
    }
}

/// What is left out stays as it is.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = DefinitionChange)]
pub struct Change {
    description: Option<String>,
    #[schema(value_type = Option<Anything>)]
    arg_schema: Option<Value>,
    #[schema(minimum = 1, maximum = 31_536_000)]
    timeout_seconds: Option<i32>,
    #[schema(minimum = 1, maximum = 100)]
    max_attempts: Option<i32>,
    retry: Option<Retry>,
    #[schema(value_type = Option<Vec<StageShape>>)]
    stages: Option<Vec<Stage>>,
    /// Replaces all of them.
    #[schema(value_type = Option<LimitsShape>)]
    limits: Option<DefinitionLimits>,
    is_active: Option<bool>,
}

impl TryFrom<Change> for DefinitionChange {
    type Error = Problem;

    fn try_from(change: Change) -> Result<Self, Problem> {
        let stages = change.stages.as_deref().unwrap_or_default();
        check_text(change.arg_schema.as_ref(), change.retry.as_ref(), stages)?;
        Ok(Self {
            description: change.description,
            arg_schema: change.arg_schema,
            timeout_seconds: change.timeout_seconds,
            max_attempts: change.max_attempts,
            retry: change.retry.map(RetryPolicy::from),
            stages: change.stages,
            limits: change.limits,
            is_active: change.is_active,
            queue: None,
        })
    }
}

/// How failures are retried.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[schema(as = RetryPolicy)]
pub struct Retry {
    #[schema(minimum = 0, maximum = 86_400)]
    base_seconds: f64,
    #[schema(minimum = 0, maximum = 86_400)]
    cap_seconds: f64,
    /// `none`, `full` or `decorrelated`.
    #[schema(value_type = String)]
    jitter: Jitter,
    /// When not empty, only these classes are retried.
    retryable_classes: Vec<String>,
}

impl Default for Retry {
    fn default() -> Self {
        RetryPolicy::default().into()
    }
}

impl From<RetryPolicy> for Retry {
    fn from(policy: RetryPolicy) -> Self {
        let RetryPolicy { base_seconds, cap_seconds, jitter, retryable_classes } = policy;
        Self { base_seconds, cap_seconds, jitter, retryable_classes }
    }
}

impl From<Retry> for RetryPolicy {
    fn from(retry: Retry) -> Self {
        let Retry { base_seconds, cap_seconds, jitter, retryable_classes } = retry;
        Self { base_seconds, cap_seconds, jitter, retryable_classes }
    }
}

/// How many may run; what is left out is not limited.
#[derive(ToSchema)]
#[schema(as = DefinitionLimits)]
#[expect(dead_code, reason = "only its shape is described")]
struct LimitsShape {
    #[schema(minimum = 1)]
    max_in_flight: Option<i64>,
    #[schema(minimum = 1)]
    max_in_flight_per_tenant: Option<i64>,
    #[schema(minimum = 1)]
    max_active_per_key: Option<i64>,
    /// `wait` or `reject`.
    key_mode: Option<String>,
}

/// The definitions that were asked for.
#[derive(Serialize, ToSchema)]
pub struct Definitions {
    pub definitions: Vec<Definition>,
}

/// A kind of job: who runs it, with what payload, within which limits.
#[derive(Serialize, ToSchema)]
pub struct Definition {
    #[schema(value_type = Uuid)]
    id: DefinitionId,
    key: String,
    description: String,
    domain: String,
    job_type: String,
    queue: String,
    /// `command`, `builtin` or `remote`.
    executor: String,
    #[schema(value_type = Anything)]
    arg_schema: Value,
    timeout_seconds: i32,
    max_attempts: i32,
    retry: Retry,
    #[schema(value_type = Vec<StageShape>)]
    stages: Vec<Stage>,
    #[schema(value_type = LimitsShape)]
    limits: DefinitionLimits,
    is_active: bool,
}

impl From<View> for Definition {
    fn from(view: View) -> Self {
        Self {
            id: view.id,
            key: view.key,
            description: view.description,
            domain: view.domain,
            job_type: view.job_type,
            queue: view.queue,
            executor: view.executor,
            arg_schema: view.arg_schema,
            timeout_seconds: view.timeout_seconds,
            max_attempts: view.max_attempts,
            retry: view.retry.into(),
            stages: view.stages,
            limits: view.limits,
            is_active: view.is_active,
        }
    }
}
