//! The objects of the file: catalogue, pages, fonts, bookmarks, links.

use pdf_writer::types::{ActionType, AnnotationType, BorderType};
use pdf_writer::{Filter, Finish as _, Pdf, Rect as Area, Ref, Str, TextStr};

use super::{Document, DrawnPage, Link, font};
use crate::error::DeckError;
use crate::theme::{HEIGHT, WIDTH};
use crate::watch::{Watch, tell};

const CATALOGUE: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const INFO: Ref = Ref::new(3);
const BOOKMARKS: Ref = Ref::new(4);
const FONTS: Ref = Ref::new(5);

/// The objects of one page.
struct Ids {
    page: Ref,
    content: Ref,
    bookmark: Ref,
}

pub fn written(document: &Document, watch: Watch<'_>) -> Result<Vec<u8>, DeckError> {
    let mut next = Ref::new(FONTS.get() + font::COUNT);
    let ids: Vec<Ids> = document
        .pages
        .iter()
        .map(|_| Ids { page: next.bump(), content: next.bump(), bookmark: next.bump() })
        .collect();
    let total = ids.len();
    let mut pdf = Pdf::new();
    pdf.set_version(1, 7);
    catalogue(&mut pdf, document, &ids);
    font::write(&mut pdf, FONTS);
    for (index, (drawn, id)) in document.pages.iter().zip(&ids).enumerate() {
        tell(watch, index, total)?;
        page(&mut pdf, drawn, id, &mut next);
    }
    bookmarks(&mut pdf, document, &ids);
    tell(watch, total, total)?;
    Ok(pdf.finish())
}

fn catalogue(pdf: &mut Pdf, document: &Document, ids: &[Ids]) {
    let mut catalogue = pdf.catalog(CATALOGUE);
    catalogue.pages(PAGES).outlines(BOOKMARKS);
    catalogue.viewer_preferences().display_doc_title(true);
    catalogue.finish();
    let count = i32::try_from(ids.len()).unwrap_or(i32::MAX);
    pdf.pages(PAGES).kids(ids.iter().map(|id| id.page)).count(count);
    let mut info = pdf.document_info(INFO);
    info.title(TextStr(&document.label.title)).creator(TextStr("Leasehold"));
    if let Some(author) = &document.label.author {
        info.author(TextStr(author));
    }
}

fn page(pdf: &mut Pdf, drawn: &DrawnPage, id: &Ids, next: &mut Ref) {
    let links: Vec<Ref> = drawn.links.iter().map(|_| next.bump()).collect();
    let mut page = pdf.page(id.page);
    page.parent(PAGES).media_box(Area::new(0.0, 0.0, WIDTH, HEIGHT)).contents(id.content);
    let mut resources = page.resources();
    let mut fonts = resources.fonts();
    for (name, reference) in font::resources(FONTS) {
        fonts.pair(name, reference);
    }
    fonts.finish();
    resources.finish();
    if !links.is_empty() {
        page.annotations(links.iter().copied());
    }
    page.finish();
    pdf.stream(id.content, &drawn.content).filter(Filter::FlateDecode);
    for (link, id) in drawn.links.iter().zip(links) {
        annotation(pdf, link, id);
    }
}

fn annotation(pdf: &mut Pdf, link: &Link, id: Ref) {
    let area = link.area;
    let (left, top) = (area.x, HEIGHT - area.y);
    let mut annotation = pdf.annotation(id);
    annotation.subtype(AnnotationType::Link);
    annotation.rect(Area::new(left, top - area.height, left + area.width, top));
    annotation.border_style().width(0.0).style(BorderType::Solid);
    annotation.action().action_type(ActionType::Uri).uri(Str(link.target.as_bytes()));
}

fn bookmarks(pdf: &mut Pdf, document: &Document, ids: &[Ids]) {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return };
    let count = i32::try_from(ids.len()).unwrap_or(i32::MAX);
    pdf.outline(BOOKMARKS).first(first.bookmark).last(last.bookmark).count(count);
    for (index, (drawn, id)) in document.pages.iter().zip(ids).enumerate() {
        let number = format!("Slide {}", index + 1);
        let title = if drawn.heading.is_empty() { &number } else { &drawn.heading };
        let mut item = pdf.outline_item(id.bookmark);
        item.title(TextStr(title)).parent(BOOKMARKS);
        if index > 0 {
            item.prev(ids[index - 1].bookmark);
        }
        if let Some(following) = ids.get(index + 1) {
            item.next(following.bookmark);
        }
        item.dest().page(id.page).fit();
    }
}
