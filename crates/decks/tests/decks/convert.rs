//! What becomes of Markdown.

use std::ops::ControlFlow;

use crate::support::{SAMPLE, deck, try_deck};
use leasehold_decks::convert::{Source, SourceFormat, extract, normalize, preview};
use leasehold_decks::model::{Align, Block, Deck, Layout, ListItem, Marker, Run, plain_text};
use leasehold_decks::watch::unwatched;
use leasehold_decks::{DeckError, ErrorClass};

fn headings(deck: &Deck) -> Vec<(Layout, &str)> {
    deck.slides.iter().map(|slide| (slide.layout, slide.heading.as_str())).collect()
}

fn items(block: &Block) -> &[ListItem] {
    match block {
        Block::List { items } => items,
        other => panic!("not a list: {other:?}"),
    }
}

/// To renew it after a change that was meant: `cargo run -p leasehold-decks --example deck --
/// docs/samples/harbour.md crates/decks/tests/decks/golden/harbour.json`, and read the difference.
#[test]
fn the_sample_is_the_golden_deck() {
    let json = String::from_utf8(deck(SAMPLE).to_json().unwrap()).unwrap();
    assert_eq!(json, include_str!("golden/harbour.json"));
}

#[test]
fn what_was_written_can_be_read_again() {
    let written = deck(SAMPLE);
    assert_eq!(Deck::from_json(&written.to_json().unwrap()), Ok(written));
}

#[test]
fn headings_and_rules_begin_slides() {
    let deck = deck("# One\n\n## Two\n\ntext\n\n---\n\nbare\n\n---\n\n## Three\n");
    let expected =
        [(Layout::Title, "One"), (Layout::Bullets, "Two"), (Layout::Bullets, ""), (Layout::Bullets, "Three")];
    assert_eq!(headings(&deck), expected);
    assert_eq!(deck.title, "One");
}

#[test]
fn a_deck_that_names_itself_gets_a_title_slide() {
    let deck = deck("---\ntitle: Plan\nauthor: Ann\n---\n## First\n\n- a\n");
    assert_eq!(headings(&deck)[0], (Layout::Title, "Plan"));
    assert_eq!((deck.title.as_str(), deck.author.as_deref()), ("Plan", Some("Ann")));
}

#[test]
fn layouts_follow_what_a_slide_holds() {
    let deck = deck(
        "## a\n\n```sh\nls\n```\n\n## b\n\n|x|y|\n|:-:|--:|\n|1|2|\n\n## c\n\n> q\n\n## d\n\n![alt](pic.png)\n\n\
         ## e\n\n### l\n\n- 1\n\n### r\n\n- 2\n",
    );
    let layouts: Vec<Layout> = deck.slides.iter().map(|slide| slide.layout).collect();
    assert_eq!(layouts, [Layout::Code, Layout::Table, Layout::Quote, Layout::Image, Layout::TwoColumn]);
    let Block::Table { align, .. } = &deck.slides[1].blocks[0] else { panic!("{:?}", deck.slides[1]) };
    assert_eq!(align, &[Align::Center, Align::Right]);
    assert_eq!(deck.slides[4].right.len(), 2);
}

#[test]
fn lists_keep_levels_numbers_and_further_paragraphs() {
    let deck = deck("## L\n\n3. three\n\n   more\n4. four\n   - sub\n     1. deep\n");
    let found: Vec<_> = items(&deck.slides[0].blocks[0])
        .iter()
        .map(|item| (item.level, item.marker, plain_text(&item.text)))
        .collect();
    let expected = [
        (0, Marker::Number(3), "three".to_owned()),
        (0, Marker::None, "more".to_owned()),
        (0, Marker::Number(4), "four".to_owned()),
        (1, Marker::Bullet, "sub".to_owned()),
        (2, Marker::Number(1), "deep".to_owned()),
    ];
    assert_eq!(found, expected);
}

#[test]
fn runs_carry_their_look_and_only_harmless_links() {
    let deck =
        deck("## R\n\na **b *c*** `d` [e](https://x.example/) [f](javascript:alert(1)) [g](../secret)\n");
    let Block::Paragraph { text } = &deck.slides[0].blocks[0] else { panic!("{:?}", deck.slides[0]) };
    let find = |wanted: &str| text.iter().find(|run| run.text.contains(wanted)).unwrap();
    assert!(find("b").bold && !find("b").italic);
    assert!(find("c").bold && find("c").italic && find("d").code);
    assert_eq!(find("e").link.as_deref(), Some("https://x.example/"));
    assert_eq!((&find("f").link, &find("g").link), (&None, &None));
}

#[test]
fn raw_html_leaves_only_its_words() {
    let deck = deck(
        "## H\n\n<div onclick=\"x()\">block <b>words</b><script>alert(1)</script></div>\n\nin<i>line</i> <img src=x onerror=y>text\n",
    );
    let json = String::from_utf8(deck.to_json().unwrap()).unwrap();
    for gone in ["<", "onclick", "alert", "onerror", "script"] {
        assert!(!json.contains(gone), "{gone} is in {json}");
    }
    assert!(json.contains("block words") && json.contains("inline text"), "{json}");
}

#[test]
fn notes_come_from_comments_and_from_what_follows_the_word() {
    let deck = deck(
        "## A\n\ntext <!-- note: one -->\n\n<!-- note: two\n\nthree -->\n\nNote: four\n\n- five\n\n## B\n\nNotes are fine\n",
    );
    let mut notes = deck.slides[0].notes.clone();
    notes.sort();
    assert_eq!(notes, ["five", "four", "one", "three", "two"]);
    assert_eq!(deck.slides[0].blocks.len(), 1);
    assert!(deck.slides[1].notes.is_empty());
}

#[test]
fn a_quote_knows_who_said_it() {
    for source in ["> a\n> b\n>\n> — Ann\n", "> a\n> b\n> -- Ann\n"] {
        let deck = deck(source);
        let expected =
            Block::Quote { paragraphs: vec![vec![Run::plain("a b")]], attribution: Some("Ann".to_owned()) };
        assert_eq!(deck.slides[0].blocks, [expected], "{source}");
    }
}

#[test]
fn long_lists_go_on_and_lose_nothing() {
    let source: String = (1..=60).map(|n| format!("{n}. item {n}\n")).collect();
    let deck = deck(&format!("## Long\n\n{source}"));
    assert_eq!(headings(&deck)[0].1, "Long");
    assert_eq!(headings(&deck)[1].1, "Long (2)");
    let numbers: Vec<Marker> =
        deck.slides.iter().flat_map(|slide| items(&slide.blocks[0])).map(|item| item.marker).collect();
    assert_eq!(numbers, (1..=60).map(Marker::Number).collect::<Vec<_>>());
}

#[test]
fn long_paragraphs_code_and_tables_go_on_and_lose_nothing() {
    let words: Vec<String> = (0..900).map(|n| format!("w{n}")).collect();
    let code: String = (0..70).map(|n| format!("line{n}\n")).collect();
    let rows: String = (0..50).map(|n| format!("| r{n} | {n} |\n")).collect();
    let source = format!(
        "## P\n\n{}\n\n## C\n\n```\n{code}```\n\n## T\n\n| a | b |\n|--|--|\n{rows}",
        words.join(" ")
    );
    let deck = deck(&source);
    let mut said = String::new();
    for slide in &deck.slides {
        for block in &slide.blocks {
            match block {
                Block::Paragraph { text } => said.push_str(&plain_text(text)),
                Block::Code { text, .. } => said.push_str(&format!("{text} ")),
                Block::Table { header, rows, .. } => {
                    assert_eq!(plain_text(&header[0]), "a", "the header is on every slide of the table");
                    rows.iter().for_each(|row| said.push_str(&format!(" {} ", plain_text(&row[0]))));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let said: Vec<&str> = said.split_whitespace().collect();
    let code: Vec<String> = (0..70).map(|n| format!("line{n}")).collect();
    let rows: Vec<String> = (0..50).map(|n| format!("r{n}")).collect();
    let expected = [words, code, rows].concat();
    assert_eq!(said.concat(), expected.concat());
}

#[test]
fn a_deck_of_too_many_slides_is_refused_and_says_so() {
    assert_eq!(deck(&"## s\n\n".repeat(500)).slides.len(), 500);
    let error = try_deck(&"## s\n\n".repeat(501)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Validation);
    assert!(error.to_string().contains("at most 500"), "{error}");
}

#[test]
fn a_mebibyte_of_one_paragraph_is_refused_quickly() {
    let error = try_deck(&"word ".repeat(200_000)).unwrap_err();
    assert!(matches!(error, DeckError::TooLarge { .. }), "{error}");
}

#[test]
fn the_preview_is_short_and_plain() {
    let preview = preview(&deck(SAMPLE));
    assert_eq!((preview.slide_count, preview.is_complete), (13, true));
    assert_eq!(preview.slides[2].lines[0], "1. It wakes once an hour and measures its own current");
    assert!(preview.slides.iter().all(|slide| slide.lines.len() <= 4));
    assert!(preview.slides[1].has_notes && !preview.slides[2].has_notes);
    let json = serde_json::to_value(&preview).unwrap();
    assert_eq!(json["slides"][0]["layout"], "title");
}

#[test]
fn a_watch_hears_progress_and_can_stop_each_step() {
    let source = Source::read(SourceFormat::Markdown, SAMPLE.as_bytes()).unwrap();
    let mut heard = Vec::new();
    let draft = extract(&source, &mut |progress| {
        heard.push(progress.done);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(heard.is_sorted() && heard.len() >= 2, "{heard:?}");
    assert_eq!(extract(&source, &mut |_| ControlFlow::Break(())), Err(DeckError::Cancelled));
    assert_eq!(normalize(draft.clone(), &mut |_| ControlFlow::Break(())), Err(DeckError::Cancelled));
    assert!(normalize(draft, &mut unwatched).is_ok());
}
