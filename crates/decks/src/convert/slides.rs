//! Pieces become slides: headings and rules begin one.

use super::outline::block_lines;
use super::reader::Piece;
use crate::model::{Block, Layout, MAX_HEADING_CHARS, Run, Slide, plain_text};
use crate::text::clean;

#[derive(Default)]
struct Assembly {
    done: Vec<Slide>,
    open: Option<Slide>,
    /// After `Note:`, until the next slide.
    in_notes: bool,
}

pub fn assemble(pieces: Vec<Piece>) -> Vec<Slide> {
    let mut assembly = Assembly::default();
    for piece in pieces {
        assembly.piece(piece);
    }
    assembly.done.extend(assembly.open);
    assembly.done
}

impl Assembly {
    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Heading { level: 1, text } => self.begin(Layout::Title, text),
            Piece::Heading { level: 2, text } => self.begin(Layout::Bullets, text),
            Piece::Heading { text, .. } => self.block(Block::Subheading { text: vec![Run::plain(text)] }),
            Piece::Rule => {
                self.done.extend(self.open.take());
                self.in_notes = false;
            }
            Piece::Block(block) => self.block(block),
            Piece::Note(note) => self.note(&note),
        }
    }

    fn begin(&mut self, layout: Layout, text: String) {
        self.done.extend(self.open.take());
        self.in_notes = false;
        let mut slide = Slide { layout, ..Slide::default() };
        match text.char_indices().nth(MAX_HEADING_CHARS - 1) {
            // Too long for a heading: its beginning is one, and all of it is the first paragraph.
            Some((end, _)) if text.chars().count() > MAX_HEADING_CHARS => {
                slide.heading = format!("{}…", &text[..end]);
                slide.blocks.push(Block::Paragraph { text: vec![Run::plain(text)] });
            }
            _ => slide.heading = text,
        }
        self.open = Some(slide);
    }

    fn block(&mut self, block: Block) {
        if self.in_notes {
            return block_lines(&block).iter().for_each(|line| self.note(line));
        }
        if let Some(note) = note_mark(&block) {
            self.in_notes = true;
            return self.note(&note);
        }
        self.open.get_or_insert_default().blocks.push(block);
    }

    /// A note between two slides belongs to the one before.
    fn note(&mut self, note: &str) {
        let paragraphs = note.split("\n\n").map(clean::line).filter(|line| !line.is_empty());
        let slide = match (&mut self.open, self.done.last_mut()) {
            (None, Some(last)) => last,
            (open, _) => open.get_or_insert_default(),
        };
        slide.notes.extend(paragraphs);
    }
}

/// What follows `Note:` at the start of a paragraph.
fn note_mark(block: &Block) -> Option<String> {
    let Block::Paragraph { text } = block else { return None };
    let text = plain_text(text);
    let rest = ["Note:", "Notes:", "note:", "notes:"].iter().find_map(|mark| text.strip_prefix(mark))?;
    Some(rest.to_owned())
}
