//! A deck becomes a file, in the stages of an `export` job.
//!
//! | stage | call |
//! |---|---|
//! | preparing | [`ExportFormat::named`], [`prepare`] |
//! | rendering_slides | [`Prepared::render`] |
//! | packaging | [`Rendered::package`] |
//! | uploading_artifact, finalizing | the caller's |
//!
//! ```
//! use leasehold_decks::export::{ExportFormat, prepare};
//! use leasehold_decks::watch::unwatched;
//!
//! let json = br#"{"version":1,"title":"Plan","slides":[{"layout":"title","heading":"Plan"}]}"#;
//! let prepared = prepare(ExportFormat::named("pdf")?, json, &mut unwatched)?;
//! let artifact = prepared.render(&mut unwatched)?.package(&mut unwatched)?;
//! assert!(artifact.bytes.starts_with(b"%PDF-1.7"));
//! # Ok::<(), leasehold_decks::DeckError>(())
//! ```

use crate::error::DeckError;
use crate::layout::{compose, paginate};
use crate::model::Deck;
use crate::text::{clean, winansi};
use crate::watch::{Watch, tell};

mod pdf;
mod pptx;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Pptx,
    Pdf,
}

impl ExportFormat {
    pub fn named(name: &str) -> Result<Self, DeckError> {
        match name.trim().to_ascii_lowercase().as_str() {
            "pptx" => Ok(Self::Pptx),
            "pdf" => Ok(Self::Pdf),
            _ => Err(DeckError::Unsupported(format!(
                "the export format {name:?} is not known; pptx and pdf are"
            ))),
        }
    }

    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Pptx => "application/vnd.openxmlformats-officedocument.presentationml.presentation",
            Self::Pdf => "application/pdf",
        }
    }

    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pptx => "pptx",
            Self::Pdf => "pdf",
        }
    }
}

/// A deck that was checked and fits its slides.
#[derive(Debug, Clone)]
pub struct Prepared {
    format: ExportFormat,
    deck: Deck,
    label: Label,
}

/// What a file says about itself, in any letters, whatever its fonts can show.
#[derive(Debug, Clone)]
struct Label {
    title: String,
    author: Option<String>,
}

/// Slides drawn, not yet in a file.
pub struct Rendered {
    format: ExportFormat,
    slide_count: usize,
    parts: Parts,
}

enum Parts {
    Pptx(pptx::Package),
    Pdf(pdf::Document),
}

/// A finished file. The same deck always gives the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub bytes: Vec<u8>,
    pub format: ExportFormat,
    pub slide_count: usize,
}

/// Reads and checks deck JSON, and cuts what does not fit. The watch counts slides.
pub fn prepare(format: ExportFormat, json: &[u8], watch: Watch<'_>) -> Result<Prepared, DeckError> {
    prepare_deck(format, &Deck::from_json(json)?, watch)
}

/// The same for a deck at hand.
pub fn prepare_deck(format: ExportFormat, deck: &Deck, watch: Watch<'_>) -> Result<Prepared, DeckError> {
    deck.check()?;
    let label = Label { title: clean::line(&deck.title), author: deck.author.as_deref().map(clean::line) };
    let deck = match format {
        ExportFormat::Pptx => deck.map_text(&clean::text),
        ExportFormat::Pdf => deck.map_text(&|text| winansi::transliterate(&clean::text(text))),
    };
    Ok(Prepared { format, deck: paginate(deck, watch)?, label })
}

impl Prepared {
    /// Draws slide after slide. The watch counts slides.
    pub fn render(&self, watch: Watch<'_>) -> Result<Rendered, DeckError> {
        let slide_count = self.deck.slides.len();
        let mut parts = match self.format {
            ExportFormat::Pptx => Parts::Pptx(pptx::Package::new(&self.deck)),
            ExportFormat::Pdf => Parts::Pdf(pdf::Document::new(&self.deck, self.label.clone())),
        };
        for index in 0..slide_count {
            tell(watch, index, slide_count)?;
            let page = compose(&self.deck, index);
            match &mut parts {
                Parts::Pptx(package) => package.add(&page),
                Parts::Pdf(document) => document.add(&page)?,
            }
        }
        tell(watch, slide_count, slide_count)?;
        Ok(Rendered { format: self.format, slide_count, parts })
    }
}

impl Rendered {
    /// Puts the file together. The watch counts the file's parts.
    pub fn package(self, watch: Watch<'_>) -> Result<Artifact, DeckError> {
        let bytes = match self.parts {
            Parts::Pptx(package) => package.finish(watch)?,
            Parts::Pdf(document) => document.finish(watch)?,
        };
        Ok(Artifact { bytes, format: self.format, slide_count: self.slide_count })
    }
}
