//! Shapes of a slide: text in placeholders, panels, bars.

use super::rels::Rels;
use super::text::{MONOSPACE, emu, fill, hundredths, paragraphs, typeface};
use super::xml::Xml;
use crate::layout::{CodeBox, Rect, Role, TextBox};
use crate::theme::{ACCENT, CODE_PADDING, Colour, LINE_STRONG, LOG_DIM, LOG_INK, LOG_PAGE, SUNKEN};

/// Shape ids and names are counted through a slide.
pub struct Shapes<'a> {
    pub xml: &'a mut Xml,
    pub rels: &'a mut Rels,
    pub next_id: usize,
}

/// The placeholder a text fills: its type and its index in the layout.
fn placeholder(role: Role, is_title_page: bool) -> Option<(&'static str, Option<&'static str>)> {
    match role {
        Role::Heading if is_title_page => Some(("ctrTitle", None)),
        Role::Heading => Some(("title", None)),
        Role::Subtitle => Some(("subTitle", Some("1"))),
        Role::Body => Some(("body", Some("1"))),
        Role::Right => Some(("body", Some("2"))),
        Role::Extra => None,
    }
}

impl Shapes<'_> {
    pub fn text_box(&mut self, text: &TextBox, is_title_page: bool) {
        let place = placeholder(text.role, is_title_page);
        let anchor = if text.role == Role::Heading && is_title_page { "b" } else { "t" };
        self.next_id += 1;
        let id = self.next_id.to_string();
        let rels = &mut *self.rels;
        self.xml.element("p:sp", &[], |xml| {
            xml.element("p:nvSpPr", &[], |xml| {
                let name = if text.role == Role::Heading { "Title" } else { "Text" };
                xml.empty("p:cNvPr", &[("id", &id), ("name", &format!("{name} {id}"))]);
                match place {
                    Some((kind, index)) => {
                        xml.element("p:cNvSpPr", &[], |xml| xml.empty("a:spLocks", &[("noGrp", "1")]));
                        let mut attributes = vec![("type", kind)];
                        attributes.extend(index.map(|index| ("idx", index)));
                        xml.element("p:nvPr", &[], |xml| xml.empty("p:ph", &attributes));
                    }
                    None => {
                        xml.empty("p:cNvSpPr", &[("txBox", "1")]);
                        xml.empty("p:nvPr", &[]);
                    }
                }
            });
            xml.element("p:spPr", &[], |xml| {
                frame(xml, "a:xfrm", text.rect);
                if place.is_none() {
                    geometry(xml, "rect", None);
                    xml.empty("a:noFill", &[]);
                }
            });
            xml.element("p:txBody", &[], |xml| {
                body_properties(xml, anchor, [0.0; 4]);
                xml.empty("a:lstStyle", &[]);
                paragraphs(xml, &text.paragraphs, text.align, rels);
            });
        });
    }

    /// Code on a dark panel, with its language in the corner.
    pub fn code(&mut self, code: &CodeBox) {
        // Programs set the first line a little lower than we do; the bottom is left free for the last one.
        self.panel("Code", code.rect, Some(("roundRect", "2400")), Some(LOG_PAGE), None, |xml, _| {
            body_properties(xml, "t", [CODE_PADDING, CODE_PADDING - 4.0, 0.0, 0.0]);
            xml.empty("a:lstStyle", &[]);
            for line in &code.lines {
                code_line(xml, line, code);
            }
        });
        if let Some(language) = &code.language {
            let rect =
                Rect { height: 16.0, y: code.rect.y + 6.0, width: code.rect.width - 12.0, ..code.rect };
            self.panel("Language", rect, None, None, None, |xml, _| {
                body_properties(xml, "t", [0.0; 4]);
                xml.empty("a:lstStyle", &[]);
                xml.element("a:p", &[], |xml| {
                    xml.element("a:pPr", &[("algn", "r")], |xml| xml.empty("a:buNone", &[]));
                    plain_run(xml, language, 10.0, LOG_DIM, false);
                });
            });
        }
    }

    pub fn bar(&mut self, rect: Rect) {
        self.panel("Bar", rect, None, Some(ACCENT), None, |xml, _| empty_text(xml));
    }

    pub fn image(&mut self, rect: Rect, text: &TextBox) {
        self.panel(
            "Picture",
            rect,
            Some(("roundRect", "2400")),
            Some(SUNKEN),
            Some(LINE_STRONG),
            |xml, rels| {
                body_properties(xml, "ctr", [40.0, 0.0, 40.0, 0.0]);
                xml.empty("a:lstStyle", &[]);
                paragraphs(xml, &text.paragraphs, text.align, rels);
            },
        );
    }

    fn panel(
        &mut self,
        name: &str,
        rect: Rect,
        shape: Option<(&str, &str)>,
        inside: Option<Colour>,
        dashed: Option<Colour>,
        body: impl FnOnce(&mut Xml, &mut Rels),
    ) {
        self.next_id += 1;
        let id = self.next_id.to_string();
        let rels = &mut *self.rels;
        self.xml.element("p:sp", &[], |xml| {
            xml.element("p:nvSpPr", &[], |xml| {
                xml.empty("p:cNvPr", &[("id", &id), ("name", &format!("{name} {id}"))]);
                xml.empty("p:cNvSpPr", &[]);
                xml.empty("p:nvPr", &[]);
            });
            xml.element("p:spPr", &[], |xml| {
                frame(xml, "a:xfrm", rect);
                geometry(xml, shape.map_or("rect", |(name, _)| name), shape.map(|(_, round)| round));
                match inside {
                    Some(colour) => fill(xml, colour),
                    None => xml.empty("a:noFill", &[]),
                }
                match dashed {
                    Some(colour) => xml.element("a:ln", &[("w", "12700")], |xml| {
                        fill(xml, colour);
                        xml.empty("a:prstDash", &[("val", "dash")]);
                    }),
                    None => xml.element("a:ln", &[], |xml| xml.empty("a:noFill", &[])),
                }
            });
            xml.element("p:txBody", &[], |xml| body(xml, rels));
        });
    }
}

fn code_line(xml: &mut Xml, line: &str, code: &CodeBox) {
    xml.element("a:p", &[], |xml| {
        xml.element("a:pPr", &[("marL", "0"), ("indent", "0"), ("algn", "l")], |xml| {
            xml.element("a:lnSpc", &[], |xml| xml.empty("a:spcPts", &[("val", &hundredths(code.leading))]));
            xml.element("a:spcBef", &[], |xml| xml.empty("a:spcPts", &[("val", "0")]));
            xml.empty("a:buNone", &[]);
        });
        if !line.is_empty() {
            plain_run(xml, line, code.size, LOG_INK, true);
        }
        xml.element("a:endParaRPr", &[("sz", &hundredths(code.size)), ("dirty", "0")], |xml| {
            typeface(xml, MONOSPACE);
        });
    });
}

fn plain_run(xml: &mut Xml, text: &str, size: f32, colour: Colour, monospace: bool) {
    xml.element("a:r", &[], |xml| {
        xml.element("a:rPr", &[("sz", &hundredths(size)), ("dirty", "0")], |xml| {
            fill(xml, colour);
            if monospace {
                typeface(xml, MONOSPACE);
            }
        });
        xml.element("a:t", &[], |xml| xml.text(text));
    });
}

fn empty_text(xml: &mut Xml) {
    xml.empty("a:bodyPr", &[]);
    xml.empty("a:lstStyle", &[]);
    xml.element("a:p", &[], |xml| xml.empty("a:endParaRPr", &[]));
}

/// Insets are left, top, right, bottom.
fn body_properties(xml: &mut Xml, anchor: &str, insets: [f32; 4]) {
    let [left, top, right, bottom] = insets.map(emu);
    let attributes = [
        ("wrap", "square"),
        ("lIns", left.as_str()),
        ("tIns", &top),
        ("rIns", &right),
        ("bIns", &bottom),
        ("anchor", anchor),
    ];
    xml.element("a:bodyPr", &attributes, |xml| xml.empty("a:noAutofit", &[]));
}

pub fn frame(xml: &mut Xml, name: &str, rect: Rect) {
    xml.element(name, &[], |xml| {
        xml.empty("a:off", &[("x", &emu(rect.x)), ("y", &emu(rect.y))]);
        xml.empty("a:ext", &[("cx", &emu(rect.width)), ("cy", &emu(rect.height))]);
    });
}

fn geometry(xml: &mut Xml, shape: &str, round: Option<&str>) {
    xml.element("a:prstGeom", &[("prst", shape)], |xml| {
        xml.element("a:avLst", &[], |xml| {
            if let Some(round) = round {
                xml.empty("a:gd", &[("name", "adj"), ("fmla", &format!("val {round}"))]);
            }
        });
    });
}
