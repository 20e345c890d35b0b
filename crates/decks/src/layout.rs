//! Where everything on a slide goes. Both writers draw what stands here, so that they agree.
//!
//! [`paginate`] cuts what does not fit into continued slides; [`compose`] then gives each part of a slide its place.

use crate::model::{Align, Marker, Run};
use crate::text::metrics::Face;
use crate::theme::Colour;

mod arrange;
mod chunk;
mod compose;
mod fit;
mod measure;
mod paginate;
mod scale;
mod table;
mod title;
mod tone;

pub use arrange::layout_for;
pub use compose::compose;
pub use measure::code_lines;
pub use paginate::paginate;
pub use title::short_footer;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rect {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// One slide, ready to be drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// From 1.
    pub number: usize,
    pub kind: PageKind,
    pub elements: Vec<Element>,
    pub notes: Vec<String>,
    /// For bookmarks and the title of a slide.
    pub heading: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    Title,
    Content,
    TwoColumn,
    /// No heading.
    Bare,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Element {
    Text(TextBox),
    Code(CodeBox),
    Table(TableBox),
    /// A bar at the left of `text`.
    Quote {
        bar: Rect,
        text: TextBox,
    },
    Image {
        rect: Rect,
        text: TextBox,
    },
}

impl Element {
    /// The whole of it.
    #[must_use]
    pub fn rect(&self) -> Rect {
        match self {
            Self::Text(text) => text.rect,
            Self::Code(code) => code.rect,
            Self::Table(table) => table.rect,
            Self::Quote { bar, text } => Rect { width: text.rect.x + text.rect.width - bar.x, ..*bar },
            Self::Image { rect, .. } => *rect,
        }
    }
}

/// What a text is for; decides which placeholder of the layout it fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Heading,
    Subtitle,
    Body,
    Right,
    Extra,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextBox {
    pub role: Role,
    pub rect: Rect,
    pub align: Align,
    pub paragraphs: Vec<Paragraph>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Paragraph {
    pub runs: Vec<Run>,
    pub face: Face,
    /// From one baseline to the next.
    pub leading: f32,
    pub colour: Colour,
    /// Of the text.
    pub indent: f32,
    /// How far to the left of its text the marker begins.
    pub hanging: f32,
    pub level: u8,
    pub marker: Marker,
    pub space_before: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CodeBox {
    pub rect: Rect,
    pub language: Option<String>,
    /// Already broken to fit.
    pub lines: Vec<String>,
    pub size: f32,
    pub leading: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableBox {
    pub rect: Rect,
    /// Of the columns; those it does not name are at the left.
    pub align: Vec<Align>,
    pub columns: Vec<f32>,
    /// The first is the header.
    pub rows: Vec<TableRow>,
    pub size: f32,
    pub leading: f32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableRow {
    pub height: f32,
    pub cells: Vec<Vec<Run>>,
}
