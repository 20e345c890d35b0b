//! Slides that hold too much become several, each with its number: "Plan", "Plan (2)", …
//!
//! Every slide that comes out fits; paginating again changes nothing.

use std::collections::VecDeque;

use super::arrange::layout_for;
use super::chunk::{chunks, join};
use super::fit::{Room, split};
use super::measure::{gap, height};
use super::table::Grid;
use super::title::{SUBTITLE_BOTTOM, SUBTITLE_TOP, body_room};
use super::tone::Tone;
use crate::error::DeckError;
use crate::model::{Block, Deck, Layout, MAX_HEADING_CHARS, MAX_SLIDES, Slide};
use crate::theme::{COLUMN_WIDTH, CONTENT_WIDTH, SUBTITLE_WIDTH};
use crate::watch::{Watch, tell};

pub fn paginate(deck: Deck, watch: Watch<'_>) -> Result<Deck, DeckError> {
    let total = deck.slides.len();
    let mut slides = Vec::with_capacity(total);
    for (index, slide) in deck.slides.into_iter().enumerate() {
        tell(watch, index, total)?;
        slides.extend(slide_pages(slide));
        if slides.len() > MAX_SLIDES {
            let what = "slides, after long ones were continued on further slides";
            return Err(DeckError::too_large(what, slides.len(), MAX_SLIDES));
        }
    }
    tell(watch, total, total)?;
    Ok(Deck { slides, ..deck })
}

fn slide_pages(slide: Slide) -> Vec<Slide> {
    match slide.layout {
        Layout::Title => title_pages(slide),
        Layout::TwoColumn => column_pages(slide),
        layout => {
            let Slide { heading, blocks, notes, .. } = slide;
            let pages =
                pages(blocks, &Tone::of(layout, CONTENT_WIDTH), &|at| body_room(&numbered(&heading, at)));
            let slides = pages.into_iter().enumerate().map(|(at, blocks)| Slide {
                layout,
                heading: numbered(&heading, at),
                blocks,
                ..Slide::default()
            });
            with_notes(slides.collect(), notes)
        }
    }
}

/// A title keeps the paragraphs that fit below it; the rest follows on slides of its own.
fn title_pages(slide: Slide) -> Vec<Slide> {
    let Slide { heading, mut blocks, notes, .. } = slide;
    let tone = Tone::of(Layout::Title, SUBTITLE_WIDTH);
    let (mut kept, mut used) = (0, 0.0);
    while let Some(block @ Block::Paragraph { .. }) = blocks.get(kept) {
        used += height(block, &tone) + gap(blocks[..kept].last(), block, &tone);
        if used > SUBTITLE_BOTTOM - SUBTITLE_TOP {
            break;
        }
        kept += 1;
    }
    let rest = blocks.split_off(kept);
    let title = Slide { layout: Layout::Title, heading: heading.clone(), blocks, ..Slide::default() };
    let mut slides = vec![title];
    if !rest.is_empty() {
        let layout = layout_for(&rest);
        let pages =
            pages(rest, &Tone::of(layout, CONTENT_WIDTH), &|at| body_room(&numbered(&heading, at + 1)));
        slides.extend(pages.into_iter().enumerate().map(|(at, blocks)| Slide {
            layout,
            heading: numbered(&heading, at + 1),
            blocks,
            ..Slide::default()
        }));
    }
    with_notes(slides, notes)
}

fn column_pages(slide: Slide) -> Vec<Slide> {
    let Slide { heading, blocks, right, notes, .. } = slide;
    let tone = Tone::of(Layout::TwoColumn, COLUMN_WIDTH);
    let room = |at: usize| body_room(&numbered(&heading, at));
    let mut left = pages(blocks, &tone, &room).into_iter();
    let mut right = pages(right, &tone, &room).into_iter();
    let slides = (0..left.len().max(right.len())).map(|at| Slide {
        layout: Layout::TwoColumn,
        heading: numbered(&heading, at),
        blocks: left.next().unwrap_or_default(),
        right: right.next().unwrap_or_default(),
        notes: Vec::new(),
    });
    with_notes(slides.collect(), notes)
}

/// What the speaker says stands with the first slide.
fn with_notes(mut slides: Vec<Slide>, notes: Vec<String>) -> Vec<Slide> {
    if let Some(first) = slides.first_mut() {
        first.notes = notes;
    }
    slides
}

fn numbered(heading: &str, at: usize) -> String {
    if at == 0 || heading.is_empty() {
        return heading.to_owned();
    }
    let suffix = format!(" ({})", at + 1);
    let room = MAX_HEADING_CHARS - suffix.chars().count();
    heading.chars().take(room).collect::<String>() + &suffix
}

struct Filling {
    pages: Vec<Vec<(usize, Block)>>,
    used: f32,
}

impl Filling {
    fn page(&mut self) -> &mut Vec<(usize, Block)> {
        if self.pages.is_empty() {
            self.pages.push(Vec::new());
        }
        let last = self.pages.len() - 1;
        &mut self.pages[last]
    }

    /// A new page; a subheading left at the foot of the old one comes along.
    fn turn(&mut self, queue: &mut VecDeque<(usize, Block)>) {
        let page = self.page();
        if page.len() > 1
            && matches!(page.last(), Some((_, Block::Subheading { .. })))
            && let Some(subheading) = page.pop()
        {
            queue.push_front(subheading);
        }
        self.pages.push(Vec::new());
        self.used = 0.0;
    }
}

/// Fills page after page of `room(page)` height; at least one page, perhaps empty.
fn pages(blocks: Vec<Block>, tone: &Tone, room: &dyn Fn(usize) -> f32) -> Vec<Vec<Block>> {
    let mut queue: VecDeque<(usize, Block)> = blocks
        .into_iter()
        .enumerate()
        .flat_map(|(index, block)| {
            chunks(with_low_header(block, tone, room(1))).into_iter().map(move |chunk| (index, chunk))
        })
        .collect();
    let mut filling = Filling { pages: Vec::new(), used: 0.0 };
    while let Some((index, block)) = queue.pop_front() {
        let is_empty = filling.page().is_empty();
        let at = filling.pages.len() - 1;
        let last = filling.page().last().map(|(_, last)| last);
        let above = gap(last, &block, tone) + if is_empty { 0.0 } else { filling.used };
        let tall = height(&block, tone);
        let free = room(at) - above;
        if tall <= free {
            filling.used = above + tall;
            filling.page().push((index, block));
            continue;
        }
        let rather_whole = !is_empty && moves_whole(&block) && tall <= room(at + 1);
        let parts =
            if rather_whole { None } else { split(&block, tone, Room { height: free, is_whole: is_empty }) };
        match parts {
            Some((head, tail)) => {
                filling.page().push((index, head));
                queue.push_front((index, tail));
            }
            // Not even a line fits an empty page: better too low than lost.
            None if is_empty => filling.page().push((index, block)),
            None => queue.push_front((index, block)),
        }
        if !queue.is_empty() {
            filling.turn(&mut queue);
        }
    }
    filling.page();
    filling.pages.into_iter().map(joined).collect()
}

/// Code, tables and quotes are easier to read in one piece.
fn moves_whole(block: &Block) -> bool {
    matches!(block, Block::Code { .. } | Block::Table { .. } | Block::Quote { .. })
}

/// A header that would fill a third of every slide becomes the first row.
fn with_low_header(block: Block, tone: &Tone, room: f32) -> Block {
    match block {
        Block::Table { align, header, mut rows } if is_tall(&header, &rows, tone, room) => {
            let empty = vec![Vec::new(); header.len()];
            rows.insert(0, header);
            Block::Table { align, header: empty, rows }
        }
        other => other,
    }
}

fn is_tall(
    header: &[Vec<crate::model::Run>],
    rows: &[Vec<Vec<crate::model::Run>>],
    tone: &Tone,
    room: f32,
) -> bool {
    Grid::new(header, rows, tone).row_height(header, true) > room / 3.0
}

/// Chunks of the same block that share a page are one block again.
fn joined(page: Vec<(usize, Block)>) -> Vec<Block> {
    let mut out: Vec<(usize, Block)> = Vec::with_capacity(page.len());
    for (index, block) in page {
        match out.last_mut() {
            Some((last, first)) if *last == index => join(first, block),
            _ => out.push((index, block)),
        }
    }
    out.into_iter().map(|(_, block)| block).collect()
}
