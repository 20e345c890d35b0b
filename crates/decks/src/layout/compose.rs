//! Giving each part of a fitting slide its place.

use super::measure::{
    IMAGE_HEIGHT, code_lines, column_height, gap, gap_before, height, is_text, paragraphs, plain, stacked,
};
use super::scale::{is_continued, largest_fitting};
use super::table::table_box;
use super::title::{SUBTITLE_BOTTOM, SUBTITLE_TOP, TITLE_BASE, body_room, body_top, heading, heading_top};
use super::tone::{Tone, spaced};
use super::{CodeBox, Element, Page, PageKind, Paragraph, Rect, Role, TableBox, TextBox};
use crate::model::{Align, Block, Deck, Layout, Run, Slide};
use crate::text::metrics::Face;
use crate::theme::{COLUMN_GAP, COLUMN_WIDTH, CONTENT_WIDTH, INK_SOFT, MARGIN, QUOTE_INSET, SUBTITLE_WIDTH};

const BAR_WIDTH: f32 = 4.0;
const AUTHOR_TOP: f32 = 478.0;

/// The page of the slide at `index`, which should fit (see [`super::paginate`]).
#[must_use]
pub fn compose(deck: &Deck, index: usize) -> Page {
    let slide = &deck.slides[index];
    let may_grow = !is_continued(deck, index);
    let (kind, elements) = match slide.layout {
        Layout::Title => (PageKind::Title, title(slide, deck.author.as_deref().filter(|_| index == 0))),
        Layout::TwoColumn => (PageKind::TwoColumn, columns(slide, may_grow)),
        _ => (PageKind::Content, content(slide, may_grow)),
    };
    let kind = if slide.heading.is_empty() && kind != PageKind::Title { PageKind::Bare } else { kind };
    Page { number: index + 1, kind, elements, notes: slide.notes.clone(), heading: slide.heading.clone() }
}

fn title(slide: &Slide, author: Option<&str>) -> Vec<Element> {
    let measured = heading(&slide.heading, true);
    let rect =
        Rect { x: MARGIN, y: TITLE_BASE - measured.height, width: CONTENT_WIDTH, height: measured.height };
    let text = plain(&[Run::plain(&slide.heading)], measured.set, 0.0);
    let mut elements = vec![Element::Text(text_box(Role::Heading, rect, vec![text]))];
    let tone = Tone::of(Layout::Title, SUBTITLE_WIDTH);
    let below: Vec<Paragraph> = slide.blocks.iter().flat_map(|block| paragraphs(block, &tone)).collect();
    if !below.is_empty() {
        let below = below.into_iter().map(|paragraph| Paragraph { colour: INK_SOFT, ..paragraph }).collect();
        let height = SUBTITLE_BOTTOM - SUBTITLE_TOP;
        let rect = Rect { x: MARGIN, y: SUBTITLE_TOP, width: SUBTITLE_WIDTH, height };
        elements.push(Element::Text(text_box(Role::Subtitle, rect, below)));
    }
    if let Some(author) = author {
        let set = spaced(Face::regular(15.0));
        let text = Paragraph { colour: INK_SOFT, ..plain(&[Run::plain(author)], set, 0.0) };
        let rect = Rect { x: MARGIN, y: AUTHOR_TOP, width: CONTENT_WIDTH, height: set.leading };
        elements.push(Element::Text(text_box(Role::Extra, rect, vec![text])));
    }
    elements
}

fn content(slide: &Slide, may_grow: bool) -> Vec<Element> {
    let mut elements = slide_heading(slide);
    let room = body_room(&slide.heading);
    let mut tone = Tone::of(slide.layout, CONTENT_WIDTH);
    if may_grow {
        tone = largest_fitting(tone, &[&slide.blocks], room);
    }
    let mut y = body_top(&slide.heading);
    if stands_alone(slide) {
        y += ((room - column_height(&slide.blocks, &tone)) * 0.4).max(0.0);
    }
    let image_height = match slide.blocks.as_slice() {
        [Block::Image { .. }] => room,
        _ => IMAGE_HEIGHT,
    };
    elements.extend(Column { x: MARGIN, tone, role: Role::Body, image_height }.filled(&slide.blocks, y));
    elements
}

/// A quote on its own, or a few words without a heading, stand in the middle, a little above it.
fn stands_alone(slide: &Slide) -> bool {
    let is_words = |block: &Block| matches!(block, Block::Paragraph { .. } | Block::Quote { .. });
    match slide.blocks.as_slice() {
        [Block::Quote { .. }] => true,
        blocks => slide.heading.is_empty() && blocks.iter().all(is_words),
    }
}

fn columns(slide: &Slide, may_grow: bool) -> Vec<Element> {
    let mut elements = slide_heading(slide);
    let mut tone = Tone::of(Layout::TwoColumn, COLUMN_WIDTH);
    if may_grow {
        tone = largest_fitting(tone, &[&slide.blocks, &slide.right], body_room(&slide.heading));
    }
    let y = body_top(&slide.heading);
    let left = Column { x: MARGIN, tone, role: Role::Body, image_height: IMAGE_HEIGHT };
    let right = Column { x: MARGIN + COLUMN_WIDTH + COLUMN_GAP, role: Role::Right, ..left };
    elements.extend(left.filled(&slide.blocks, y));
    elements.extend(right.filled(&slide.right, y));
    elements
}

fn slide_heading(slide: &Slide) -> Vec<Element> {
    if slide.heading.is_empty() {
        return Vec::new();
    }
    let measured = heading(&slide.heading, false);
    let rect = Rect { x: MARGIN, y: heading_top(), width: CONTENT_WIDTH, height: measured.height };
    let text = plain(&[Run::plain(&slide.heading)], measured.set, 0.0);
    vec![Element::Text(text_box(Role::Heading, rect, vec![text]))]
}

fn text_box(role: Role, rect: Rect, paragraphs: Vec<Paragraph>) -> TextBox {
    TextBox { role, rect, align: Align::Left, paragraphs }
}

#[derive(Clone, Copy)]
struct Column {
    x: f32,
    tone: Tone,
    /// Of the first text; a layout has one placeholder for each column.
    role: Role,
    image_height: f32,
}

impl Column {
    fn filled(&self, blocks: &[Block], top: f32) -> Vec<Element> {
        let mut elements = Vec::new();
        let mut role = self.role;
        let mut y = top;
        let mut above = None;
        // Text blocks under one another share a box, so that they can be edited as one.
        for group in blocks.chunk_by(|a, b| is_text(a) && is_text(b)) {
            y += gap(above, &group[0], &self.tone);
            above = group.last();
            let element = if is_text(&group[0]) {
                let used = std::mem::replace(&mut role, Role::Extra);
                self.text(group, used, y)
            } else {
                self.element(&group[0], y)
            };
            y += element.rect().height;
            elements.push(element);
        }
        elements
    }

    fn text(&self, blocks: &[Block], role: Role, y: f32) -> Element {
        let mut all = Vec::new();
        for block in blocks {
            let mut some = paragraphs(block, &self.tone);
            if let Some(first) = some.first_mut() {
                first.space_before = gap_before(block, &self.tone);
            }
            all.extend(some);
        }
        let height = stacked(&all, self.tone.width);
        let rect = Rect { x: self.x, y, width: self.tone.width, height };
        Element::Text(text_box(role, rect, all))
    }

    fn element(&self, block: &Block, y: f32) -> Element {
        let (x, width) = (self.x, self.tone.width);
        let tall = height(block, &self.tone);
        match block {
            Block::Code { language, text } => Element::Code(CodeBox {
                rect: Rect { x, y, width, height: tall },
                language: language.clone(),
                lines: code_lines(text, self.tone.code, width),
                size: self.tone.code,
                leading: self.tone.code_leading(),
            }),
            Block::Table { align, header, rows } => {
                let table = table_box(header, rows, &self.tone, x, y);
                Element::Table(TableBox { align: align.clone(), ..table })
            }
            Block::Image { alt, source } => {
                let rect = Rect { x, y, width, height: self.image_height };
                Element::Image { rect, text: image_text(alt, source.as_deref(), rect) }
            }
            _ => {
                let bar = Rect { x, y, width: BAR_WIDTH, height: tall };
                let rect = Rect { x: x + QUOTE_INSET, y, width: width - QUOTE_INSET, height: tall };
                Element::Quote { bar, text: text_box(Role::Extra, rect, paragraphs(block, &self.tone)) }
            }
        }
    }
}

fn image_text(alt: &str, source: Option<&str>, frame: Rect) -> TextBox {
    let width = frame.width - 80.0;
    let mut lines = Vec::new();
    let alt = if alt.is_empty() { "Picture" } else { alt };
    lines.push(Paragraph { colour: INK_SOFT, ..plain(&[Run::plain(alt)], spaced(Face::regular(18.0)), 0.0) });
    if let Some(source) = source {
        let set = spaced(Face::regular(12.0));
        lines.push(Paragraph { colour: INK_SOFT, ..plain(&[Run::plain(source)], set, 6.0) });
    }
    let height = stacked(&lines, width);
    let y = frame.y + ((frame.height - height) / 2.0).max(0.0);
    let rect = Rect { x: frame.x + 40.0, y, width, height };
    TextBox { role: Role::Extra, rect, align: Align::Center, paragraphs: lines }
}
