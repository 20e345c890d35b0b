//! `decks/ai`: one prompt, one answer, through whichever provider has room.
//!
//! A single unit is a composite job too: it is rate-limited with all others, and an answer that has come is never asked
//! for again.

use super::{Composite, News};
use crate::executor::{Ctx, failure};
use async_trait::async_trait;
use leasehold_queue::{
    params::{ClaimedJob, NewDefinition},
    progress::ProgressReport,
    transition::Failure,
    units::{UnitError, UnitResult, WorkUnit},
};
use leasehold_types::{
    DefinitionLimits, ErrorClass, Stage,
    unit::UnitKind,
    view::{Jitter, RetryPolicy},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const STAGES: [(&str, u8, u8); 4] = [
    ("preparing_context", 0, 10),
    ("sending_prompt", 10, 20),
    ("streaming_response", 20, 95),
    ("finalizing", 95, 100),
];
/// An answer of this length is half-way through its stage; nobody knows how long one will be.
const HALF_WAY: usize = 1_500;

#[derive(Serialize, Deserialize, Default)]
pub struct Ai {
    answer: Option<Value>,
}

#[derive(Deserialize)]
struct Prompt {
    prompt: String,
    system: Option<String>,
    context: Option<String>,
    #[serde(default)]
    provider: String,
    max_tokens: Option<u32>,
}

pub fn definition() -> NewDefinition {
    let text = |title: &str| json!({"type": "string", "contentMediaType": "text/plain", "title": title});
    NewDefinition {
        key: "decks.ai".into(),
        description: "Asks a language model, for a deck or a part of it".into(),
        domain: "decks".into(),
        job_type: "ai".into(),
        queue: "default".into(),
        executor: "builtin".into(),
        arg_schema: json!({
            "type": "object",
            "properties": {
                "prompt": {"type": "string", "contentMediaType": "text/plain", "minLength": 1, "title": "Prompt"},
                "system": text("How the model should behave"),
                "context": text("The text the prompt is about"),
                "provider": {"type": "string", "title": "Provider", "description": "Empty = the least loaded"},
                "max_tokens": {"type": "integer", "minimum": 1, "maximum": 100_000, "title": "Longest answer"}
            },
            "required": ["prompt"],
            "additionalProperties": false
        }),
        timeout_seconds: 600,
        max_attempts: 2,
        retry: RetryPolicy {
            base_seconds: 1.0,
            cap_seconds: 10.0,
            jitter: Jitter::Decorrelated,
            retryable_classes: ["model_overloaded", "network_timeout", "rate_limited"].map(Into::into).into(),
        },
        stages: STAGES.map(|(name, from, to)| Stage { name: name.into(), from, to }).into(),
        limits: DefinitionLimits::default(),
    }
}

#[async_trait]
impl Composite for Ai {
    async fn start(&mut self, job: &ClaimedJob, ctx: &Ctx) -> Result<Vec<WorkUnit>, Failure> {
        stage(ctx, "preparing_context", 0, "Putting the prompt together");
        let prompt: Prompt = serde_json::from_value(job.payload.clone()).map_err(|error| {
            failure("bad_payload", ErrorClass::ValidationError, format!("The payload does not fit: {error}."))
        })?;
        let provider = prompt.provider.clone();
        Ok(vec![WorkUnit::new(UnitKind::Llm, "Answer", request(prompt)).through(provider)])
    }

    async fn on_complete(&mut self, ctx: &Ctx, result: &UnitResult) -> Result<Vec<WorkUnit>, Failure> {
        let answer = result.outcome.as_ref().map_err(of_the_job)?;
        stage(ctx, "finalizing", 95, "Keeping the answer");
        let mut answer = answer.clone();
        answer["provider"] = json!(result.provider);
        self.answer = Some(answer);
        Ok(Vec::new())
    }

    fn done(&self) -> bool {
        self.answer.is_some()
    }

    fn status(&self) -> String {
        if self.done() { "Answered".into() } else { "Waiting for an answer".into() }
    }

    fn result(&self) -> Value {
        self.answer.clone().unwrap_or_default()
    }

    fn report(&self, ctx: &Ctx, news: News) {
        match news {
            News::Counted(_) => {}
            News::Sending => stage(ctx, "sending_prompt", 10, "Waiting for the first words"),
            News::Hearing(characters) => {
                let share = 75 * characters / (characters + HALF_WAY);
                let percent = 20 + i16::try_from(share).unwrap_or(75);
                stage(ctx, "streaming_response", percent, &format!("{characters} characters"));
            }
        }
    }
}

/// A unit that failed is the whole job's failure here.
fn of_the_job(error: &UnitError) -> Failure {
    Failure {
        retryable: (!error.retryable).then_some(false),
        retry_after: error.retry_after,
        ..failure(&error.code, error.class, &*error.message)
    }
}

fn request(prompt: Prompt) -> Value {
    let message = |role: &str, content: String| json!({"role": role, "content": content});
    let mut messages: Vec<Value> = prompt.system.into_iter().map(|text| message("system", text)).collect();
    let asked = match prompt.context {
        Some(context) if !context.is_empty() => format!("{}\n\n{context}", prompt.prompt),
        _ => prompt.prompt,
    };
    messages.push(message("user", asked));
    let mut request = json!({"messages": messages});
    if let Some(most) = prompt.max_tokens {
        request["max_tokens"] = json!(most);
    }
    request
}

fn stage(ctx: &Ctx, name: &str, percent: i16, message: &str) {
    let report =
        ProgressReport { stage: Some(name.into()), percent: Some(percent), message: Some(message.into()) };
    if let Err(problem) = ctx.progress(report) {
        // Somebody has edited the definition's stages; the percentage counts all the same.
        tracing::debug!(%problem, "a stage of the ai job is not known");
    }
}
