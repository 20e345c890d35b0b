//! Drawing in the layout's coordinates: from the top left, in points.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::{Content, Str};

use super::{DrawnPage, Link, font};
use crate::error::DeckError;
use crate::layout::Rect;
use crate::model::Run;
use crate::text::link;
use crate::text::metrics::Face;
use crate::text::winansi;
use crate::theme::{ACCENT, Colour, HEIGHT};

/// How far a quarter circle's handles stand from its ends, for a radius of 1.
const ARC: f32 = 0.5523;

pub struct Canvas {
    content: Content,
    links: Vec<Link>,
}

impl Canvas {
    pub fn new() -> Self {
        Self { content: Content::new(), links: Vec::new() }
    }

    pub fn fill(&mut self, rect: Rect, colour: Colour) {
        self.fill_colour(colour);
        self.content.rect(rect.x, HEIGHT - rect.y - rect.height, rect.width, rect.height).fill_nonzero();
    }

    pub fn fill_rounded(&mut self, rect: Rect, radius: f32, colour: Colour) {
        self.fill_colour(colour);
        self.rounded(rect, radius);
        self.content.fill_nonzero();
    }

    pub fn dashed_border(&mut self, rect: Rect, radius: f32, colour: Colour) {
        let [red, green, blue] = colour.parts();
        self.content.save_state().set_stroke_rgb(red, green, blue).set_line_width(1.0);
        self.content.set_dash_pattern([4.0, 3.0], 0.0);
        self.rounded(rect, radius);
        self.content.stroke().restore_state();
    }

    fn rounded(&mut self, rect: Rect, radius: f32) {
        let (left, right) = (rect.x, rect.x + rect.width);
        let (bottom, top) = (HEIGHT - rect.y - rect.height, HEIGHT - rect.y);
        let (r, k) = (radius, radius * (1.0 - ARC));
        let path = self.content.move_to(left + r, bottom).line_to(right - r, bottom);
        path.cubic_to(right - k, bottom, right, bottom + k, right, bottom + r).line_to(right, top - r);
        path.cubic_to(right, top - k, right - k, top, right - r, top).line_to(left + r, top);
        path.cubic_to(left + k, top, left, top - k, left, top - r).line_to(left, bottom + r);
        path.cubic_to(left, bottom + k, left + k, bottom, left + r, bottom).close_path();
    }

    /// One line of runs with its baseline at `y`; links are underlined and can be clicked.
    pub fn line(&mut self, runs: &[Run], face: Face, colour: Colour, x: f32, y: f32) {
        let mut x = x;
        for run in runs {
            let codes: Vec<u8> = run.text.chars().filter_map(winansi::code).collect();
            let width: f32 = run.text.chars().map(|c| face.width_of(run, c)).sum();
            self.fill_colour(if run.link.is_some() { ACCENT } else { colour });
            self.content.begin_text().set_font(font::name(face, run), face.size_of(run));
            self.content.set_text_matrix([1.0, 0.0, 0.0, 1.0, x, HEIGHT - y]);
            self.content.show(Str(&codes)).end_text();
            if let Some(target) = run.link.as_deref().and_then(link::harmless) {
                let size = face.size;
                self.fill(Rect { x, y: y + size * 0.12, width, height: size * 0.05 }, ACCENT);
                let area = Rect { x, y: y - size * 0.9, width, height: size * 1.2 };
                self.links.push(Link { area, target });
            }
            x += width;
        }
    }

    fn fill_colour(&mut self, colour: Colour) {
        let [red, green, blue] = colour.parts();
        self.content.set_fill_rgb(red, green, blue);
    }

    pub fn finish(self, heading: &str) -> Result<DrawnPage, DeckError> {
        let content = compressed(&self.content.finish())?;
        Ok(DrawnPage { heading: heading.to_owned(), content, links: self.links })
    }
}

fn compressed(bytes: &[u8]) -> Result<Vec<u8>, DeckError> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes).map_err(|error| DeckError::Internal(error.to_string()))?;
    encoder.finish().map_err(|error| DeckError::Internal(error.to_string()))
}
