//! Whatever comes in, what goes out is whole.

use std::io::{Cursor, Read as _};

use leasehold_decks::ErrorClass;
use leasehold_decks::export::ExportFormat;
use leasehold_decks::layout::{PageKind, compose, paginate};
use leasehold_decks::model::{Align, Block, Deck, Layout, ListItem, MAX_SLIDES, Marker, Run, Slide};
use leasehold_decks::theme::{BODY_BOTTOM, FOOTER_LINE};
use leasehold_decks::watch::unwatched;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::support::{exported, try_deck};

/// Pieces from which Markdown is glued together, right or wrong.
fn markdown() -> impl Strategy<Value = String> {
    let sign = prop_oneof![
        Just("# "),
        Just("## "),
        Just("### "),
        Just("\n"),
        Just("\n\n"),
        Just("---\n"),
        Just("- "),
        Just("  - "),
        Just("1. "),
        Just("999999999. "),
        Just("> "),
        Just("```rust\n"),
        Just("```\n"),
        Just("|a|b|\n|--|:-:|\n"),
        Just("| "),
        Just("**"),
        Just("*"),
        Just("`"),
        Just("[x]("),
        Just("https://a.b/c"),
        Just(")"),
        Just("![alt](p.png)"),
        Just("<b>"),
        Just("<!-- note: n -->"),
        Just("<!--"),
        Just("<script>"),
        Just("Note: "),
        Just("title: t\n"),
        Just("&amp;"),
        Just("\\"),
        Just("    "),
        Just("\t"),
        Just("\u{0}"),
        Just("\u{feff}"),
        Just("— "),
    ];
    let words = prop_oneof!["[a-z ]{0,40}", "\\PC{0,20}", "[a-z]{100,900}"];
    vec(prop_oneof![3 => sign.prop_map(str::to_owned), 2 => words], 0..120).prop_map(|parts| parts.concat())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![40 => "[a-zA-Z0-9 .,<&>\"']{0,40}", 2 => any::<String>(), 1 => "[a-z ]{0,2500}", 1 => "[日本語🚀Łä]{0,300}"]
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let link = prop_oneof![4 => Just(None), 1 => Just(Some("https://example.org/a?b=1&c=2".to_owned()))];
    let run = (text(), any::<bool>(), any::<bool>(), any::<bool>(), link)
        .prop_map(|(text, bold, italic, code, link)| Run { text, bold, italic, code, link });
    vec(run, 0..4)
}

fn block() -> impl Strategy<Value = Block> {
    let marker = prop_oneof![Just(Marker::Bullet), any::<u32>().prop_map(Marker::Number), Just(Marker::None)];
    let item = (0u8..=5, marker, runs()).prop_map(|(level, marker, text)| ListItem { level, marker, text });
    let align = prop_oneof![Just(Align::Left), Just(Align::Center), Just(Align::Right)];
    let table = (1usize..=20).prop_flat_map(move |columns| {
        let cells = || vec(runs(), columns);
        (vec(align.clone(), columns), cells(), vec(cells(), 0..3))
            .prop_map(|(align, header, rows)| Block::Table { align, header, rows })
    });
    let label = || proptest::option::of("\\PC{0,40}");
    prop_oneof![
        runs().prop_map(|text| Block::Paragraph { text }),
        runs().prop_map(|text| Block::Subheading { text }),
        vec(item, 0..30).prop_map(|items| Block::List { items }),
        (label(), vec(text(), 0..40))
            .prop_map(|(language, lines)| Block::Code { language, text: lines.join("\n") }),
        table,
        (vec(runs(), 0..4), label())
            .prop_map(|(paragraphs, attribution)| Block::Quote { paragraphs, attribution }),
        ("\\PC{0,40}", label()).prop_map(|(alt, source)| Block::Image { alt, source }),
    ]
}

fn slide() -> impl Strategy<Value = Slide> {
    let layout = prop_oneof![
        Just(Layout::Title),
        Just(Layout::Bullets),
        Just(Layout::TwoColumn),
        Just(Layout::Code),
        Just(Layout::Table),
        Just(Layout::Quote),
        Just(Layout::Image),
    ];
    let heading = prop_oneof!["[a-z <&]{0,60}", "\\PC{0,400}"];
    (layout, heading, vec(block(), 0..4), vec(block(), 0..2), vec(text(), 0..2)).prop_map(
        |(layout, heading, blocks, right, notes)| {
            let right = if layout == Layout::TwoColumn { right } else { Vec::new() };
            Slide { layout, heading, blocks, right, notes }
        },
    )
}

fn deck() -> impl Strategy<Value = Deck> {
    ("\\PC{0,60}", proptest::option::of("\\PC{0,60}"), vec(slide(), 1..4))
        .prop_map(|(title, author, slides)| Deck { version: 1, title, author, slides })
}

/// Every part of the package can be read, and is XML.
fn assert_opens_as_package(bytes: Vec<u8>, slides: usize) {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut found = 0;
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        let name = file.name().unwrap().into_owned();
        roxmltree::Document::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        found += usize::from(name.starts_with("ppt/slides/slide"));
    }
    assert_eq!(found, slides);
}

/// The table at its end leads to every object, and there are as many pages as slides.
fn assert_opens_as_pdf(bytes: &[u8], slides: usize) {
    let find = |from: usize, what: &[u8]| {
        let at = bytes[from..].windows(what.len()).position(|found| found == what);
        at.map(|at| from + at)
    };
    let number = |text: &[u8]| std::str::from_utf8(text).unwrap().trim().parse::<usize>().unwrap();
    let tail = find(bytes.len().saturating_sub(64), b"startxref\n").unwrap() + 10;
    let table = number(&bytes[tail..find(tail, b"\n").unwrap()]);
    assert!(bytes[table..].starts_with(b"xref\n0 "));
    let count_at = table + 7;
    let count_end = find(count_at, b"\n").unwrap();
    let count = number(&bytes[count_at..count_end]);
    for id in 1..count {
        let entry = &bytes[count_end + 1 + id * 20..][..20];
        let object = number(&entry[..10]);
        assert!(bytes[object..].starts_with(format!("{id} 0 obj").as_bytes()), "object {id}");
    }
    let pages = bytes.windows(11).filter(|found| found == b"/Type /Page").count();
    // One more for the `/Type /Pages` that lists them.
    assert_eq!(pages, slides + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_markdown_becomes_a_deck_that_fits_or_is_refused_with_a_reason(source in markdown()) {
        match try_deck(&source) {
            Err(error) => prop_assert_eq!(error.class(), ErrorClass::Validation, "{}", error),
            Ok(deck) => {
                prop_assert!(deck.slides.len() <= MAX_SLIDES);
                let again = Deck::from_json(&deck.to_json().unwrap());
                prop_assert_eq!(again.as_ref(), Ok(&deck));
                let cut_again = paginate(deck.clone(), &mut unwatched);
                prop_assert_eq!(cut_again.as_ref(), Ok(&deck));
                for index in 0..deck.slides.len() {
                    let page = compose(&deck, index);
                    // A title slide has no footer, and its author stands lower.
                    let bottom = if page.kind == PageKind::Title { FOOTER_LINE } else { BODY_BOTTOM };
                    for element in page.elements {
                        let rect = element.rect();
                        prop_assert!(rect.y + rect.height <= bottom + 0.01, "slide {}: {:?}", index + 1, element);
                    }
                }
            }
        }
    }

    #[test]
    fn any_deck_becomes_files_that_open(deck in deck()) {
        let pptx = exported(&deck, ExportFormat::Pptx);
        assert_opens_as_package(pptx.bytes, pptx.slide_count);
        let pdf = exported(&deck, ExportFormat::Pdf);
        assert_opens_as_pdf(&pdf.bytes, pdf.slide_count);
    }
}
