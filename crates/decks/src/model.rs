//! A deck as JSON: what `convert` writes and `export` reads.
//!
//! Reading is strict: an unknown field is a mistake to be told about, not to be lost. [`Deck::from_json`] is the only
//! door for JSON from outside, and checks what types cannot say (`check.rs`).

use serde::{Deserialize, Serialize};

mod check;
mod map;
mod read;

/// The only version there is. A reader of another version refuses it by name.
pub const DECK_VERSION: u32 = 1;

pub const MAX_SLIDES: usize = 500;
pub const MAX_DECK_BYTES: usize = 16 * 1024 * 1024;
pub const MAX_TABLE_COLUMNS: usize = 20;
pub const MAX_HEADING_CHARS: usize = 400;
/// The title, the author, a picture's words, an attribution, the language of code.
pub const MAX_LABEL_CHARS: usize = 400;
/// Levels count from 0; this is the deepest.
pub const MAX_LIST_LEVEL: u8 = 5;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deck {
    pub version: u32,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    pub slides: Vec<Slide>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slide {
    pub layout: Layout,
    /// May be empty: a slide that is all picture or all code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// The right column of a `two_column` slide; `blocks` is then the left one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub right: Vec<Block>,
    /// What the speaker says, as plain paragraphs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What a slide is mainly made of; decides its arrangement, not what it may contain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    Title,
    #[default]
    Bullets,
    TwoColumn,
    Code,
    Table,
    Quote,
    Image,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Block {
    Paragraph {
        text: Vec<Run>,
    },
    /// A heading inside the slide.
    Subheading {
        text: Vec<Run>,
    },
    List {
        items: Vec<ListItem>,
    },
    Code {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        language: Option<String>,
        text: String,
    },
    Table {
        /// Of the columns; all at the left if it is missing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        align: Vec<Align>,
        header: Vec<Cell>,
        rows: Vec<Vec<Cell>>,
    },
    Quote {
        paragraphs: Vec<Vec<Run>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attribution: Option<String>,
    },
    /// The place of a picture. Nothing is ever fetched: `source` is shown, not followed.
    Image {
        alt: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    #[default]
    Left,
    Center,
    Right,
}

/// The text of one table cell.
pub type Cell = Vec<Run>;

/// Lists are flat: an item knows its level and its own number, so a list may be cut anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListItem {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub level: u8,
    pub marker: Marker,
    pub text: Vec<Run>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    Bullet,
    Number(u32),
    /// A further paragraph of the item before.
    None,
}

/// A stretch of text in one look. `\n` is a line break.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub text: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub bold: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub italic: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub code: bool,
    /// `http`, `https` or `mailto`, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl Run {
    #[must_use]
    pub fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Whether the two differ in nothing but their text.
    #[must_use]
    pub fn looks_like(&self, other: &Self) -> bool {
        (self.bold, self.italic, self.code, &self.link) == (other.bold, other.italic, other.code, &other.link)
    }

    /// The same look with other text.
    pub(crate) fn with_text(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), ..self.clone() }
    }
}

/// The text of runs without their looks.
#[must_use]
pub fn plain_text(runs: &[Run]) -> String {
    runs.iter().map(|run| run.text.as_str()).collect()
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(level: &u8) -> bool {
    *level == 0
}
