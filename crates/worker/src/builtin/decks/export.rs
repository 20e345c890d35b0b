//! `export`: a deck becomes a `.pptx`, a `.pdf`, or both, kept as files of the job.
//!
//! After each file the job remembers that it has it. An attempt that follows a crash goes on with the files that are
//! missing, and since the same deck gives the same bytes, a file written twice is the same file.

use super::{DECK_FILE, described, fail, halt, origin::Wanted, retry};
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
    export::{ExportFormat, prepare_deck},
    model::Deck,
    watch::Watch,
};
use leasehold_queue::{
    attachments::sha256_hex,
    params::{ClaimedJob, NewDefinition},
};
use leasehold_types::{AttachmentId, DefinitionLimits, ErrorClass, view::AttachmentView};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

const WANTED: Wanted =
    Wanted { kind: "export", inline: "deck", what: "deck", is_it: |file| file.name == DECK_FILE };

#[derive(Deserialize)]
struct Payload {
    deck: Option<Value>,
    source_job: Option<i64>,
    attachment: Option<AttachmentId>,
    #[serde(default)]
    format: Formats,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Formats {
    Pptx,
    Pdf,
    #[default]
    Both,
}

impl Formats {
    fn each(self) -> &'static [ExportFormat] {
        match self {
            Self::Pptx => &[ExportFormat::Pptx],
            Self::Pdf => &[ExportFormat::Pdf],
            Self::Both => &[ExportFormat::Pptx, ExportFormat::Pdf],
        }
    }
}

/// What one attempt tells the next.
#[derive(Default, Serialize, Deserialize)]
struct Done {
    /// Of the deck's JSON: files of another deck are worth nothing.
    source: String,
    files: Vec<AttachmentView>,
}

pub struct Export;

#[async_trait]
impl Builtin for Export {
    fn definition(&self) -> NewDefinition {
        NewDefinition {
            key: "decks.export".into(),
            description: "Turns a deck into a PowerPoint file, a PDF, or both".into(),
            domain: "decks".into(),
            job_type: "export".into(),
            queue: "default".into(),
            executor: "builtin".into(),
            arg_schema: schema(),
            timeout_seconds: 600,
            max_attempts: 3,
            retry: retry(&[ErrorClass::TransientStorage, ErrorClass::NetworkTimeout]),
            stages: stages(&[
                ("preparing", 10),
                ("rendering_slides", 70),
                ("packaging", 90),
                ("uploading_artifact", 98),
                ("finalizing", 100),
            ]),
            // Two exports of one document (its concurrency key) at a time; more of them wait.
            limits: DefinitionLimits { max_active_per_key: Some(2), ..DefinitionLimits::default() },
        }
    }

    /// All formats go through a stage together, so that the bar and the stages only ever go forward.
    async fn run(&self, job: &ClaimedJob, ctx: &Ctx) -> Result<Option<Value>, Halt> {
        ctx.stage("preparing")?;
        let payload: Payload = serde_json::from_value(job.payload.clone())
            .map_err(|error| fail(WANTED.kind, ErrorClass::ValidationError, error.to_string()))?;
        let inline = payload.deck.map(|deck| deck.to_string().into_bytes());
        let json = WANTED.fetch(ctx, WANTED.origin(inline, payload.source_job, payload.attachment)?).await?;
        let mut done = remembered(job, sha256_hex(&json));
        let deck = compute(ctx, "preparing", Share::WHOLE, move |_| Deck::from_json(&json)).await?;
        let deck = Arc::new(deck);
        let name = file_stem(&deck.title);
        let missing = payload.format.each().iter().copied().filter(|format| !done.has(&name, *format));

        let mut prepared = Vec::new();
        for (format, share) in shares(missing.collect()) {
            let deck = deck.clone();
            prepared.push(
                compute(ctx, "preparing", share, move |watch| prepare_deck(format, &deck, watch)).await?,
            );
        }
        ctx.stage("rendering_slides")?;
        let mut rendered = Vec::new();
        for (prepared, share) in shares(prepared) {
            rendered
                .push(compute(ctx, "rendering_slides", share, move |watch| prepared.render(watch)).await?);
        }
        ctx.stage("packaging")?;
        let mut artifacts = Vec::new();
        for (rendered, share) in shares(rendered) {
            artifacts.push(compute(ctx, "packaging", share, move |watch| rendered.package(watch)).await?);
        }
        ctx.stage("uploading_artifact")?;
        for artifact in artifacts {
            let (name, kind) = (file_name(&name, artifact.format), artifact.format.media_type());
            done.files.push(ctx.attach(&name, kind, artifact.bytes).await?);
            ctx.checkpoint(json!(done)).await?;
        }
        ctx.stage("finalizing")?;
        let mut files = Vec::new();
        for file in done.files {
            files.push(described(ctx, file).await?);
        }
        Ok(Some(json!({ "title": deck.title, "slides": deck.slides.len(), "files": files })))
    }
}

impl Done {
    fn has(&self, stem: &str, format: ExportFormat) -> bool {
        self.files.iter().any(|file| file.name == file_name(stem, format))
    }
}

/// What earlier attempts have done, if it was done to this very deck.
fn remembered(job: &ClaimedJob, source: String) -> Done {
    let before = job.checkpoint.clone().and_then(|value| serde_json::from_value::<Done>(value).ok());
    let same = before.filter(|done| done.source == source);
    same.unwrap_or(Done { source, files: Vec::new() })
}

fn shares<T>(items: Vec<T>) -> impl Iterator<Item = (T, Share)> {
    let of = items.len();
    items.into_iter().enumerate().map(move |(index, item)| (item, Share { index, of }))
}

async fn compute<T: Send + 'static>(
    ctx: &Ctx,
    stage: &str,
    share: Share,
    work: impl FnOnce(Watch<'_>) -> Result<T, DeckError> + Send + 'static,
) -> Result<T, Halt> {
    let ended =
        on_a_thread(ctx, stage, share, move |meter| work(&mut |p| meter.tell(p.done, p.total))).await?;
    ended.map_err(|error| halt(WANTED.kind, &error))
}

fn file_name(stem: &str, format: ExportFormat) -> String {
    format!("{stem}.{}", format.extension())
}

/// `Harbour lights: 2026!` → `harbour-lights-2026`
fn file_stem(title: &str) -> String {
    let mut stem = String::new();
    for c in title.chars().flat_map(char::to_lowercase).take(80) {
        match c {
            c if c.is_alphanumeric() => stem.push(c),
            _ if !stem.is_empty() && !stem.ends_with('-') => stem.push('-'),
            _ => {}
        }
    }
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() { "deck".to_owned() } else { stem.to_owned() }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "properties": {
            "source_job": {
                "type": "integer", "title": "Source job", "minimum": 1,
                "description": "The number of a decks.convert job.",
            },
            "format": {
                "enum": ["pptx", "pdf", "both"], "title": "Format", "default": "both",
                "description": "PowerPoint, PDF, or both.",
            },
            "attachment": {
                "type": "string", "title": "Attachment", "format": "uuid",
                "description": "Instead of a source job: the id of a deck's file in this tenant.",
            },
            "deck": {
                "type": "object", "title": "Deck",
                "description": "Instead of a source job: the deck itself.",
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_become_file_names() {
        for (title, stem) in [
            ("Harbour lights: 2026!", "harbour-lights-2026"),
            ("Łódź / Москва", "łódź-москва"),
            ("../..", "deck"),
            ("", "deck"),
        ] {
            assert_eq!(file_stem(title), stem);
        }
    }

    #[test]
    fn stages_have_the_spans_of_the_specification() {
        let spans = |definition: NewDefinition| -> Vec<_> {
            definition.stages.into_iter().map(|s| (s.name, s.from, s.to)).collect()
        };
        let export = spans(Export.definition());
        assert_eq!(export[1], ("rendering_slides".into(), 10, 70));
        assert_eq!(export[3], ("uploading_artifact".into(), 90, 98));
        let convert = spans(super::super::Convert.definition());
        assert_eq!(convert[2], ("extracting".into(), 15, 55));
        assert_eq!(convert[4], ("generating_preview".into(), 80, 90));
    }
}
