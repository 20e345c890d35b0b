//! Large blocks as a row of small ones, so that cutting them into slides takes time in proportion to their size.
//!
//! A chunk is at least a slide's worth, and a few at most; neighbours that end up on one slide are joined again.

use crate::model::{Block, Cell, ListItem, Marker, Run};

const LETTERS: usize = 3000;
const ITEMS: usize = 40;
const CODE_LINES: usize = 60;
const ROWS: usize = 40;

pub fn chunks(block: Block) -> Vec<Block> {
    match block {
        Block::Paragraph { text } => {
            runs_chunks(text).into_iter().map(|text| Block::Paragraph { text }).collect()
        }
        Block::Subheading { text } => {
            runs_chunks(text).into_iter().map(|text| Block::Subheading { text }).collect()
        }
        Block::List { items } => {
            let items: Vec<ListItem> = items.into_iter().flat_map(item_chunks).collect();
            items.chunks(ITEMS).map(|items| Block::List { items: items.to_vec() }).collect()
        }
        Block::Code { language, text } => code_chunks(&text)
            .into_iter()
            .map(|text| Block::Code { language: language.clone(), text })
            .collect(),
        Block::Table { align, header, rows } => {
            let rows: Vec<Vec<Cell>> = rows.into_iter().flat_map(row_chunks).collect();
            if rows.is_empty() {
                return vec![Block::Table { align, header, rows }];
            }
            rows.chunks(ROWS)
                .map(|rows| Block::Table {
                    align: align.clone(),
                    header: header.clone(),
                    rows: rows.to_vec(),
                })
                .collect()
        }
        Block::Quote { paragraphs, attribution } => quote_chunks(paragraphs, attribution),
        Block::Image { .. } => vec![block],
    }
}

/// Puts a chunk back to the one before it, if it is of the same block.
pub fn join(first: &mut Block, second: Block) {
    match (first, second) {
        (Block::Paragraph { text }, Block::Paragraph { text: more })
        | (Block::Subheading { text }, Block::Subheading { text: more }) => {
            more.into_iter().for_each(|run| crate::text::wrap::push(text, run));
        }
        (Block::List { items }, Block::List { items: more }) => items.extend(more),
        (Block::Code { text, .. }, Block::Code { text: more, .. }) => {
            text.push('\n');
            text.push_str(&more);
        }
        (Block::Table { rows, .. }, Block::Table { rows: more, .. }) => rows.extend(more),
        (Block::Quote { paragraphs, attribution }, Block::Quote { paragraphs: more, attribution: by }) => {
            paragraphs.extend(more);
            *attribution = by;
        }
        _ => {}
    }
}

fn item_chunks(item: ListItem) -> Vec<ListItem> {
    let ListItem { level, marker, text } = item;
    let parts = runs_chunks(text).into_iter().enumerate();
    parts
        .map(|(index, text)| {
            let marker = if index == 0 { marker } else { Marker::None };
            ListItem { level, marker, text }
        })
        .collect()
}

/// A row with a very long cell goes on in further rows.
fn row_chunks(row: Vec<Cell>) -> Vec<Vec<Cell>> {
    let mut columns: Vec<_> = row.into_iter().map(|cell| runs_chunks(cell).into_iter()).collect();
    let height = columns.iter().map(ExactSizeIterator::len).max().unwrap_or(0);
    (0..height).map(|_| columns.iter_mut().map(|parts| parts.next().unwrap_or_default()).collect()).collect()
}

fn quote_chunks(paragraphs: Vec<Vec<Run>>, attribution: Option<String>) -> Vec<Block> {
    let all: Vec<Vec<Run>> = paragraphs.into_iter().flat_map(runs_chunks).collect();
    let groups: Vec<Vec<Vec<Run>>> =
        if all.is_empty() { vec![all] } else { all.chunks(ITEMS).map(<[_]>::to_vec).collect() };
    let last = groups.len() - 1;
    let by = |index| if index == last { attribution.clone() } else { None };
    let groups = groups.into_iter().enumerate();
    groups.map(|(index, paragraphs)| Block::Quote { paragraphs, attribution: by(index) }).collect()
}

fn code_chunks(text: &str) -> Vec<String> {
    let lines: Vec<String> = text
        .lines()
        .flat_map(|line| {
            let letters: Vec<char> = line.chars().collect();
            let pieces: Vec<String> = letters.chunks(LETTERS).map(|part| part.iter().collect()).collect();
            if pieces.is_empty() { vec![String::new()] } else { pieces }
        })
        .collect();
    if lines.is_empty() {
        return vec![String::new()];
    }
    lines.chunks(CODE_LINES).map(|lines| lines.join("\n")).collect()
}

/// Cut after a space where there is one.
fn runs_chunks(runs: Vec<Run>) -> Vec<Vec<Run>> {
    let mut chunks = vec![Vec::new()];
    let mut filled = 0;
    for run in runs {
        let mut rest = run.text.as_str();
        while !rest.is_empty() {
            let end = cut(rest, LETTERS - filled);
            let (piece, after) = rest.split_at(end);
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(run.with_text(piece));
            }
            filled += piece.chars().count();
            rest = after;
            if filled >= LETTERS || !rest.is_empty() {
                chunks.push(Vec::new());
                filled = 0;
            }
        }
    }
    if chunks.len() > 1 && chunks.last().is_some_and(Vec::is_empty) {
        chunks.pop();
    }
    chunks
}

/// The byte at which `text` is cut to have at most `letters` characters.
fn cut(text: &str, letters: usize) -> usize {
    let Some((limit, _)) = text.char_indices().nth(letters) else { return text.len() };
    text[..limit].rfind(' ').map_or(limit, |space| space + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::plain_text;

    #[test]
    fn a_long_paragraph_is_the_same_text_in_pieces() {
        let text = "word ".repeat(2000);
        let parts = chunks(Block::Paragraph { text: vec![Run::plain(&text)] });
        assert_eq!(parts.len(), 4);
        let mut parts = parts.into_iter();
        let mut whole = parts.next().unwrap();
        parts.for_each(|part| join(&mut whole, part));
        assert_eq!(whole, Block::Paragraph { text: vec![Run::plain(text)] });
    }

    #[test]
    fn a_word_without_end_is_cut_all_the_same() {
        let parts = runs_chunks(vec![Run::plain("x".repeat(7000))]);
        assert_eq!(parts.iter().map(|runs| plain_text(runs).len()).collect::<Vec<_>>(), [3000, 3000, 1000]);
    }

    #[test]
    fn a_long_cell_goes_on_in_another_row() {
        let row = vec![vec![Run::plain("y".repeat(4000))], vec![Run::plain("short")]];
        let rows = row_chunks(row);
        assert_eq!(rows.len(), 2);
        assert!(rows[1][1].is_empty());
    }
}
