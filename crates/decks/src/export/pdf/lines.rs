//! Paragraphs on a canvas.

use super::canvas::Canvas;
use crate::layout::{Paragraph, TextBox};
use crate::model::{Align, Marker, Run};
use crate::text::metrics::Face;
use crate::text::wrap::wrap;
use crate::theme::ACCENT;

pub fn text_box(canvas: &mut Canvas, text: &TextBox) {
    let mut y = text.rect.y;
    for (index, paragraph) in text.paragraphs.iter().enumerate() {
        y += if index == 0 { 0.0 } else { paragraph.space_before };
        y = paragraph_at(canvas, paragraph, text, y);
    }
}

/// Where the next paragraph begins.
fn paragraph_at(canvas: &mut Canvas, paragraph: &Paragraph, text: &TextBox, top: f32) -> f32 {
    let width = text.rect.width - paragraph.indent;
    let left = text.rect.x + paragraph.indent;
    let mut y = top;
    for (index, line) in wrap(&paragraph.runs, paragraph.face, width).iter().enumerate() {
        let base = baseline(y, paragraph.leading, paragraph.face);
        if index == 0 {
            marker(canvas, paragraph, left - paragraph.hanging, base);
        }
        let shift = shift(text.align, width - line.width);
        canvas.line(&line.runs, paragraph.face, paragraph.colour, left + shift, base);
        y += paragraph.leading;
    }
    y
}

/// How far a line moves to the right, of the space it leaves.
pub fn shift(align: Align, free: f32) -> f32 {
    match align {
        Align::Left => 0.0,
        Align::Center => free / 2.0,
        Align::Right => free,
    }
}

fn marker(canvas: &mut Canvas, paragraph: &Paragraph, x: f32, y: f32) {
    let sign = match paragraph.marker {
        Marker::Bullet => "•".to_owned(),
        Marker::Number(number) => format!("{number}."),
        Marker::None => return,
    };
    let run = Run::plain(sign);
    let face = Face { bold: false, italic: false, ..paragraph.face };
    // A long number reaches out to the left rather than into its text.
    let width: f32 = run.text.chars().map(|c| face.width_of(&run, c)).sum();
    let x = x.min(x + paragraph.hanging - 4.0 - width);
    canvas.line(&[run], face, ACCENT, x, y);
}

/// The baseline of a line that begins at `top`: its small letters stand in the middle.
pub fn baseline(top: f32, leading: f32, face: Face) -> f32 {
    top + leading / 2.0 + face.size * 0.34
}
