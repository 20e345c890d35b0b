//! Payloads against a definition's schema, within bounds of time and memory: what a check would cost is counted first
//! ([`super::cost`]), small ones are done where they stand, large ones on a few threads of their own.

use super::{
    compile,
    cost::{Cost, TooCostly},
    graph::Graph,
    wording,
};
use crate::payload;
use jsonschema::{Validator, error::ValidationErrorKind};
use leasehold_types::{Problem, ProblemCode};
use serde_json::Value;
use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};
use tokio::sync::Semaphore;

/// Steps for one payload: some tenths of a second.
const MOST_PER_PAYLOAD: u64 = 4_000_000;
/// Steps for all payloads of one call.
const MOST_PER_CALL: u64 = 16_000_000;
/// Up to so many a check is done before another thread would have begun with it.
const FEW: u64 = 2_000;
/// What errors may take in memory.
const LARGEST_ERRORS: u64 = 16 * 1_048_576;
const MOST_ERRORS: usize = 8;
/// Waiting for a thread included. A check that takes longer all the same is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// As many at once as there are cores: more would only be slower.
static THREADS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    Arc::new(Semaphore::new(cores))
});

/// What the checks of one call may still cost together.
#[derive(Debug)]
pub struct Allowance(u64);

impl Default for Allowance {
    fn default() -> Self {
        Self(MOST_PER_CALL)
    }
}

/// A schema that is compiled: that costs more than using it.
pub struct Checker {
    schema: Value,
    schema_size: usize,
    graph: Graph,
    validator: Validator,
}

impl Checker {
    /// The error says what is wrong with the schema.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let (graph, validator) = compile(schema)?;
        let schema_size = payload::bytes(schema);
        Ok(Self { schema: schema.clone(), schema_size, graph, validator })
    }

    pub fn is_of(&self, schema: &Value) -> bool {
        self.schema == *schema
    }

    /// Gives the payload back when it fits.
    pub async fn check(
        self: &Arc<Self>,
        payload: Value,
        allowance: &mut Allowance,
    ) -> Result<Value, Problem> {
        let size = payload::bytes(&payload);
        if let Ok(cost) = self.graph.cost(&payload, size, self.schema_size, FEW.min(allowance.0)) {
            allowance.0 -= cost.steps;
            return self.judge(&payload, cost).map(|()| payload);
        }
        let (budget, checker) = (allowance.0.min(MOST_PER_PAYLOAD), self.clone());
        let within_call = allowance.0 < MOST_PER_PAYLOAD;
        let answer = on_a_thread(move || {
            let counted = checker.graph.cost(&payload, size, checker.schema_size, budget);
            let cost = counted.map_err(|TooCostly| too_costly(size, within_call))?;
            checker.judge(&payload, cost).map(|()| (payload, cost.steps))
        });
        let (payload, steps) = answer.await?;
        allowance.0 = allowance.0.saturating_sub(steps);
        Ok(payload)
    }

    /// The same at once, for what is known to be small.
    pub fn check_now(&self, payload: &Value) -> Result<(), Problem> {
        let size = payload::bytes(payload);
        let counted = self.graph.cost(payload, size, self.schema_size, MOST_PER_PAYLOAD);
        self.judge(payload, counted.map_err(|TooCostly| too_costly(size, false))?)
    }

    /// What can be said of a payload whose values are not known yet: members that are missing, and members too many.
    pub fn check_frame(&self, template: &Value) -> Result<(), Problem> {
        use ValidationErrorKind::{AdditionalProperties, Required};
        let size = payload::bytes(template);
        let counted = self.graph.cost(template, size, self.schema_size, MOST_PER_PAYLOAD);
        let cost = counted.map_err(|TooCostly| too_costly(size, false))?;
        if cost.errors > LARGEST_ERRORS {
            // Each payload made of it is checked when it is made.
            return Ok(());
        }
        let about_members = self
            .validator
            .iter_errors(template)
            .filter(|error| matches!(error.kind(), Required { .. } | AdditionalProperties { .. }));
        let mut errors = about_members.take(MOST_ERRORS).peekable();
        if errors.peek().is_none() { Ok(()) } else { Err(errors.fold(does_not_fit(""), with)) }
    }

    /// Whether it fits is asked first, because that takes no memory. Then as much is said about what is wrong as can be
    /// said cheaply: the validator collects all errors before it hands out the first.
    fn judge(&self, payload: &Value, cost: Cost) -> Result<(), Problem> {
        if self.validator.is_valid(payload) {
            return Ok(());
        }
        if cost.errors <= LARGEST_ERRORS {
            let errors = self.validator.iter_errors(payload);
            return Err(errors.take(MOST_ERRORS).fold(does_not_fit(""), with));
        }
        if cost.first_error <= LARGEST_ERRORS
            && let Err(first) = self.validator.validate(payload)
        {
            return Err(with(
                does_not_fit(" This is the first thing that is wrong; there may be more."),
                first,
            ));
        }
        Err(does_not_fit(
            " It is too large to say where: please check it against the schema of its definition.",
        ))
    }
}

fn does_not_fit(more: &str) -> Problem {
    let detail = format!("The payload does not fit.{more} Nothing was enqueued.");
    Problem::new(ProblemCode::InvalidPayload, detail)
}

fn with(problem: Problem, error: jsonschema::ValidationError<'_>) -> Problem {
    let (field, message) = wording::of_payload(&error);
    problem.with_field(field, message)
}

fn too_costly(size: usize, within_call: bool) -> Problem {
    let what = if within_call { "together with the others of this call " } else { "" };
    let message = format!(
        "Checking this payload of {size} bytes against the schema of its definition {what}would take too long. Send \
         less at once, or have the definition's schema made simpler. Nothing was enqueued."
    );
    Problem::new(ProblemCode::InvalidPayload, message.clone()).with_field("payload", message)
}

async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let task = async {
        let place = THREADS.clone().acquire_owned().await.map_err(|_| busy())?;
        let run = tokio::task::spawn_blocking(move || {
            // Held until it is done, also when nobody waits for it any more.
            let _place = place;
            work()
        });
        run.await.map_err(|_| Problem::new(ProblemCode::Internal, "The payload could not be checked."))?
    };
    tokio::time::timeout(PATIENCE, task).await.unwrap_or_else(|_| Err(busy()))
}

fn busy() -> Problem {
    let detail =
        "Too many large payloads are being checked right now. Nothing was enqueued; please try again.";
    Problem::new(ProblemCode::Unavailable, detail).retry_after(1)
}
