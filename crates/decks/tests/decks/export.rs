//! The artifacts, taken apart.

use std::collections::BTreeMap;
use std::io::{Cursor, Read as _};
use std::ops::ControlFlow;

use crate::support::{SAMPLE, deck, exported};
use leasehold_decks::export::{ExportFormat, prepare, prepare_deck};
use leasehold_decks::model::Deck;
use leasehold_decks::watch::unwatched;
use leasehold_decks::{DeckError, ErrorClass};

fn parts(pptx: Vec<u8>) -> BTreeMap<String, String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(pptx)).unwrap();
    let mut parts = BTreeMap::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        parts.insert(file.name().unwrap().into_owned(), text);
    }
    parts
}

#[test]
fn the_same_deck_is_the_same_file() {
    for format in [ExportFormat::Pptx, ExportFormat::Pdf] {
        let deck = deck(SAMPLE);
        let again = Deck::from_json(&deck.to_json().unwrap()).unwrap();
        assert_eq!(exported(&deck, format), exported(&again, format));
    }
}

#[test]
fn every_part_has_a_type_and_every_relationship_a_target() {
    let parts = parts(exported(&deck(SAMPLE), ExportFormat::Pptx).bytes);
    let types = &parts["[Content_Types].xml"];
    for name in parts.keys().filter(|name| !name.ends_with(".rels") && *name != "[Content_Types].xml") {
        assert!(types.contains(&format!("PartName=\"/{name}\"")), "{name} has no type");
    }
    for (name, text) in parts.iter().filter(|(name, _)| name.ends_with(".rels")) {
        let folder = name.split_once("_rels/").unwrap().0;
        for rel in roxmltree::Document::parse(text).unwrap().root_element().children() {
            let target = rel.attribute("Target").unwrap();
            if rel.attribute("TargetMode") != Some("External") {
                assert!(
                    parts.contains_key(&resolved(folder, target)),
                    "{name} names {target}, which is not there"
                );
            }
        }
    }
}

/// `../a/b.xml` seen from a folder with a `/` at its end.
fn resolved(folder: &str, target: &str) -> String {
    let mut path: Vec<&str> = folder.split('/').filter(|step| !step.is_empty()).collect();
    for step in target.split('/') {
        match step {
            ".." => drop(path.pop()),
            step => path.push(step),
        }
    }
    path.join("/")
}

#[test]
fn shapes_on_a_slide_have_ids_of_their_own() {
    let parts = parts(exported(&deck(SAMPLE), ExportFormat::Pptx).bytes);
    for (name, text) in parts.iter().filter(|(name, _)| name.starts_with("ppt/slides/slide")) {
        let document = roxmltree::Document::parse(text).unwrap();
        let shapes = document.descendants().filter(|node| node.has_tag_name((PRESENTATION, "cNvPr")));
        let mut ids: Vec<&str> = shapes.map(|node| node.attribute("id").unwrap()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}");
    }
}

const PRESENTATION: &str = "http://schemas.openxmlformats.org/presentationml/2006/main";

#[test]
fn notes_tables_links_and_numbers_are_the_real_thing() {
    let parts = parts(exported(&deck(SAMPLE), ExportFormat::Pptx).bytes);
    assert!(parts["ppt/notesSlides/notesSlide1.xml"].contains("Wait until the room is quiet."));
    assert!(parts["ppt/slides/slide6.xml"].contains("<a:tbl>"));
    assert!(parts["ppt/slides/slide2.xml"].contains("<a:hlinkClick r:id=\"rId3\"/>"));
    let link = "Target=\"https://example.org/survey?year=2025&amp;kind=lamps\" TargetMode=\"External\"";
    assert!(parts["ppt/slides/_rels/slide2.xml.rels"].contains(link));
    let numbered =
        parts["ppt/slides/slide3.xml"].matches("<a:buAutoNum type=\"arabicPeriod\" startAt=\"1\"/>");
    assert_eq!(numbered.count(), 4);
}

#[test]
fn a_list_that_begins_at_zero_spells_its_numbers() {
    let parts = parts(exported(&deck("## Z\n\n0. zero\n1. one\n"), ExportFormat::Pptx).bytes);
    let slide = &parts["ppt/slides/slide1.xml"];
    assert!(!slide.contains("buAutoNum") && slide.contains("<a:t>0.\t</a:t>"), "{slide}");
}

#[test]
fn decks_from_elsewhere_are_checked_and_cut_like_our_own() {
    let items = vec![r#"{"marker":"bullet","text":[{"text":"an item"}]}"#; 40].join(",");
    let json = format!(
        r#"{{"version":1,"title":"T","slides":[{{"layout":"bullets","heading":"H","blocks":[{{"type":"list","items":[{items}]}}]}}]}}"#
    );
    let prepared = prepare(ExportFormat::Pdf, json.as_bytes(), &mut unwatched).unwrap();
    let artifact = prepared.render(&mut unwatched).unwrap().package(&mut unwatched).unwrap();
    assert!(artifact.slide_count > 2, "{}", artifact.slide_count);

    let error = prepare(ExportFormat::Pdf, br#"{"version":9}"#, &mut unwatched).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unsupported);
    let error = prepare(ExportFormat::Pptx, b"not json", &mut unwatched).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Validation);
    assert_eq!(ExportFormat::named("odp").unwrap_err().class(), ErrorClass::Unsupported);
}

#[test]
fn the_deck_in_the_documentation_is_one() {
    let page = include_str!("../../../../docs/decks.md");
    let json = page.split_once("```json\n").unwrap().1.split_once("```").unwrap().0;
    let deck = Deck::from_json(json.as_bytes()).unwrap();
    assert_eq!(exported(&deck, ExportFormat::Pptx).slide_count, 1);
}

#[test]
fn each_step_can_be_stopped_at_any_of_its_looks() {
    let deck = deck(SAMPLE);
    for format in [ExportFormat::Pptx, ExportFormat::Pdf] {
        let prepared = prepare_deck(format, &deck, &mut unwatched).unwrap();
        let mut looks = 0;
        let stopped = prepared.render(&mut |progress| {
            looks += 1;
            if progress.done == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(stopped.err(), Some(DeckError::Cancelled));
        assert_eq!(looks, 6);
        let rendered = prepared.render(&mut unwatched).unwrap();
        assert_eq!(rendered.package(&mut |_| ControlFlow::Break(())), Err(DeckError::Cancelled));
    }
}
