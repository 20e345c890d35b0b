//! `convert`: Markdown becomes a deck, kept as `deck.json`.

use super::{DECK_FILE, described, halt, origin::Wanted, retry};
use crate::{
    builtin::{
        Builtin,
        compute::{Share, on_a_thread},
        stages,
    },
    executor::{Ctx, Halt},
};
use async_trait::async_trait;
use leasehold_decks::{
    DeckError,
    convert::{MAX_SOURCE_BYTES, Source, SourceFormat, extract, normalize, preview},
};
use leasehold_queue::params::{ClaimedJob, NewDefinition};
use leasehold_types::{AttachmentId, DefinitionLimits, ErrorClass, KeyMode};
use serde::Deserialize;
use serde_json::{Value, json};

const WANTED: Wanted = Wanted {
    kind: "convert",
    inline: "markdown",
    what: "Markdown file",
    is_it: |file| file.content_type == "text/markdown" || file.name.ends_with(".md"),
};

#[derive(Deserialize)]
struct Payload {
    markdown: Option<String>,
    source_job: Option<i64>,
    attachment: Option<AttachmentId>,
}

pub struct Convert;

#[async_trait]
impl Builtin for Convert {
    fn definition(&self) -> NewDefinition {
        NewDefinition {
            key: "decks.convert".into(),
            description: "Turns Markdown into a deck of slides, for decks.export".into(),
            domain: "decks".into(),
            job_type: "convert".into(),
            queue: "default".into(),
            executor: "builtin".into(),
            arg_schema: schema(),
            timeout_seconds: 300,
            max_attempts: 3,
            retry: retry(&[
                ErrorClass::TransientStorage,
                ErrorClass::NetworkTimeout,
                ErrorClass::RateLimited,
            ]),
            stages: stages(&[
                ("validating_input", 5),
                ("fetching_source", 15),
                ("extracting", 55),
                ("normalizing", 80),
                ("generating_preview", 90),
                ("finalizing", 100),
            ]),
            // One document (its concurrency key) is converted once at a time; a second request is refused.
            limits: DefinitionLimits {
                max_active_per_key: Some(1),
                key_mode: KeyMode::Reject,
                ..DefinitionLimits::default()
            },
        }
    }

    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Result<Option<Value>, Halt> {
        ctx.stage("validating_input")?;
        let payload: Payload = serde_json::from_value(job.payload.clone())
            .map_err(|error| super::fail(WANTED.kind, ErrorClass::ValidationError, error.to_string()))?;
        let inline = payload.markdown.map(String::into_bytes);
        let origin = WANTED.origin(inline, payload.source_job, payload.attachment)?;
        ctx.stage("fetching_source")?;
        let bytes = WANTED.fetch(ctx, origin).await?;

        let draft = step(ctx, "extracting", move |watch| {
            extract(&Source::read(SourceFormat::Markdown, &bytes)?, watch)
        })
        .await?;
        let deck = step(ctx, "normalizing", move |watch| normalize(draft, watch)).await?;
        let (json, preview) =
            step(ctx, "generating_preview", move |_| Ok((deck.to_json()?, preview(&deck)))).await?;

        ctx.stage("finalizing")?;
        let file = ctx.attach(DECK_FILE, "application/json", json).await?;
        Ok(Some(json!({
            "title": preview.title,
            "slides": preview.slide_count,
            "preview": preview,
            "deck": described(ctx, file).await?,
        })))
    }
}

/// One stage of computing.
async fn step<T: Send + 'static>(
    ctx: &Ctx,
    stage: &str,
    work: impl FnOnce(leasehold_decks::watch::Watch<'_>) -> Result<T, DeckError> + Send + 'static,
) -> Result<T, Halt> {
    ctx.stage(stage)?;
    let work = move |meter: &crate::builtin::compute::Meter| work(&mut |p| meter.tell(p.done, p.total));
    on_a_thread(ctx, stage, Share::WHOLE, work).await?.map_err(|error| halt(WANTED.kind, &error))
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": {
            "markdown": {
                "type": "string", "title": "Markdown", "minLength": 1, "maxLength": MAX_SOURCE_BYTES,
                "contentMediaType": "text/markdown",
                "description": "# makes a title slide, ## a slide, lists and tables become what they are.",
            },
            "source_job": {
                "type": "integer", "title": "Source job", "minimum": 1,
                "description": "Instead: the number of a job that left a Markdown file behind.",
            },
            "attachment": {
                "type": "string", "title": "Attachment", "format": "uuid",
                "description": "Instead: the id of a Markdown file in this tenant.",
            },
        },
    })
}
