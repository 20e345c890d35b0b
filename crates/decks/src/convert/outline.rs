//! A deck in a few plain lines, for showing what came out without opening it.

use serde::Serialize;

use crate::model::{Block, Deck, Layout, Marker, Slide, plain_text};
use crate::text::clean;

const MOST_SLIDES: usize = 50;
const MOST_LINES: usize = 4;
const LONGEST_LINE: usize = 120;

/// Plain text only: whoever shows it escapes it like any other text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preview {
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    pub slide_count: usize,
    /// The first slides; `is_complete` says whether these are all.
    pub slides: Vec<PreviewSlide>,
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreviewSlide {
    /// From 1.
    pub number: usize,
    pub layout: Layout,
    pub heading: String,
    pub lines: Vec<String>,
    pub has_notes: bool,
}

#[must_use]
pub fn preview(deck: &Deck) -> Preview {
    let slides = deck.slides.iter().take(MOST_SLIDES).enumerate();
    Preview {
        title: deck.title.clone(),
        author: deck.author.clone(),
        slide_count: deck.slides.len(),
        slides: slides.map(|(index, slide)| preview_slide(index + 1, slide)).collect(),
        is_complete: deck.slides.len() <= MOST_SLIDES,
    }
}

fn preview_slide(number: usize, slide: &Slide) -> PreviewSlide {
    let lines = slide.blocks.iter().chain(&slide.right).flat_map(block_lines);
    PreviewSlide {
        number,
        layout: slide.layout,
        heading: slide.heading.clone(),
        lines: lines.take(MOST_LINES).map(|line| shortened(&line)).collect(),
        has_notes: !slide.notes.is_empty(),
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE - 1) {
        Some((end, _)) if line.chars().count() > LONGEST_LINE => format!("{}…", &line[..end]),
        _ => line.to_owned(),
    }
}

/// A block as plain lines: for previews, and for blocks that stand in notes.
pub fn block_lines(block: &Block) -> Vec<String> {
    let lines: Vec<String> = match block {
        Block::Paragraph { text } | Block::Subheading { text } => vec![plain_text(text)],
        Block::List { items } => items
            .iter()
            .map(|item| match item.marker {
                Marker::Number(number) => format!("{number}. {}", plain_text(&item.text)),
                Marker::Bullet | Marker::None => plain_text(&item.text),
            })
            .collect(),
        Block::Code { text, .. } => text.lines().map(str::to_owned).collect(),
        Block::Table { header, rows, .. } => {
            let rows = std::iter::once(header).chain(rows);
            rows.map(|row| row.iter().map(|cell| plain_text(cell)).collect::<Vec<_>>().join(" | ")).collect()
        }
        Block::Quote { paragraphs, attribution } => {
            let said = paragraphs.iter().map(|text| plain_text(text));
            said.chain(attribution.iter().map(|by| format!("— {by}"))).collect()
        }
        Block::Image { alt, .. } => vec![alt.clone()],
    };
    lines.iter().map(|line| clean::line(line)).filter(|line| !line.is_empty()).collect()
}
