//! Decks: Markdown becomes slides, slides become files people can open. The work itself is in `leasehold_decks`, pure
//! and deterministic; here are its stages, its retries, and where its input comes from and its files go.

mod convert;
mod export;
mod origin;

use crate::executor::{Ctx, Halt, failure};
pub use convert::Convert;
pub use export::Export;
use leasehold_decks::{DeckError, ErrorClass as DeckClass};
use leasehold_types::{
    ErrorClass,
    view::{AttachmentView, Jitter, RetryPolicy},
};
use serde_json::{Value, json};

/// Under this name a converted deck is kept with its job.
const DECK_FILE: &str = "deck.json";

/// Both kinds wait alike between attempts, and differ in what is worth one.
fn retry(classes: &[ErrorClass]) -> RetryPolicy {
    RetryPolicy {
        base_seconds: 2.0,
        cap_seconds: 30.0,
        jitter: Jitter::Full,
        retryable_classes: classes.iter().map(ToString::to_string).collect(),
    }
}

/// `CONVERT_UNSUPPORTED_FORMAT`, `EXPORT_VALIDATION_ERROR`, …
fn fail(kind: &str, class: ErrorClass, message: impl Into<String>) -> Halt {
    let code = format!("{kind}_{class}").to_ascii_uppercase();
    Halt::Failed(failure(&code, class, message))
}

fn halt(kind: &str, error: &DeckError) -> Halt {
    let class = match error.class() {
        DeckClass::Cancelled => return Halt::Stopped,
        DeckClass::Validation => ErrorClass::ValidationError,
        DeckClass::Unsupported => ErrorClass::UnsupportedFormat,
        DeckClass::Internal => ErrorClass::InternalBug,
    };
    let message = error.to_string();
    let mut letters = message.chars();
    let sentence: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    fail(kind, class, format!("{}.", sentence.trim_end_matches('.')))
}

/// A file as a result names it, with a link that works for a while.
async fn described(ctx: &Ctx, file: AttachmentView) -> Result<Value, Halt> {
    let linked = ctx.link(file).await?;
    let file = &linked.file;
    Ok(json!({
        "id": file.id,
        "name": file.name,
        "content_type": file.content_type,
        "size": file.size,
        "sha256": file.sha256,
        "url": linked.path,
        "url_expires_at": linked.expires_at,
    }))
}
