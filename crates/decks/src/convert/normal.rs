//! The draft as a deck: layouts chosen, titles found, nothing too long for its slide.

use super::Draft;
use crate::error::DeckError;
use crate::layout::{layout_for, paginate};
use crate::model::{Block, DECK_VERSION, Deck, Layout, MAX_LABEL_CHARS, Slide};
use crate::watch::Watch;

const UNTITLED: &str = "Untitled deck";

/// The watch counts slides of the draft.
pub fn normalize(draft: Draft, watch: Watch<'_>) -> Result<Deck, DeckError> {
    let Draft { title, author, mut slides } = draft;
    // A deck that names itself and does not begin with a title slide gets one.
    if let Some(title) = title.as_ref().filter(|_| !begins_with_title(&slides)) {
        slides.insert(0, Slide { layout: Layout::Title, heading: title.clone(), ..Slide::default() });
    }
    if slides.is_empty() {
        return Err(DeckError::Invalid("the source holds nothing that could become a slide".to_owned()));
    }
    let title = title.unwrap_or_else(|| first_heading(&slides));
    let slides = slides.into_iter().map(arranged).collect();
    let deck = Deck { version: DECK_VERSION, title, author, slides };
    let deck = paginate(deck, watch)?;
    deck.check()?;
    Ok(deck)
}

fn begins_with_title(slides: &[Slide]) -> bool {
    slides.first().is_some_and(|slide| slide.layout == Layout::Title)
}

fn first_heading(slides: &[Slide]) -> String {
    let headings = || slides.iter().filter(|slide| !slide.heading.is_empty());
    let title = headings().find(|slide| slide.layout == Layout::Title).or_else(|| headings().next());
    title.map_or(UNTITLED, |slide| &slide.heading).chars().take(MAX_LABEL_CHARS).collect()
}

fn arranged(mut slide: Slide) -> Slide {
    if slide.layout == Layout::Title {
        return slide;
    }
    match second_column(&slide.blocks) {
        Some(at) => {
            slide.right = slide.blocks.split_off(at);
            slide.layout = Layout::TwoColumn;
        }
        None => slide.layout = layout_for(&slide.blocks),
    }
    slide
}

/// Two subheadings, one of them at the top, head two columns.
fn second_column(blocks: &[Block]) -> Option<usize> {
    let mut heads = blocks.iter().enumerate().filter(|(_, block)| matches!(block, Block::Subheading { .. }));
    let (first, second, third) = (heads.next()?.0, heads.next()?.0, heads.next());
    let has_wide_table = blocks.iter().any(|block| matches!(block, Block::Table { .. }));
    (first == 0 && second > 1 && second + 1 < blocks.len() && third.is_none() && !has_wide_table)
        .then_some(second)
}
