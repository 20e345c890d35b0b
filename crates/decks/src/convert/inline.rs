//! The text of one paragraph while it is being read.

use crate::model::{MAX_LABEL_CHARS, Run};
use crate::text::{clean, link, wrap};

#[derive(Default)]
pub struct Inline {
    runs: Vec<Run>,
    bold: usize,
    italic: usize,
    links: Vec<Option<String>>,
    /// The picture being read: how deep we are in it, its address and its words.
    picture: Option<(usize, String, String)>,
}

pub struct Picture {
    pub alt: String,
    pub source: Option<String>,
}

impl Inline {
    pub fn text(&mut self, text: &str) {
        self.push(&clean::text(text).replace('\t', " "), false);
    }

    pub fn code(&mut self, text: &str) {
        self.push(&clean::line(text), true);
    }

    /// A line end that is only there in the source.
    pub fn soft_break(&mut self, mark: char) {
        self.push(&mark.to_string(), false);
    }

    pub fn hard_break(&mut self) {
        self.push("\n", false);
    }

    fn push(&mut self, text: &str, code: bool) {
        if let Some((_, _, alt)) = &mut self.picture {
            alt.push_str(text);
            return;
        }
        let link = self.links.iter().rev().flatten().next().cloned();
        let run = Run { text: text.to_owned(), bold: self.bold > 0, italic: self.italic > 0, code, link };
        wrap::push(&mut self.runs, run);
    }

    pub fn bold(&mut self, starts: bool) {
        self.bold = if starts { self.bold + 1 } else { self.bold.saturating_sub(1) };
    }

    pub fn italic(&mut self, starts: bool) {
        self.italic = if starts { self.italic + 1 } else { self.italic.saturating_sub(1) };
    }

    /// A link that leads nowhere harmless is only its text.
    pub fn start_link(&mut self, target: &str) {
        self.links.push(link::harmless(target));
    }

    pub fn end_link(&mut self) {
        self.links.pop();
    }

    pub fn start_picture(&mut self, target: &str) {
        match &mut self.picture {
            Some((depth, ..)) => *depth += 1,
            None => self.picture = Some((1, target.to_owned(), String::new())),
        }
    }

    /// The picture, when its outermost end is reached.
    pub fn end_picture(&mut self) -> Option<Picture> {
        let (depth, ..) = self.picture.as_mut()?;
        *depth -= 1;
        if *depth > 0 {
            return None;
        }
        let (_, target, alt) = self.picture.take()?;
        let source = shortened(&clean::line(&target));
        Some(Picture { alt: shortened(&clean::line(&alt)), source: Some(source).filter(|s| !s.is_empty()) })
    }

    /// Words of a picture that has no place of its own.
    pub fn picture_in_text(&mut self, picture: &Picture) {
        self.italic(true);
        self.push(&picture.alt, false);
        self.italic(false);
    }

    /// The runs so far, without space at either end; nothing if there are none.
    pub fn take(&mut self) -> Option<Vec<Run>> {
        let mut runs = std::mem::take(&mut self.runs);
        trim(&mut runs);
        (!runs.is_empty()).then_some(runs)
    }
}

fn trim(runs: &mut Vec<Run>) {
    while let Some(first) = runs.first_mut() {
        first.text = first.text.trim_start().to_owned();
        if !first.text.is_empty() {
            break;
        }
        runs.remove(0);
    }
    while let Some(last) = runs.last_mut() {
        last.text = last.text.trim_end().to_owned();
        if !last.text.is_empty() {
            break;
        }
        runs.pop();
    }
}

/// At most a label's length, with an ellipsis where something is missing.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_LABEL_CHARS - 1) {
        Some((end, _)) if text.chars().count() > MAX_LABEL_CHARS => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}
