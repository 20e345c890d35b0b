//! Quotes, and who said them.

use super::inline::shortened;
use crate::model::{Block, Run, plain_text};
use crate::text::clean;

/// Stands for a line end of the source inside a quote, until it is known whether an attribution follows. Cleaned text
/// has none.
pub const SOFT: char = '\r';

/// The paragraphs read inside a quote as a block; nothing if there are none.
pub fn finished(mut paragraphs: Vec<Vec<Run>>) -> Option<Block> {
    let attribution = attribution(&mut paragraphs);
    for run in paragraphs.iter_mut().flatten() {
        run.text = run.text.replace(SOFT, " ");
    }
    (!paragraphs.is_empty() || attribution.is_some()).then_some(Block::Quote { paragraphs, attribution })
}

/// The last line of a quote, if it begins with a dash: who said it.
fn attribution(paragraphs: &mut Vec<Vec<Run>>) -> Option<String> {
    let last = plain_text(paragraphs.last()?);
    let line_start = last.rfind([SOFT, '\n']).map_or(0, |at| at + 1);
    let line = last[line_start..].trim();
    let by = ["— ", "– ", "-- "].iter().find_map(|dash| line.strip_prefix(dash))?;
    let by = clean::line(by);
    if by.is_empty() || shortened(&by) != by {
        return None;
    }
    let runs = paragraphs.last_mut()?;
    cut(runs, line_start.saturating_sub(1));
    if runs.is_empty() {
        paragraphs.pop();
    }
    Some(by)
}

/// Keeps the first `bytes` of the runs' text.
fn cut(runs: &mut Vec<Run>, mut bytes: usize) {
    runs.retain_mut(|run| {
        let keep = bytes.min(run.text.len());
        run.text.truncate(keep);
        bytes -= keep;
        keep > 0
    });
}
