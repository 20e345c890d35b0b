//! Shared by the tests: the whole way in one call each.

use leasehold_decks::DeckError;
use leasehold_decks::convert::{Source, SourceFormat, extract, normalize};
use leasehold_decks::export::{Artifact, ExportFormat, prepare_deck};
use leasehold_decks::model::Deck;
use leasehold_decks::watch::unwatched;

pub const SAMPLE: &str = include_str!("../../../../docs/samples/harbour.md");

pub fn try_deck(markdown: &str) -> Result<Deck, DeckError> {
    let source = Source::read(SourceFormat::Markdown, markdown.as_bytes())?;
    normalize(extract(&source, &mut unwatched)?, &mut unwatched)
}

pub fn deck(markdown: &str) -> Deck {
    try_deck(markdown).unwrap()
}

pub fn exported(deck: &Deck, format: ExportFormat) -> Artifact {
    let prepared = prepare_deck(format, deck, &mut unwatched).unwrap();
    prepared.render(&mut unwatched).unwrap().package(&mut unwatched).unwrap()
}
