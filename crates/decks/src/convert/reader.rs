//! From the events of a Markdown parser to a row of pieces, in the order of the source.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::html;
use super::inline::{Inline, shortened};
use super::quote;
use super::table::TableReader;
use crate::error::DeckError;
use crate::model::{Block, ListItem, MAX_LIST_LEVEL, Marker, Run, plain_text};
use crate::text::clean;
use crate::watch::{Watch, tell};

#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Heading { level: u8, text: String },
    Rule,
    Block(Block),
    Note(String),
}

/// How many events pass between two looks at the watch.
const STRIDE: usize = 256;

pub fn read(markdown: &str, watch: Watch<'_>) -> Result<Vec<Piece>, DeckError> {
    let mut reader = Reader::default();
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).into_offset_iter();
    for (count, (event, place)) in events.enumerate() {
        if count % STRIDE == STRIDE - 1 {
            tell(watch, place.start, markdown.len())?;
        }
        reader.event(event);
    }
    reader.break_out();
    Ok(reader.pieces)
}

#[derive(Default)]
struct Reader {
    pieces: Vec<Piece>,
    inline: Inline,
    /// One for each list we are inside, with the next number of a numbered one.
    lists: Vec<Option<u32>>,
    /// The marker of the item being read, until its first text takes it.
    marker: Option<Marker>,
    items: Vec<ListItem>,
    quotes: usize,
    quoted: Vec<Vec<Run>>,
    code: Option<(Option<String>, String)>,
    html: Option<String>,
    table: Option<TableReader>,
}

impl Reader {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match (&mut self.code, &mut self.html) {
                (Some((_, code)), _) => code.push_str(&text),
                (_, Some(html)) => html.push_str(&text),
                _ => self.inline.text(&text),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => self.inline.code(&text),
            Event::Html(text) => self.html.get_or_insert_default().push_str(&text),
            Event::InlineHtml(tag) => self.inline_html(&tag),
            Event::SoftBreak => self.inline.soft_break(if self.quotes > 0 { quote::SOFT } else { ' ' }),
            Event::HardBreak => self.inline.hard_break(),
            Event::Rule if self.is_plain() => {
                self.break_out();
                self.pieces.push(Piece::Rule);
            }
            Event::Rule | Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } => self.flush_text(),
            Tag::BlockQuote(_) => {
                self.flush_text();
                self.finish_list();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.break_out();
                self.code = Some((language(&kind), String::new()));
            }
            Tag::HtmlBlock => {
                self.flush_text();
                self.html = Some(String::new());
            }
            Tag::List(first) => {
                self.flush_text();
                self.lists.push(first.map(|first| u32::try_from(first).unwrap_or(u32::MAX)));
            }
            Tag::Item => {
                self.flush_text();
                self.marker = Some(self.next_marker());
            }
            Tag::Table(align) => {
                self.break_out();
                self.table = Some(TableReader::new(&align));
            }
            Tag::Strong => self.inline.bold(true),
            Tag::Emphasis => self.inline.italic(true),
            Tag::Link { dest_url, .. } => self.inline.start_link(&dest_url),
            Tag::Image { dest_url, .. } => self.inline.start_picture(&dest_url),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.heading(level),
            TagEnd::Paragraph | TagEnd::Item => self.flush_text(),
            TagEnd::BlockQuote(_) => {
                self.flush_text();
                self.quotes = self.quotes.saturating_sub(1);
                if self.quotes == 0 {
                    self.finish_quote();
                }
            }
            TagEnd::CodeBlock => self.finish_code(),
            TagEnd::HtmlBlock => self.finish_html(),
            TagEnd::List(_) => {
                self.flush_text();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.finish_list();
                }
            }
            TagEnd::TableCell => {
                let cell = self.inline.take().unwrap_or_default();
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                let is_header = tag == TagEnd::TableHead;
                self.table.iter_mut().for_each(|table| table.finish_row(is_header));
            }
            TagEnd::Table => self.finish_table(),
            TagEnd::Strong => self.inline.bold(false),
            TagEnd::Emphasis => self.inline.italic(false),
            TagEnd::Link => self.inline.end_link(),
            TagEnd::Image => self.finish_picture(),
            _ => {}
        }
    }

    /// Not inside a list or a quote.
    fn is_plain(&self) -> bool {
        self.lists.is_empty() && self.quotes == 0
    }

    fn next_marker(&mut self) -> Marker {
        match self.lists.last_mut() {
            Some(Some(next)) => {
                let number = *next;
                *next = next.saturating_add(1);
                Marker::Number(number)
            }
            _ => Marker::Bullet,
        }
    }

    fn heading(&mut self, level: HeadingLevel) {
        if !self.is_plain() {
            return self.flush_text();
        }
        if let Some(runs) = self.inline.take() {
            let text = clean::line(&plain_text(&runs));
            self.pieces.push(Piece::Heading { level: level as u8, text });
        }
    }

    /// Gives the text read so far to the innermost thing that wants it.
    fn flush_text(&mut self) {
        let Some(text) = self.inline.take() else { return };
        if self.quotes > 0 {
            self.quoted.push(text);
        } else if self.lists.is_empty() {
            self.pieces.push(Piece::Block(Block::Paragraph { text }));
        } else {
            let level = u8::try_from(self.lists.len() - 1).unwrap_or(u8::MAX).min(MAX_LIST_LEVEL);
            let marker = self.marker.take().unwrap_or(Marker::None);
            self.items.push(ListItem { level, marker, text });
        }
    }

    /// Ends what is open, since something that stands on its own follows.
    fn break_out(&mut self) {
        self.flush_text();
        self.finish_list();
        self.finish_quote();
    }

    fn finish_list(&mut self) {
        let items = std::mem::take(&mut self.items);
        if !items.is_empty() {
            self.pieces.push(Piece::Block(Block::List { items }));
        }
    }

    fn finish_quote(&mut self) {
        self.pieces.extend(quote::finished(std::mem::take(&mut self.quoted)).map(Piece::Block));
    }

    fn finish_code(&mut self) {
        if let Some((language, text)) = self.code.take() {
            let text = clean::text(&text).replace('\t', "    ");
            let text = text.trim_end().to_owned();
            self.pieces.push(Piece::Block(Block::Code { language, text }));
        }
    }

    fn finish_html(&mut self) {
        let heard = html::heard(&self.html.take().unwrap_or_default());
        self.inline.text(&clean::line(&heard.text));
        self.flush_text();
        self.pieces.extend(heard.notes.iter().map(|note| Piece::Note(clean::text(note))));
    }

    fn inline_html(&mut self, tag: &str) {
        let name = tag.trim_start_matches('<').trim_end_matches(['>', '/', ' ']);
        if name.eq_ignore_ascii_case("br") {
            self.inline.hard_break();
        }
        let notes = html::heard(tag).notes;
        self.pieces.extend(notes.iter().map(|note| Piece::Note(clean::text(note))));
    }

    fn finish_picture(&mut self) {
        let Some(picture) = self.inline.end_picture() else { return };
        if self.is_plain() && self.table.is_none() {
            self.flush_text();
            self.pieces.push(Piece::Block(Block::Image { alt: picture.alt, source: picture.source }));
        } else {
            self.inline.picture_in_text(&picture);
        }
    }

    fn finish_table(&mut self) {
        self.pieces.extend(self.table.take().and_then(TableReader::finished).map(Piece::Block));
    }
}

fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let word = clean::line(info).split([' ', ',', '{']).next().map(shortened);
    word.filter(|word| !word.is_empty())
}
