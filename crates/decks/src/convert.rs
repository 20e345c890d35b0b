//! Markdown becomes a deck, in the stages of a `convert` job.
//!
//! | stage | call |
//! |---|---|
//! | validating_input | [`SourceFormat::named`] |
//! | fetching_source | the caller's; then [`Source::read`] |
//! | extracting | [`extract`] |
//! | normalizing | [`normalize`] |
//! | generating_preview | [`preview`] |
//! | finalizing | [`Deck::to_json`](crate::model::Deck::to_json), stored by the caller |
//!
//! ```
//! use leasehold_decks::convert::{Source, SourceFormat, extract, normalize, preview};
//! use leasehold_decks::watch::unwatched;
//!
//! let source = Source::read(SourceFormat::named("markdown")?, b"# Plan\n\n## Why\n\n- because")?;
//! let deck = normalize(extract(&source, &mut unwatched)?, &mut unwatched)?;
//! assert_eq!(deck.title, "Plan");
//! assert_eq!(preview(&deck).slides[1].lines, ["because"]);
//! # Ok::<(), leasehold_decks::DeckError>(())
//! ```

use crate::error::DeckError;
use crate::model::Slide;
use crate::watch::{Watch, tell};

mod front_matter;
mod html;
mod inline;
mod normal;
mod outline;
mod quote;
mod reader;
mod slides;
mod source;
mod table;

pub use normal::normalize;
pub use outline::{Preview, PreviewSlide, preview};
pub use source::{MAX_SOURCE_BYTES, Source, SourceFormat};

/// What was read, before it is arranged and cut to fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub(crate) title: Option<String>,
    pub(crate) author: Option<String>,
    pub(crate) slides: Vec<Slide>,
}

/// Reads the Markdown. The watch counts bytes.
pub fn extract(source: &Source, watch: Watch<'_>) -> Result<Draft, DeckError> {
    let total = source.body().len();
    tell(watch, 0, total)?;
    let pieces = reader::read(source.body(), watch)?;
    tell(watch, total, total)?;
    let front = source.front_matter();
    Ok(Draft { title: front.title.clone(), author: front.author.clone(), slides: slides::assemble(pieces) })
}
