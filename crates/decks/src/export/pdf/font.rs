//! The eight standard fonts in use.

use pdf_writer::{Name, Pdf, Ref};

use crate::model::Run;
use crate::text::metrics::Face;

/// Regular, bold, italic, both; first proportional, then fixed.
const FONTS: [(&str, &str); 8] = [
    ("F0", "Helvetica"),
    ("F1", "Helvetica-Bold"),
    ("F2", "Helvetica-Oblique"),
    ("F3", "Helvetica-BoldOblique"),
    ("F4", "Courier"),
    ("F5", "Courier-Bold"),
    ("F6", "Courier-Oblique"),
    ("F7", "Courier-BoldOblique"),
];

pub const COUNT: i32 = 8;

/// The name of the font a run is set in.
pub fn name(face: Face, run: &Run) -> Name<'static> {
    let bold = usize::from(face.bold || run.bold);
    let italic = usize::from(face.italic || run.italic);
    Name(FONTS[usize::from(run.code) * 4 + italic * 2 + bold].0.as_bytes())
}

/// Each font's name on the pages, and the object it will be, counted from `first`.
pub fn resources(first: Ref) -> impl Iterator<Item = (Name<'static>, Ref)> {
    FONTS.iter().zip(first.get()..).map(|((short, _), id)| (Name(short.as_bytes()), Ref::new(id)))
}

pub fn write(pdf: &mut Pdf, first: Ref) {
    for ((_, base), id) in FONTS.iter().zip(first.get()..) {
        let mut font = pdf.type1_font(Ref::new(id));
        font.base_font(Name(base.as_bytes())).encoding_predefined(Name(b"WinAnsiEncoding"));
    }
}
