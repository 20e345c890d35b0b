//! The parts around the slides: what a package must contain to be a presentation.

use super::Package;
use super::rels::Rels;
use super::slide::NAMESPACES;
use super::xml::Xml;

const LAYOUTS: [&str; 4] = [
    include_str!("parts/layout_title.xml"),
    include_str!("parts/layout_content.xml"),
    include_str!("parts/layout_two_columns.xml"),
    include_str!("parts/layout_bare.xml"),
];
const THEME: &str = include_str!("parts/theme.xml");

const FAMILY: &str = "application/vnd.openxmlformats-officedocument";

/// Every part with its name, in an order that never changes; the list of types comes first, as readers expect.
pub fn parts(package: &Package) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    let mut add = |name: &str, part: String| parts.push((name.to_owned(), part));
    add("[Content_Types].xml", content_types(package));
    add("_rels/.rels", root_rels());
    add("docProps/app.xml", app(package));
    add("docProps/core.xml", core(package));
    let mut rels = Rels::default();
    add("ppt/presentation.xml", presentation(package, &mut rels));
    add("ppt/_rels/presentation.xml.rels", rels.xml());
    add("ppt/presProps.xml", include_str!("parts/pres_props.xml").to_owned());
    add("ppt/viewProps.xml", include_str!("parts/view_props.xml").to_owned());
    add("ppt/tableStyles.xml", include_str!("parts/table_styles.xml").to_owned());
    add("ppt/theme/theme1.xml", THEME.to_owned());
    add("ppt/theme/theme2.xml", THEME.to_owned());
    add("ppt/slideMasters/slideMaster1.xml", include_str!("parts/master.xml").to_owned());
    add("ppt/slideMasters/_rels/slideMaster1.xml.rels", master_rels());
    for (index, layout) in LAYOUTS.iter().enumerate() {
        add(&format!("ppt/slideLayouts/slideLayout{}.xml", index + 1), (*layout).to_owned());
        let rels = one_rel("slideMaster", "../slideMasters/slideMaster1.xml");
        add(&format!("ppt/slideLayouts/_rels/slideLayout{}.xml.rels", index + 1), rels);
    }
    add("ppt/notesMasters/notesMaster1.xml", include_str!("parts/notes_master.xml").to_owned());
    add("ppt/notesMasters/_rels/notesMaster1.xml.rels", one_rel("theme", "../theme/theme2.xml"));
    for (index, slide) in package.slides.iter().enumerate() {
        let number = index + 1;
        add(&format!("ppt/slides/slide{number}.xml"), slide.slide.clone());
        add(&format!("ppt/slides/_rels/slide{number}.xml.rels"), slide.rels.clone());
        if let Some(notes) = &slide.notes {
            add(&format!("ppt/notesSlides/notesSlide{number}.xml"), notes.clone());
            let mut rels = Rels::default();
            rels.part("notesMaster", "../notesMasters/notesMaster1.xml");
            rels.part("slide", format!("../slides/slide{number}.xml"));
            add(&format!("ppt/notesSlides/_rels/notesSlide{number}.xml.rels"), rels.xml());
        }
    }
    parts
}

fn content_types(package: &Package) -> String {
    let namespace = "http://schemas.openxmlformats.org/package/2006/content-types";
    Xml::part("Types", &[("xmlns", namespace)], |xml| {
        let rels = "application/vnd.openxmlformats-package.relationships+xml";
        xml.empty("Default", &[("Extension", "rels"), ("ContentType", rels)]);
        xml.empty("Default", &[("Extension", "xml"), ("ContentType", "application/xml")]);
        let mut one = |name: String, kind: &str| {
            let kind = if kind.contains('/') { kind.to_owned() } else { format!("{FAMILY}.{kind}+xml") };
            xml.empty("Override", &[("PartName", &name), ("ContentType", &kind)]);
        };
        one("/ppt/presentation.xml".to_owned(), "presentationml.presentation.main");
        one("/ppt/presProps.xml".to_owned(), "presentationml.presProps");
        one("/ppt/viewProps.xml".to_owned(), "presentationml.viewProps");
        one("/ppt/tableStyles.xml".to_owned(), "presentationml.tableStyles");
        one("/ppt/theme/theme1.xml".to_owned(), "theme");
        one("/ppt/theme/theme2.xml".to_owned(), "theme");
        one("/ppt/slideMasters/slideMaster1.xml".to_owned(), "presentationml.slideMaster");
        for number in 1..=LAYOUTS.len() {
            one(format!("/ppt/slideLayouts/slideLayout{number}.xml"), "presentationml.slideLayout");
        }
        one("/ppt/notesMasters/notesMaster1.xml".to_owned(), "presentationml.notesMaster");
        for (index, slide) in package.slides.iter().enumerate() {
            one(format!("/ppt/slides/slide{}.xml", index + 1), "presentationml.slide");
            if slide.notes.is_some() {
                one(format!("/ppt/notesSlides/notesSlide{}.xml", index + 1), "presentationml.notesSlide");
            }
        }
        one("/docProps/core.xml".to_owned(), "application/vnd.openxmlformats-package.core-properties+xml");
        one("/docProps/app.xml".to_owned(), "extended-properties");
    })
}

fn root_rels() -> String {
    let core = "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties";
    let mut rels = Rels::default();
    rels.part("officeDocument", "ppt/presentation.xml");
    rels.other(core, "docProps/core.xml");
    rels.part("extended-properties", "docProps/app.xml");
    rels.xml()
}

fn one_rel(kind: &str, target: &str) -> String {
    let mut rels = Rels::default();
    rels.part(kind, target);
    rels.xml()
}

/// The master's part names its layouts `rId1` to `rId4`.
fn master_rels() -> String {
    let mut rels = Rels::default();
    for number in 1..=LAYOUTS.len() {
        rels.part("slideLayout", format!("../slideLayouts/slideLayout{number}.xml"));
    }
    rels.part("theme", "../theme/theme1.xml");
    rels.xml()
}

fn presentation(package: &Package, rels: &mut Rels) -> String {
    let attributes = [NAMESPACES, &[("saveSubsetFonts", "1")]].concat();
    Xml::part("p:presentation", &attributes, |xml| {
        let master = rels.part("slideMaster", "slideMasters/slideMaster1.xml");
        xml.element("p:sldMasterIdLst", &[], |xml| {
            xml.empty("p:sldMasterId", &[("id", "2147483648"), ("r:id", &master)]);
        });
        let notes = rels.part("notesMaster", "notesMasters/notesMaster1.xml");
        xml.element("p:notesMasterIdLst", &[], |xml| xml.empty("p:notesMasterId", &[("r:id", &notes)]));
        xml.element("p:sldIdLst", &[], |xml| {
            for number in 1..=package.slides.len() {
                let rel = rels.part("slide", format!("slides/slide{number}.xml"));
                xml.empty("p:sldId", &[("id", &(255 + number).to_string()), ("r:id", &rel)]);
            }
        });
        xml.empty("p:sldSz", &[("cx", "12192000"), ("cy", "6858000")]);
        xml.empty("p:notesSz", &[("cx", "6858000"), ("cy", "9144000")]);
        rels.part("presProps", "presProps.xml");
        rels.part("viewProps", "viewProps.xml");
        rels.part("theme", "theme/theme1.xml");
        rels.part("tableStyles", "tableStyles.xml");
    })
}

fn app(package: &Package) -> String {
    let namespace = "http://schemas.openxmlformats.org/officeDocument/2006/extended-properties";
    let notes = package.slides.iter().filter(|slide| slide.notes.is_some()).count();
    Xml::part("Properties", &[("xmlns", namespace)], |xml| {
        xml.element("Application", &[], |xml| xml.text("Leasehold"));
        xml.element("PresentationFormat", &[], |xml| xml.text("Widescreen"));
        xml.element("Slides", &[], |xml| xml.text(&package.slides.len().to_string()));
        xml.element("Notes", &[], |xml| xml.text(&notes.to_string()));
    })
}

/// Without times: the same deck is the same file.
fn core(package: &Package) -> String {
    let namespaces = [
        ("xmlns:cp", "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"),
        ("xmlns:dc", "http://purl.org/dc/elements/1.1/"),
        ("xmlns:dcterms", "http://purl.org/dc/terms/"),
        ("xmlns:xsi", "http://www.w3.org/2001/XMLSchema-instance"),
    ];
    Xml::part("cp:coreProperties", &namespaces, |xml| {
        xml.element("dc:title", &[], |xml| xml.text(&package.title));
        if let Some(author) = &package.author {
            xml.element("dc:creator", &[], |xml| xml.text(author));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{ACCENT, INK, INK_SOFT, PAGE, SURFACE};

    #[test]
    fn the_theme_has_the_colours_of_the_design() {
        for colour in [INK, SURFACE, INK_SOFT, PAGE, ACCENT] {
            assert!(THEME.contains(&format!("val=\"{}\"", colour.hex())), "{}", colour.hex());
        }
    }
}
