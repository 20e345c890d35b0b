//! Tables, as tables.

use super::shapes::{Shapes, frame};
use super::text::{emu, fill, paragraphs};
use super::xml::Xml;
use crate::layout::{Paragraph, TableBox};
use crate::model::{Align, Marker, Run};
use crate::text::metrics::Face;
use crate::theme::{CELL_PADDING_X, CELL_PADDING_Y, INK, INK_SOFT, LINE, LINE_STRONG, SUNKEN};

const KIND: &str = "http://schemas.openxmlformats.org/drawingml/2006/table";

impl Shapes<'_> {
    pub fn table(&mut self, table: &TableBox) {
        self.next_id += 1;
        let id = self.next_id.to_string();
        let rels = &mut *self.rels;
        self.xml.element("p:graphicFrame", &[], |xml| {
            xml.element("p:nvGraphicFramePr", &[], |xml| {
                xml.empty("p:cNvPr", &[("id", &id), ("name", &format!("Table {id}"))]);
                xml.element("p:cNvGraphicFramePr", &[], |xml| {
                    xml.empty("a:graphicFrameLocks", &[("noGrp", "1")]);
                });
                xml.empty("p:nvPr", &[]);
            });
            frame(xml, "p:xfrm", table.rect);
            xml.element("a:graphic", &[], |xml| {
                xml.element("a:graphicData", &[("uri", KIND)], |xml| {
                    xml.element("a:tbl", &[], |xml| {
                        xml.empty("a:tblPr", &[("firstRow", "1")]);
                        xml.element("a:tblGrid", &[], |xml| {
                            table
                                .columns
                                .iter()
                                .for_each(|width| xml.empty("a:gridCol", &[("w", &emu(*width))]));
                        });
                        for (index, row) in table.rows.iter().enumerate() {
                            xml.element("a:tr", &[("h", &emu(row.height))], |xml| {
                                for (column, runs) in row.cells.iter().enumerate() {
                                    let align = table.align.get(column).copied().unwrap_or_default();
                                    let text = cell_text(runs, table, index == 0);
                                    cell(xml, text, align, index == 0, rels);
                                }
                            });
                        }
                    });
                });
            });
        });
    }
}

fn cell_text(runs: &[Run], table: &TableBox, is_header: bool) -> Paragraph {
    Paragraph {
        runs: runs.to_vec(),
        face: if is_header { Face::bold(table.size) } else { Face::regular(table.size) },
        leading: table.leading,
        colour: if is_header { INK_SOFT } else { INK },
        indent: 0.0,
        hanging: 0.0,
        level: 0,
        marker: Marker::None,
        space_before: 0.0,
    }
}

fn cell(xml: &mut Xml, text: Paragraph, align: Align, is_header: bool, rels: &mut super::rels::Rels) {
    xml.element("a:tc", &[], |xml| {
        xml.element("a:txBody", &[], |xml| {
            xml.empty("a:bodyPr", &[]);
            xml.empty("a:lstStyle", &[]);
            paragraphs(xml, &[text], align, rels);
        });
        let (x, y) = (emu(CELL_PADDING_X), emu(CELL_PADDING_Y));
        let margins = [("marL", x.as_str()), ("marR", &x), ("marT", &y), ("marB", &y), ("anchor", "t")];
        xml.element("a:tcPr", &margins, |xml| {
            for side in ["a:lnL", "a:lnR", "a:lnT"] {
                xml.element(side, &[("w", "0")], |xml| xml.empty("a:noFill", &[]));
            }
            let below = if is_header { LINE_STRONG } else { LINE };
            xml.element("a:lnB", &[("w", "9525")], |xml| fill(xml, below));
            if is_header { fill(xml, SUNKEN) } else { xml.empty("a:noFill", &[]) }
        });
    });
}
