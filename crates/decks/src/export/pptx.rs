//! Office Open XML: a presentation as a zip of XML parts.
//!
//! One master, four layouts, a theme in the dashboard's colours. Headings, bodies, footers and slide numbers are real
//! placeholders, so that the outline view works and another theme can be applied.

use crate::error::DeckError;
use crate::layout::Page;
use crate::model::Deck;
use crate::watch::Watch;

mod package;
mod presentation;
mod rels;
mod shapes;
mod slide;
mod table;
mod text;
mod xml;

/// The parts written so far, by their names in the package.
pub struct Package {
    title: String,
    author: Option<String>,
    slides: Vec<SlideParts>,
}

struct SlideParts {
    slide: String,
    rels: String,
    notes: Option<String>,
}

impl Package {
    pub fn new(deck: &Deck) -> Self {
        Self { title: deck.title.clone(), author: deck.author.clone(), slides: Vec::new() }
    }

    pub fn add(&mut self, page: &Page) {
        self.slides.push(slide::parts(page, &self.title));
    }

    pub fn finish(self, watch: Watch<'_>) -> Result<Vec<u8>, DeckError> {
        package::zipped(presentation::parts(&self), watch)
    }
}
