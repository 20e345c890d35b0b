//! What the types of a deck cannot say: bounds, and links that lead somewhere harmless.

use super::{
    Block, Deck, Layout, MAX_HEADING_CHARS, MAX_LABEL_CHARS, MAX_LIST_LEVEL, MAX_SLIDES, MAX_TABLE_COLUMNS,
    Run, Slide,
};
use crate::error::DeckError;
use crate::text::link;

impl Deck {
    /// Everything the layout and the writers rely on; an error names the slide, counted from 1.
    pub(crate) fn check(&self) -> Result<(), DeckError> {
        if self.slides.is_empty() {
            return Err(DeckError::Invalid("the deck has no slides".to_owned()));
        }
        if self.slides.len() > MAX_SLIDES {
            return Err(DeckError::too_large("slides", self.slides.len(), MAX_SLIDES));
        }
        check_label("title", Some(&self.title))?;
        check_label("author", self.author.as_ref())?;
        for (index, slide) in self.slides.iter().enumerate() {
            check_slide(slide).map_err(|error| on_slide(index + 1, error))?;
        }
        Ok(())
    }
}

fn on_slide(number: usize, error: DeckError) -> DeckError {
    match error {
        DeckError::Invalid(why) => DeckError::Invalid(format!("slide {number}: {why}")),
        DeckError::TooLarge { what, found, limit } => {
            DeckError::too_large(format!("slide {number}: {what}"), found, limit)
        }
        other => other,
    }
}

fn check_slide(slide: &Slide) -> Result<(), DeckError> {
    let length = slide.heading.chars().count();
    if length > MAX_HEADING_CHARS {
        return Err(DeckError::too_large("characters of the heading", length, MAX_HEADING_CHARS));
    }
    if !slide.right.is_empty() && slide.layout != Layout::TwoColumn {
        return Err(DeckError::Invalid("`right` is only for the layout two_column".to_owned()));
    }
    slide.blocks.iter().chain(&slide.right).try_for_each(check_block)
}

fn check_block(block: &Block) -> Result<(), DeckError> {
    match block {
        Block::Paragraph { text } | Block::Subheading { text } => check_links(text),
        Block::List { items } => items.iter().try_for_each(|item| {
            if item.level > MAX_LIST_LEVEL {
                let (found, limit) = (item.level.into(), MAX_LIST_LEVEL.into());
                return Err(DeckError::too_large("level of a list item", found, limit));
            }
            check_links(&item.text)
        }),
        Block::Table { align, header, rows } => {
            if !align.is_empty() && align.len() != header.len() {
                return Err(DeckError::Invalid("`align` needs one entry for each column".to_owned()));
            }
            check_table(header, rows)
        }
        Block::Quote { paragraphs, attribution } => {
            check_label("attribution", attribution.as_ref())?;
            paragraphs.iter().try_for_each(|text| check_links(text))
        }
        Block::Code { language, .. } => check_label("language", language.as_ref()),
        Block::Image { alt, source } => {
            check_label("alt", Some(alt))?;
            check_label("source", source.as_ref())
        }
    }
}

fn check_label(name: &str, label: Option<&String>) -> Result<(), DeckError> {
    let length = label.map_or(0, |label| label.chars().count());
    if length > MAX_LABEL_CHARS {
        return Err(DeckError::too_large(format!("characters of `{name}`"), length, MAX_LABEL_CHARS));
    }
    Ok(())
}

fn check_table(header: &[Vec<Run>], rows: &[Vec<Vec<Run>>]) -> Result<(), DeckError> {
    let columns = header.len();
    if columns == 0 {
        return Err(DeckError::Invalid("a table needs at least one column".to_owned()));
    }
    if columns > MAX_TABLE_COLUMNS {
        return Err(DeckError::too_large("columns of a table", columns, MAX_TABLE_COLUMNS));
    }
    if let Some(row) = rows.iter().find(|row| row.len() != columns) {
        let found = row.len();
        return Err(DeckError::Invalid(format!("a table of {columns} columns has a row of {found} cells")));
    }
    header.iter().chain(rows.iter().flatten()).try_for_each(|cell| check_links(cell))
}

fn check_links(runs: &[Run]) -> Result<(), DeckError> {
    let links = runs.iter().filter_map(|run| run.link.as_deref());
    for target in links {
        if link::harmless(target).is_none() {
            return Err(DeckError::Invalid(format!(
                "the link {target:?} is not an absolute http, https or mailto address"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deck(slides: Vec<Slide>) -> Deck {
        Deck { version: 1, title: "T".to_owned(), author: None, slides }
    }

    fn slide(block: Block) -> Slide {
        Slide { blocks: vec![block], ..Slide::default() }
    }

    #[test]
    fn the_last_slide_that_fits_is_accepted_and_one_more_is_not() {
        assert_eq!(deck(vec![Slide::default(); MAX_SLIDES]).check(), Ok(()));
        let error = deck(vec![Slide::default(); MAX_SLIDES + 1]).check().unwrap_err();
        assert_eq!(error.to_string(), "slides: 501, at most 500 are accepted");
    }

    #[test]
    fn a_script_behind_a_link_is_refused() {
        let run = Run { link: Some("javascript:alert(1)".to_owned()), ..Run::plain("x") };
        let error = deck(vec![slide(Block::Paragraph { text: vec![run] })]).check().unwrap_err();
        assert!(error.to_string().starts_with("slide 1: the link"), "{error}");
    }

    #[test]
    fn a_ragged_table_is_refused() {
        let table = Block::Table { align: vec![], header: vec![vec![], vec![]], rows: vec![vec![vec![]]] };
        let error = deck(vec![Slide::default(), slide(table)]).check().unwrap_err();
        assert_eq!(error.to_string(), "slide 2: a table of 2 columns has a row of 1 cells");
    }

    #[test]
    fn a_right_column_needs_two_columns() {
        let stray = Slide { right: vec![Block::Paragraph { text: vec![] }], ..Slide::default() };
        assert!(deck(vec![stray]).check().is_err());
    }
}
