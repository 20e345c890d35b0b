//! Headings: how large they are set, and what they leave for the rest.

use super::tone::{Type, spaced};
use crate::model::{Run, plain_text};
use crate::text::clean;
use crate::text::metrics::Face;
use crate::text::wrap::wrap;
use crate::theme::{BODY_BOTTOM, CONTENT_WIDTH, FOOTER_SIZE, HEADING_TOP, MARK_HEIGHT};

const HEADING_SIZES: [f32; 4] = [32.0, 28.0, 24.0, 20.0];
const TITLE_SIZES: [f32; 4] = [50.0, 42.0, 34.0, 26.0];
const MOST_LINES: usize = 2;
const BELOW_MARK: f32 = 12.0;
const BELOW_HEADING: f32 = 22.0;
const FOOTER_WIDTH: f32 = 680.0;
/// The part of a title slide above which the title ends, and below which its text begins.
pub const TITLE_BASE: f32 = 290.0;
pub const SUBTITLE_TOP: f32 = 308.0;
pub const SUBTITLE_BOTTOM: f32 = 470.0;

pub struct Heading {
    pub set: Type,
    pub height: f32,
}

/// A heading on its slide, or the title on a title slide.
pub fn heading(text: &str, is_title: bool) -> Heading {
    let sizes = if is_title { TITLE_SIZES } else { HEADING_SIZES };
    let runs = [Run::plain(text)];
    let mut chosen = None;
    for size in sizes {
        let mut set = spaced(Face::bold(size));
        set.leading = (size * 1.2).round();
        let lines = wrap(&runs, set.face, CONTENT_WIDTH).len();
        chosen = Some((set, lines));
        if lines <= MOST_LINES {
            break;
        }
    }
    let (set, lines) = chosen.unwrap_or((spaced(Face::bold(HEADING_SIZES[0])), 1));
    Heading { set, height: in_points(lines) * set.leading }
}

pub fn heading_top() -> f32 {
    HEADING_TOP + MARK_HEIGHT + BELOW_MARK
}

/// Where the body of a slide begins.
pub fn body_top(text: &str) -> f32 {
    if text.is_empty() { HEADING_TOP } else { heading_top() + heading(text, false).height + BELOW_HEADING }
}

pub fn body_room(text: &str) -> f32 {
    BODY_BOTTOM - body_top(text)
}

/// Counts here are at most a few thousand lines: exact in a float.
pub fn in_points(count: usize) -> f32 {
    f32::from(u16::try_from(count).unwrap_or(u16::MAX))
}

/// The deck's title as it stands at the foot of each slide: one line, with an ellipsis if it had to be cut.
#[must_use]
pub fn short_footer(title: &str) -> String {
    let title = clean::line(title);
    let face = Face::regular(FOOTER_SIZE);
    let lines = wrap(&[Run::plain(&title)], face, FOOTER_WIDTH);
    match lines.as_slice() {
        [first, _, ..] => format!("{}…", plain_text(&first.runs).trim_end()),
        _ => title,
    }
}
