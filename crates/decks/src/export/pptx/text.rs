//! Paragraphs and runs in DrawingML.

use super::rels::Rels;
use super::xml::Xml;
use crate::layout::Paragraph;
use crate::model::{Align, Marker, Run};
use crate::theme::{ACCENT, Colour, INK, INK_SOFT, SURFACE};

pub const MONOSPACE: &str = "Courier New";

/// What `startAt` of a numbered paragraph may be.
const NUMBERS: std::ops::RangeInclusive<u32> = 1..=32_767;

/// Points in the units of positions and sizes.
pub fn emu(points: f32) -> String {
    format!("{:.0}", f64::from(points) * 12_700.0)
}

/// Points in the hundredths that type is measured in.
pub fn hundredths(points: f32) -> String {
    format!("{:.0}", f64::from(points) * 100.0)
}

/// Colours of the theme are named, so that another theme changes them.
pub fn fill(xml: &mut Xml, colour: Colour) {
    xml.element("a:solidFill", &[], |xml| tint(xml, colour));
}

pub fn tint(xml: &mut Xml, colour: Colour) {
    let named = match colour {
        INK => Some("tx1"),
        INK_SOFT => Some("tx2"),
        ACCENT => Some("accent1"),
        SURFACE => Some("bg1"),
        _ => None,
    };
    match named {
        Some(name) => xml.empty("a:schemeClr", &[("val", name)]),
        None => xml.empty("a:srgbClr", &[("val", &colour.hex())]),
    }
}

/// Paragraphs under one another. The number a list begins with on this slide stands on each of its items: a sequence
/// with one `startAt` goes on counting.
pub fn paragraphs(xml: &mut Xml, all: &[Paragraph], align: Align, rels: &mut Rels) {
    let starts = starts(all);
    for (index, paragraph) in all.iter().enumerate() {
        xml.element("a:p", &[], |xml| {
            properties(xml, paragraph, index == 0, align, starts[index]);
            if let (Marker::Number(number), None) = (paragraph.marker, starts[index]) {
                let label = Run::plain(format!("{number}.\t"));
                run(xml, &label, paragraph, rels);
            }
            paragraph.runs.iter().for_each(|piece| run(xml, piece, paragraph, rels));
            xml.empty("a:endParaRPr", &[("sz", &hundredths(paragraph.face.size)), ("dirty", "0")]);
        });
    }
}

/// For each numbered paragraph the first number of its sequence; nothing where Office could not count so.
fn starts(all: &[Paragraph]) -> Vec<Option<u32>> {
    // For each level the sequence that is open there: its first and its last number.
    let mut open: [Option<(u32, u32)>; 16] = [None; 16];
    let mut starts = Vec::with_capacity(all.len());
    for paragraph in all {
        let level = usize::from(paragraph.level).min(open.len() - 1);
        let is_item = paragraph.indent > 0.0;
        // Whatever is further out ends the sequences inside it.
        let deeper = if is_item { level + 1 } else { 0 };
        open[deeper..].fill(None);
        open[level] = match (paragraph.marker, open[level]) {
            (Marker::Number(number), Some((first, last))) if number == last.saturating_add(1) => {
                Some((first, number))
            }
            (Marker::Number(number), _) => Some((number, number)),
            (Marker::None, open) => open,
            (Marker::Bullet, _) => None,
        };
        let start = open[level].filter(|_| matches!(paragraph.marker, Marker::Number(_)));
        starts.push(
            start
                .filter(|(first, last)| NUMBERS.contains(first) && NUMBERS.contains(last))
                .map(|(first, _)| first),
        );
    }
    starts
}

fn properties(xml: &mut Xml, paragraph: &Paragraph, is_first: bool, align: Align, start: Option<u32>) {
    let left = emu(paragraph.indent);
    let hanging =
        if matches!(paragraph.marker, Marker::None) { "0".to_owned() } else { emu(-paragraph.hanging) };
    let level = paragraph.level.to_string();
    let align = match align {
        Align::Left => "l",
        Align::Center => "ctr",
        Align::Right => "r",
    };
    let attributes = [("marL", left.as_str()), ("lvl", &level), ("indent", &hanging), ("algn", align)];
    xml.element("a:pPr", &attributes, |xml| {
        xml.element("a:lnSpc", &[], |xml| xml.empty("a:spcPts", &[("val", &hundredths(paragraph.leading))]));
        let before = if is_first { "0".to_owned() } else { hundredths(paragraph.space_before) };
        xml.element("a:spcBef", &[], |xml| xml.empty("a:spcPts", &[("val", &before)]));
        match (paragraph.marker, start) {
            (Marker::Bullet, _) => {
                xml.element("a:buClr", &[], |xml| tint(xml, ACCENT));
                xml.empty("a:buFont", &[("typeface", "Arial")]);
                xml.empty("a:buChar", &[("char", "•")]);
            }
            (Marker::Number(_), Some(start)) => {
                xml.element("a:buClr", &[], |xml| tint(xml, ACCENT));
                xml.empty("a:buFont", &[("typeface", "+mj-lt")]);
                let start = start.to_string();
                xml.empty("a:buAutoNum", &[("type", "arabicPeriod"), ("startAt", &start)]);
            }
            _ => xml.empty("a:buNone", &[]),
        }
    });
}

fn run(xml: &mut Xml, run: &Run, paragraph: &Paragraph, rels: &mut Rels) {
    for (index, line) in run.text.split('\n').enumerate() {
        if index > 0 {
            xml.empty("a:br", &[]);
        }
        if line.is_empty() {
            continue;
        }
        xml.element("a:r", &[], |xml| {
            run_properties(xml, run, paragraph, rels);
            xml.element("a:t", &[], |xml| xml.text(line));
        });
    }
}

fn run_properties(xml: &mut Xml, run: &Run, paragraph: &Paragraph, rels: &mut Rels) {
    let flag = |set: bool| if set { "1" } else { "0" };
    let face = paragraph.face;
    let size = hundredths(face.size_of(run));
    let (bold, italic) = (flag(face.bold || run.bold), flag(face.italic || run.italic));
    xml.element("a:rPr", &[("sz", &size), ("b", bold), ("i", italic), ("dirty", "0")], |xml| {
        fill(xml, paragraph.colour);
        if run.code {
            typeface(xml, MONOSPACE);
        }
        if let Some(target) = &run.link {
            let id = rels.link(&crate::text::link::harmless(target).unwrap_or_default());
            xml.empty("a:hlinkClick", &[("r:id", &id)]);
        }
    });
}

pub fn typeface(xml: &mut Xml, name: &str) {
    xml.empty("a:latin", &[("typeface", name)]);
    xml.empty("a:cs", &[("typeface", name)]);
}
