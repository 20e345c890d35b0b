//! Cutting a block in two: what still fits, and what goes to the next slide.

use super::Paragraph;
use super::measure::{code_lines, item_paragraph, paragraph_height, paragraphs};
use super::table::Grid;
use super::title::in_points;
use super::tone::{Tone, Type};
use crate::model::{Block, Cell, ListItem, Marker, Run};
use crate::text::wrap::{unwrap, wrap};
use crate::theme::{CELL_PADDING_Y, CODE_PADDING, QUOTE_INSET};

/// The space there is, and whether it is a whole slide's: then even an ugly cut is better than none.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub height: f32,
    pub is_whole: bool,
}

/// Paragraphs of a quote.
type Texts = Vec<Vec<Run>>;

/// Rows of a table.
type Rows = Vec<Vec<Cell>>;

/// Nothing, if no sensible part of the block fits.
pub fn split(block: &Block, tone: &Tone, room: Room) -> Option<(Block, Block)> {
    match block {
        Block::Paragraph { text } => {
            let (head, tail) = split_text(text, tone.body(), tone.width, room)?;
            Some((Block::Paragraph { text: head }, Block::Paragraph { text: tail }))
        }
        Block::Subheading { text } if room.is_whole => {
            let (head, tail) = split_text(text, tone.subheading(), tone.width, room)?;
            Some((Block::Subheading { text: head }, Block::Subheading { text: tail }))
        }
        Block::List { items } => {
            let (head, tail) = split_list(items, tone, room)?;
            Some((Block::List { items: head }, Block::List { items: tail }))
        }
        Block::Code { language, text } => {
            let (head, tail) = split_code(text, tone, room)?;
            let code = |text| Block::Code { language: language.clone(), text };
            Some((code(head), code(tail)))
        }
        Block::Table { align, header, rows } => {
            let table =
                |rows: Vec<Vec<Cell>>| Block::Table { align: align.clone(), header: header.clone(), rows };
            let (head, tail) = split_table(header, rows, tone, room)?;
            Some((table(head), table(tail)))
        }
        Block::Quote { paragraphs, attribution } if room.is_whole => {
            let (head, tail) = split_quote(paragraphs, tone, room)?;
            let head = Block::Quote { paragraphs: head, attribution: None };
            Some((head, Block::Quote { paragraphs: tail, attribution: attribution.clone() }))
        }
        Block::Subheading { .. } | Block::Quote { .. } | Block::Image { .. } => None,
    }
}

fn split_text(runs: &[Run], set: Type, width: f32, room: Room) -> Option<(Vec<Run>, Vec<Run>)> {
    let lines = wrap(runs, set.face, width);
    let fitting =
        lines.iter().enumerate().take_while(|(at, _)| in_points(at + 1) * set.leading <= room.height);
    let keep = fitting.count();
    // One line alone, above or below the cut, looks like a mistake.
    let least = if room.is_whole { 1 } else { 2 };
    if keep < least || keep + least > lines.len() {
        return None;
    }
    let (head, tail) = lines.split_at(keep);
    Some((unwrap(head), unwrap(tail)))
}

fn split_list(items: &[ListItem], tone: &Tone, room: Room) -> Option<(Vec<ListItem>, Vec<ListItem>)> {
    let all = paragraphs(&Block::List { items: items.to_vec() }, tone);
    let keep = fitting(&all, tone.width, room.height);
    if keep > 0 && keep < items.len() {
        return Some((items[..keep].to_vec(), items[keep..].to_vec()));
    }
    let first = items.first().filter(|_| room.is_whole && keep == 0)?;
    let width = tone.width - item_paragraph(first, tone).indent;
    let (head, tail) = split_text(&first.text, tone.item(first.level), width, room)?;
    let head = ListItem { text: head, ..first.clone() };
    let rest = ListItem { text: tail, marker: Marker::None, level: first.level };
    Some((vec![head], [&[rest], &items[1..]].concat()))
}

/// How many paragraphs stand within `room`.
fn fitting(all: &[Paragraph], width: f32, room: f32) -> usize {
    let mut used = 0.0;
    let fits = |(at, paragraph): &(usize, &Paragraph)| {
        used += paragraph_height(paragraph, width);
        used += if *at == 0 { 0.0 } else { paragraph.space_before };
        used <= room
    };
    all.iter().enumerate().take_while(fits).count()
}

fn split_quote(texts: &[Vec<Run>], tone: &Tone, room: Room) -> Option<(Texts, Texts)> {
    let quote = Block::Quote { paragraphs: texts.to_vec(), attribution: None };
    let width = tone.width - QUOTE_INSET;
    let keep = fitting(&paragraphs(&quote, tone), width, room.height);
    match keep {
        0 => {
            let (head, tail) = split_text(texts.first()?, tone.quote(), width, room)?;
            Some((vec![head], [&[tail], &texts[1..]].concat()))
        }
        _ if keep < texts.len() => Some((texts[..keep].to_vec(), texts[keep..].to_vec())),
        // Only the attribution does not fit: it takes the last paragraph along.
        _ if texts.len() > 1 => Some((texts[..keep - 1].to_vec(), texts[keep - 1..].to_vec())),
        _ => split_text(&texts[0], tone.quote(), width, Room { height: room.height / 2.0, ..room })
            .map(|(head, tail)| (vec![head], vec![tail])),
    }
}

fn split_code(text: &str, tone: &Tone, room: Room) -> Option<(String, String)> {
    let leading = tone.code_leading();
    let mut free = room.height - 2.0 * CODE_PADDING;
    let lines: Vec<&str> = text.lines().collect();
    let mut keep = 0;
    for line in &lines {
        free -= in_points(code_lines(line, tone.code, tone.width).len()) * leading;
        if free < 0.0 {
            break;
        }
        keep += 1;
    }
    let least = if room.is_whole { 1 } else { 4 };
    if keep >= least && keep < lines.len() {
        // Empty lines at the cut would only be a gap at an edge.
        let (head, tail) = (lines[..keep].join("\n"), lines[keep..].join("\n"));
        return Some((head.trim_end_matches('\n').to_owned(), tail.trim_start_matches('\n').to_owned()));
    }
    let first = lines.first().filter(|_| room.is_whole && keep == 0)?;
    let parts = code_lines(first, tone.code, tone.width);
    let fits = |at: &usize| in_points(at + 1) * leading <= room.height - 2.0 * CODE_PADDING;
    let keep = (0..parts.len()).take_while(fits).count();
    if keep == 0 || keep == parts.len() {
        return None;
    }
    let tail =
        std::iter::once(parts[keep..].concat()).chain(lines[1..].iter().map(|line| (*line).to_owned()));
    Some((parts[..keep].concat(), tail.collect::<Vec<_>>().join("\n")))
}

fn split_table(header: &[Cell], rows: &[Vec<Cell>], tone: &Tone, room: Room) -> Option<(Rows, Rows)> {
    // Fewer rows may want other columns, so that each cut is measured anew.
    let fits = |rows: &[Vec<Cell>]| Grid::new(header, rows, tone).height(header, rows) <= room.height;
    let least = if room.is_whole { 1 } else { 3 };
    let grid = Grid::new(header, rows, tone);
    let mut used = grid.row_height(header, true);
    let most = rows.iter().take_while(|row| {
        used += grid.row_height(row, false);
        used <= room.height
    });
    let most = most.count().min(rows.len().saturating_sub(1));
    if let Some(keep) = (least..=most).rev().find(|keep| fits(&rows[..*keep])) {
        return Some((rows[..keep].to_vec(), rows[keep..].to_vec()));
    }
    let free = room.height - grid.row_height(header, true) - 2.0 * CELL_PADDING_Y;
    let (head, tail) = split_row(rows.first().filter(|_| room.is_whole)?, &grid, free, &fits)?;
    Some((vec![head], [&[tail], &rows[1..]].concat()))
}

/// A row that is taller than a slide goes on in another row.
fn split_row(
    row: &[Cell],
    grid: &Grid,
    free: f32,
    fits: &dyn Fn(&[Vec<Cell>]) -> bool,
) -> Option<(Vec<Cell>, Vec<Cell>)> {
    let whole: Vec<_> = row.iter().enumerate().map(|(at, cell)| grid.cell_lines(at, cell, false)).collect();
    let tallest = whole.iter().map(Vec::len).max()?;
    let cut = |lines: usize| -> (Vec<Cell>, Vec<Cell>) {
        let halves = whole.iter().map(|cell| cell.split_at(lines.min(cell.len())));
        halves.map(|(head, tail)| (unwrap(head), unwrap(tail))).unzip()
    };
    let most = (1..tallest).take_while(|lines| in_points(*lines) * grid.leading <= free).count();
    (1..=most).rev().map(cut).find(|(head, _)| fits(std::slice::from_ref(head)))
}
