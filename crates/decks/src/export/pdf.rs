//! A PDF of 16:9 pages, in the standard fonts every reader has.
//!
//! Text is WinAnsi (see [`crate::text::winansi`]), so it can be searched and copied. Content is compressed. There are no
//! dates and no random ids: the same deck is the same file.

use super::Label;
use crate::error::DeckError;
use crate::layout::Page;
use crate::model::Deck;
use crate::watch::Watch;

mod canvas;
mod draw;
mod file;
mod font;
mod lines;

/// Pages drawn so far.
pub struct Document {
    label: Label,
    footer: String,
    slide_count: usize,
    pages: Vec<DrawnPage>,
}

/// One page's operators, compressed, and what the file has to say about them.
struct DrawnPage {
    heading: String,
    content: Vec<u8>,
    links: Vec<Link>,
}

/// An area that can be clicked: left, top, width and height on the canvas.
struct Link {
    area: crate::layout::Rect,
    target: String,
}

impl Document {
    pub fn new(deck: &Deck, label: Label) -> Self {
        let slide_count = deck.slides.len();
        Self { label, footer: deck.title.clone(), slide_count, pages: Vec::new() }
    }

    pub fn add(&mut self, page: &Page) -> Result<(), DeckError> {
        let drawn = draw::page(page, &self.footer, self.slide_count)?;
        self.pages.push(drawn);
        Ok(())
    }

    pub fn finish(self, watch: Watch<'_>) -> Result<Vec<u8>, DeckError> {
        file::written(&self, watch)
    }
}
