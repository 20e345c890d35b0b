//! `cargo run -p leasehold-decks --example deck -- docs/samples/harbour.md out.pptx`: the whole way on a terminal.

use std::error::Error;
use std::path::Path;

use leasehold_decks::convert::{Source, SourceFormat, extract, normalize};
use leasehold_decks::export::{ExportFormat, prepare_deck};
use leasehold_decks::watch::unwatched;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = arguments.as_slice() else {
        return Err("usage: deck SOURCE.md TARGET.(json|pptx|pdf)".into());
    };
    let source = Source::read(SourceFormat::Markdown, &std::fs::read(input)?)?;
    let deck = normalize(extract(&source, &mut unwatched)?, &mut unwatched)?;
    let ending = Path::new(output).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let bytes = if ending == "json" {
        deck.to_json()?
    } else {
        let prepared = prepare_deck(ExportFormat::named(ending)?, &deck, &mut unwatched)?;
        prepared.render(&mut unwatched)?.package(&mut unwatched)?.bytes
    };
    std::fs::write(output, bytes)?;
    println!("{output}: {} slides", deck.slides.len());
    Ok(())
}
