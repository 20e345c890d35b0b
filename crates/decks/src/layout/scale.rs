//! Slides that hold little are set larger.

use super::measure::{code_lines, column_height, paragraphs};
use super::tone::Tone;
use crate::model::{Block, Deck};
use crate::text::wrap::wrap;
use crate::theme::QUOTE_INSET;

const STEPS: [f32; 3] = [1.3, 1.2, 1.1];

/// A last line narrower than this share of the others is a word left alone.
const LONELY: f32 = 0.18;

/// The largest tone in which every column fits `room`, no line of code is broken that was whole before, and no word is
/// left alone on a line.
pub fn largest_fitting(tone: Tone, columns: &[&[Block]], room: f32) -> Tone {
    let fits = |larger: &Tone| {
        columns.iter().all(|blocks| {
            column_height(blocks, larger) <= room
                && broken_lines(blocks, larger) == broken_lines(blocks, &tone)
                && !has_lonely_word(blocks, larger)
        })
    };
    STEPS.iter().map(|step| tone.scaled(*step)).find(fits).unwrap_or(tone)
}

fn broken_lines(blocks: &[Block], tone: &Tone) -> usize {
    let lines = blocks.iter().map(|block| match block {
        Block::Code { text, .. } => code_lines(text, tone.code, tone.width).len(),
        _ => 0,
    });
    lines.sum()
}

fn has_lonely_word(blocks: &[Block], tone: &Tone) -> bool {
    blocks.iter().any(|block| {
        let inset = if matches!(block, Block::Quote { .. }) { QUOTE_INSET } else { 0.0 };
        paragraphs(block, tone).iter().any(|paragraph| {
            let width = tone.width - inset - paragraph.indent;
            let lines = wrap(&paragraph.runs, paragraph.face, width);
            lines.len() > 1 && lines.last().is_some_and(|last| last.width < width * LONELY)
        })
    })
}

/// Whether the slide is one of a row of continued ones, which should all look the same.
pub fn is_continued(deck: &Deck, index: usize) -> bool {
    let heading = |index: usize| deck.slides.get(index).map(|slide| slide.heading.as_str());
    let follows = |first: usize, second: usize| match (heading(first), heading(second)) {
        (Some(first), Some(second)) => {
            unnumbered(second).is_some_and(|base| base == unnumbered(first).unwrap_or(first))
        }
        _ => false,
    };
    follows(index, index + 1) || index.checked_sub(1).is_some_and(|before| follows(before, index))
}

/// "Plan" of "Plan (2)".
fn unnumbered(heading: &str) -> Option<&str> {
    let (base, number) = heading.strip_suffix(')')?.rsplit_once(" (")?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then_some(base)
}
