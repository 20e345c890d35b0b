//! How tall blocks are.

use super::Paragraph;
use super::table::Grid;
use super::title::in_points;
use super::tone::{Tone, Type};
use crate::model::{Block, ListItem, Marker, Run};
use crate::text::metrics::COURIER;
use crate::text::wrap::wrap;
use crate::theme::{CODE_PADDING, INK, INK_SOFT, LIST_INDENT, QUOTE_INSET};

pub const IMAGE_HEIGHT: f32 = 240.0;
const GAP: f32 = 16.0;

/// The space between a block and the one above it; none at the top.
pub fn gap(above: Option<&Block>, block: &Block, tone: &Tone) -> f32 {
    match above {
        None => 0.0,
        Some(above) if is_text(above) => gap_before(block, tone),
        Some(_) => gap_before(block, tone).max(GAP * tone.scale),
    }
}

/// Nothing but paragraphs, one under the other.
pub fn is_text(block: &Block) -> bool {
    matches!(block, Block::Paragraph { .. } | Block::Subheading { .. } | Block::List { .. })
}

/// The space a block asks for above itself.
pub fn gap_before(block: &Block, tone: &Tone) -> f32 {
    let gap = match block {
        Block::Paragraph { .. } | Block::List { .. } => 10.0,
        Block::Subheading { .. } => 18.0,
        _ => GAP,
    };
    gap * tone.scale
}

pub fn height(block: &Block, tone: &Tone) -> f32 {
    match block {
        Block::Paragraph { .. } | Block::Subheading { .. } | Block::List { .. } => {
            stacked(&paragraphs(block, tone), tone.width)
        }
        Block::Quote { .. } => stacked(&paragraphs(block, tone), tone.width - QUOTE_INSET),
        Block::Code { text, .. } => {
            in_points(code_lines(text, tone.code, tone.width).len()) * tone.code_leading()
                + 2.0 * CODE_PADDING
        }
        Block::Table { header, rows, .. } => Grid::new(header, rows, tone).height(header, rows),
        Block::Image { .. } => IMAGE_HEIGHT,
    }
}

/// The height of paragraphs under one another; the first one's space before counts for nothing.
pub fn stacked(paragraphs: &[Paragraph], width: f32) -> f32 {
    let gaps: f32 = paragraphs.iter().skip(1).map(|paragraph| paragraph.space_before).sum();
    gaps + paragraphs.iter().map(|paragraph| paragraph_height(paragraph, width)).sum::<f32>()
}

pub fn paragraph_height(paragraph: &Paragraph, width: f32) -> f32 {
    let lines = wrap(&paragraph.runs, paragraph.face, width - paragraph.indent);
    in_points(lines.len()) * paragraph.leading
}

/// Blocks under one another.
pub fn column_height(blocks: &[Block], tone: &Tone) -> f32 {
    let gaps: f32 = blocks.windows(2).map(|pair| gap(Some(&pair[0]), &pair[1], tone)).sum();
    gaps + blocks.iter().map(|block| height(block, tone)).sum::<f32>()
}

/// A text block as paragraphs; nothing for blocks that are more than text.
pub fn paragraphs(block: &Block, tone: &Tone) -> Vec<Paragraph> {
    let space = gap_before(block, tone);
    match block {
        Block::Paragraph { text } => vec![plain(text, tone.body(), space)],
        Block::Subheading { text } => vec![plain(text, tone.subheading(), space)],
        Block::List { items } => items.iter().map(|item| item_paragraph(item, tone)).collect(),
        Block::Quote { paragraphs, attribution } => {
            let mut all: Vec<Paragraph> =
                paragraphs.iter().map(|text| plain(text, tone.quote(), 10.0 * tone.scale)).collect();
            if let Some(by) = attribution {
                let by = [Run::plain(format!("— {by}"))];
                all.push(Paragraph { colour: INK_SOFT, ..plain(&by, tone.attribution(), 12.0 * tone.scale) });
            }
            all
        }
        Block::Code { .. } | Block::Table { .. } | Block::Image { .. } => Vec::new(),
    }
}

pub fn plain(runs: &[Run], set: Type, space_before: f32) -> Paragraph {
    Paragraph {
        runs: runs.to_vec(),
        face: set.face,
        leading: set.leading,
        colour: INK,
        indent: 0.0,
        hanging: 0.0,
        level: 0,
        marker: Marker::None,
        space_before,
    }
}

pub fn item_paragraph(item: &ListItem, tone: &Tone) -> Paragraph {
    let space = match (item.level, item.marker) {
        (_, Marker::None) => 4.0,
        (0, _) => 9.0,
        _ => 5.0,
    };
    let hanging = LIST_INDENT * tone.scale;
    Paragraph {
        indent: f32::from(item.level + 1) * hanging,
        hanging,
        level: item.level,
        marker: item.marker,
        ..plain(&item.text, tone.item(item.level), space * tone.scale)
    }
}

/// Code keeps its lines; one that is too long goes on below.
#[must_use]
pub fn code_lines(text: &str, size: f32, width: f32) -> Vec<String> {
    let columns = columns(size, width);
    let mut lines = Vec::new();
    for line in text.lines() {
        let letters: Vec<char> = line.chars().collect();
        if letters.is_empty() {
            lines.push(String::new());
        }
        lines.extend(letters.chunks(columns).map(|part| part.iter().collect::<String>()));
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn columns(size: f32, width: f32) -> usize {
    let mut columns = 1;
    while in_points(columns + 1) * size * COURIER <= width - 2.0 * CODE_PADDING {
        columns += 1;
    }
    columns
}
