//! One slide with its relationships, and the notes that go with it.

use super::SlideParts;
use super::rels::Rels;
use super::shapes::Shapes;
use super::text::{fill, hundredths, typeface};
use super::xml::{Attributes, Xml};
use crate::layout::{Element, Page, PageKind, Role, TextBox, short_footer};
use crate::theme::{FOOTER_SIZE, INK_SOFT};

pub const NAMESPACES: Attributes<'static> = &[
    ("xmlns:a", "http://schemas.openxmlformats.org/drawingml/2006/main"),
    ("xmlns:r", "http://schemas.openxmlformats.org/officeDocument/2006/relationships"),
    ("xmlns:p", "http://schemas.openxmlformats.org/presentationml/2006/main"),
];

pub fn parts(page: &Page, deck_title: &str) -> SlideParts {
    let mut rels = Rels::default();
    rels.part("slideLayout", format!("../slideLayouts/slideLayout{}.xml", layout_number(page.kind)));
    if !page.notes.is_empty() {
        rels.part("notesSlide", format!("../notesSlides/notesSlide{}.xml", page.number));
    }
    let slide = Xml::part("p:sld", NAMESPACES, |xml| {
        xml.element("p:cSld", &[("name", &page.heading)], |xml| {
            xml.element("p:spTree", &[], |xml| {
                tree_start(xml);
                let mut shapes = Shapes { xml, rels: &mut rels, next_id: 1 };
                page.elements.iter().for_each(|element| draw(&mut shapes, element, page.kind));
                if page.kind != PageKind::Title {
                    let id = shapes.next_id;
                    footer(shapes.xml, id + 1, deck_title);
                    slide_number(shapes.xml, id + 2, page.number);
                }
            });
        });
        colours_of_master(xml);
    });
    let notes = (!page.notes.is_empty()).then(|| notes(page));
    SlideParts { slide, rels: rels.xml(), notes }
}

/// As the layouts are numbered in the package.
fn layout_number(kind: PageKind) -> usize {
    match kind {
        PageKind::Title => 1,
        PageKind::Content => 2,
        PageKind::TwoColumn => 3,
        PageKind::Bare => 4,
    }
}

fn draw(shapes: &mut Shapes<'_>, element: &Element, kind: PageKind) {
    match element {
        Element::Text(text) => {
            // The layout without a heading has no places for text either.
            let text = match kind {
                PageKind::Bare => &TextBox { role: Role::Extra, ..text.clone() },
                _ => text,
            };
            shapes.text_box(text, kind == PageKind::Title);
        }
        Element::Code(code) => shapes.code(code),
        Element::Table(table) => shapes.table(table),
        Element::Quote { bar, text } => {
            shapes.bar(*bar);
            shapes.text_box(text, false);
        }
        Element::Image { rect, text } => shapes.image(*rect, text),
    }
}

fn tree_start(xml: &mut Xml) {
    xml.element("p:nvGrpSpPr", &[], |xml| {
        xml.empty("p:cNvPr", &[("id", "1"), ("name", "")]);
        xml.empty("p:cNvGrpSpPr", &[]);
        xml.empty("p:nvPr", &[]);
    });
    xml.empty("p:grpSpPr", &[]);
}

fn colours_of_master(xml: &mut Xml) {
    xml.element("p:clrMapOvr", &[], |xml| xml.empty("a:masterClrMapping", &[]));
}

fn footer(xml: &mut Xml, id: usize, text: &str) {
    placeholder(xml, id, "Footer", &[("type", "ftr"), ("sz", "quarter"), ("idx", "11")], |xml| {
        small(xml, "l");
        xml.element("a:r", &[], |xml| {
            small_run(xml);
            xml.element("a:t", &[], |xml| xml.text(&short_footer(text)));
        });
    });
}

fn slide_number(xml: &mut Xml, id: usize, number: usize) {
    placeholder(xml, id, "Slide Number", &[("type", "sldNum"), ("sz", "quarter"), ("idx", "12")], |xml| {
        small(xml, "r");
        let id = "{7E4D2C1B-5A69-4F38-8B27-1C0D9E8F7A6B}";
        xml.element("a:fld", &[("id", id), ("type", "slidenum")], |xml| {
            small_run(xml);
            xml.element("a:t", &[], |xml| xml.text(&number.to_string()));
        });
    });
}

/// The layout says the same, but not every program asks it about footers.
fn small(xml: &mut Xml, align: &str) {
    xml.empty("a:pPr", &[("algn", align)]);
}

fn small_run(xml: &mut Xml) {
    xml.element("a:rPr", &[("sz", &hundredths(FOOTER_SIZE)), ("dirty", "0")], |xml| {
        fill(xml, INK_SOFT);
        typeface(xml, "Arial");
    });
}

fn placeholder(xml: &mut Xml, id: usize, name: &str, kind: Attributes<'_>, text: impl FnOnce(&mut Xml)) {
    xml.element("p:sp", &[], |xml| {
        xml.element("p:nvSpPr", &[], |xml| {
            let id = id.to_string();
            xml.empty("p:cNvPr", &[("id", &id), ("name", &format!("{name} {id}"))]);
            xml.element("p:cNvSpPr", &[], |xml| xml.empty("a:spLocks", &[("noGrp", "1")]));
            xml.element("p:nvPr", &[], |xml| xml.empty("p:ph", kind));
        });
        xml.empty("p:spPr", &[]);
        xml.element("p:txBody", &[], |xml| {
            xml.empty("a:bodyPr", &[]);
            xml.empty("a:lstStyle", &[]);
            xml.element("a:p", &[], text);
        });
    });
}

fn notes(page: &Page) -> String {
    Xml::part("p:notes", NAMESPACES, |xml| {
        xml.element("p:cSld", &[], |xml| {
            xml.element("p:spTree", &[], |xml| {
                tree_start(xml);
                xml.element("p:sp", &[], |xml| {
                    xml.element("p:nvSpPr", &[], |xml| {
                        xml.empty("p:cNvPr", &[("id", "2"), ("name", "Slide Image 2")]);
                        xml.element("p:cNvSpPr", &[], |xml| {
                            let locks = [("noGrp", "1"), ("noRot", "1"), ("noChangeAspect", "1")];
                            xml.empty("a:spLocks", &locks);
                        });
                        xml.element("p:nvPr", &[], |xml| xml.empty("p:ph", &[("type", "sldImg")]));
                    });
                    xml.empty("p:spPr", &[]);
                });
                xml.element("p:sp", &[], |xml| {
                    xml.element("p:nvSpPr", &[], |xml| {
                        xml.empty("p:cNvPr", &[("id", "3"), ("name", "Notes 3")]);
                        xml.element("p:cNvSpPr", &[], |xml| xml.empty("a:spLocks", &[("noGrp", "1")]));
                        xml.element("p:nvPr", &[], |xml| {
                            xml.empty("p:ph", &[("type", "body"), ("idx", "1")]);
                        });
                    });
                    xml.empty("p:spPr", &[]);
                    xml.element("p:txBody", &[], |xml| {
                        xml.empty("a:bodyPr", &[]);
                        xml.empty("a:lstStyle", &[]);
                        page.notes.iter().for_each(|note| note_paragraph(xml, note));
                    });
                });
            });
        });
        colours_of_master(xml);
    })
}

fn note_paragraph(xml: &mut Xml, note: &str) {
    xml.element("a:p", &[], |xml| {
        for (index, line) in note.split('\n').enumerate() {
            if index > 0 {
                xml.empty("a:br", &[]);
            }
            xml.element("a:r", &[], |xml| {
                xml.empty("a:rPr", &[("dirty", "0")]);
                xml.element("a:t", &[], |xml| xml.text(line));
            });
        }
    });
}
