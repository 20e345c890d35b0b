//! One change applied to every text of a deck.

use super::{Block, Deck, Run, Slide};

impl Deck {
    /// The same deck with each text changed by `change`; links stay.
    pub(crate) fn map_text(&self, change: &dyn Fn(&str) -> String) -> Self {
        Self {
            version: self.version,
            title: change(&self.title),
            author: self.author.as_deref().map(change),
            slides: self.slides.iter().map(|slide| map_slide(slide, change)).collect(),
        }
    }
}

fn map_slide(slide: &Slide, change: &dyn Fn(&str) -> String) -> Slide {
    let blocks = |blocks: &[Block]| blocks.iter().map(|block| map_block(block, change)).collect();
    Slide {
        layout: slide.layout,
        heading: change(&slide.heading),
        blocks: blocks(&slide.blocks),
        right: blocks(&slide.right),
        notes: slide.notes.iter().map(|note| change(note)).collect(),
    }
}

fn map_block(block: &Block, change: &dyn Fn(&str) -> String) -> Block {
    let runs =
        |runs: &Vec<Run>| -> Vec<Run> { runs.iter().map(|run| run.with_text(change(&run.text))).collect() };
    match block {
        Block::Paragraph { text } => Block::Paragraph { text: runs(text) },
        Block::Subheading { text } => Block::Subheading { text: runs(text) },
        Block::List { items } => {
            let mut items = items.clone();
            items.iter_mut().for_each(|item| item.text = runs(&item.text));
            Block::List { items }
        }
        Block::Code { language, text } => {
            Block::Code { language: language.as_deref().map(change), text: change(text) }
        }
        Block::Table { align, header, rows } => Block::Table {
            align: align.clone(),
            header: header.iter().map(runs).collect(),
            rows: rows.iter().map(|row| row.iter().map(runs).collect()).collect(),
        },
        Block::Quote { paragraphs, attribution } => Block::Quote {
            paragraphs: paragraphs.iter().map(runs).collect(),
            attribution: attribution.as_deref().map(change),
        },
        Block::Image { alt, source } => {
            Block::Image { alt: change(alt), source: source.as_deref().map(change) }
        }
    }
}
