//! A composed page on a canvas.

use super::DrawnPage;
use super::canvas::Canvas;
use super::lines::{baseline, shift, text_box};
use crate::error::DeckError;
use crate::layout::{CodeBox, Element, Page, PageKind, Rect, TableBox, short_footer};
use crate::model::Run;
use crate::text::metrics::Face;
use crate::text::wrap::wrap;
use crate::theme::{
    ACCENT, CELL_PADDING_X, CELL_PADDING_Y, CODE_PADDING, CONTENT_WIDTH, FOOTER_LINE, FOOTER_SIZE,
    HEADING_TOP, HEIGHT, INK, INK_SOFT, LINE, LINE_STRONG, LOG_DIM, LOG_INK, LOG_PAGE, MARGIN, MARK_HEIGHT,
    MARK_WIDTH, PAGE, SUNKEN, SURFACE, WIDTH,
};

const RADIUS: f32 = 6.0;
const EDGE: f32 = 16.0;

pub fn page(page: &Page, deck_title: &str, slide_count: usize) -> Result<DrawnPage, DeckError> {
    let mut canvas = Canvas::new();
    ground(&mut canvas, page.kind);
    page.elements.iter().for_each(|element| draw(&mut canvas, element));
    if page.kind != PageKind::Title {
        footer(&mut canvas, deck_title, page.number, slide_count);
    }
    canvas.finish(&page.heading)
}

fn ground(canvas: &mut Canvas, kind: PageKind) {
    let whole = Rect { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    match kind {
        PageKind::Title => {
            canvas.fill(whole, PAGE);
            canvas.fill(Rect { width: EDGE, ..whole }, ACCENT);
        }
        PageKind::Content | PageKind::TwoColumn => {
            canvas.fill(whole, SURFACE);
            let mark = Rect { x: MARGIN, y: HEADING_TOP, width: MARK_WIDTH, height: MARK_HEIGHT };
            canvas.fill_rounded(mark, MARK_HEIGHT / 2.0, ACCENT);
        }
        PageKind::Bare => canvas.fill(whole, SURFACE),
    }
}

fn footer(canvas: &mut Canvas, deck_title: &str, number: usize, count: usize) {
    canvas.fill(Rect { x: MARGIN, y: FOOTER_LINE, width: CONTENT_WIDTH, height: 0.75 }, LINE);
    let face = Face::regular(FOOTER_SIZE);
    let y = FOOTER_LINE + 20.0;
    canvas.line(&[Run::plain(short_footer(deck_title))], face, INK_SOFT, MARGIN, y);
    right_aligned(canvas, &format!("{number} / {count}"), face, INK_SOFT, MARGIN + CONTENT_WIDTH, y);
}

fn right_aligned(
    canvas: &mut Canvas,
    text: &str,
    face: Face,
    colour: crate::theme::Colour,
    right: f32,
    y: f32,
) {
    let run = Run::plain(text);
    let width: f32 = text.chars().map(|c| face.width_of(&run, c)).sum();
    canvas.line(&[run], face, colour, right - width, y);
}

fn draw(canvas: &mut Canvas, element: &Element) {
    match element {
        Element::Text(text) => text_box(canvas, text),
        Element::Code(code) => draw_code(canvas, code),
        Element::Table(table) => draw_table(canvas, table),
        Element::Quote { bar, text } => {
            canvas.fill(*bar, ACCENT);
            text_box(canvas, text);
        }
        Element::Image { rect, text } => {
            canvas.fill_rounded(*rect, RADIUS, SUNKEN);
            canvas.dashed_border(*rect, RADIUS, LINE_STRONG);
            text_box(canvas, text);
        }
    }
}

fn draw_code(canvas: &mut Canvas, code: &CodeBox) {
    canvas.fill_rounded(code.rect, RADIUS, LOG_PAGE);
    if let Some(language) = &code.language {
        let right = code.rect.x + code.rect.width - 12.0;
        right_aligned(canvas, language, Face::regular(10.0), LOG_DIM, right, code.rect.y + 16.0);
    }
    // Code is set at its full size, where code inside a sentence is a little smaller.
    let plain = Run { code: true, ..Run::default() };
    let face = Face::regular(code.size);
    let face = Face::regular(code.size * code.size / face.size_of(&plain));
    let mut y = code.rect.y + CODE_PADDING;
    for line in &code.lines {
        let base = baseline(y, code.leading, face);
        canvas.line(&[plain.with_text(line.as_str())], face, LOG_INK, code.rect.x + CODE_PADDING, base);
        y += code.leading;
    }
}

fn draw_table(canvas: &mut Canvas, table: &TableBox) {
    let mut y = table.rect.y;
    for (index, row) in table.rows.iter().enumerate() {
        let is_header = index == 0;
        let face = if is_header { Face::bold(table.size) } else { Face::regular(table.size) };
        if is_header {
            canvas.fill(Rect { y, height: row.height, ..table.rect }, SUNKEN);
        }
        let mut x = table.rect.x;
        for (column, (cell, width)) in row.cells.iter().zip(&table.columns).enumerate() {
            let align = table.align.get(column).copied().unwrap_or_default();
            let inside = (width - 2.0 * CELL_PADDING_X).max(1.0);
            let mut top = y + CELL_PADDING_Y;
            for line in wrap(cell, face, inside) {
                let x = x + CELL_PADDING_X + shift(align, inside - line.width);
                let colour = if is_header { INK_SOFT } else { INK };
                canvas.line(&line.runs, face, colour, x, baseline(top, table.leading, face));
                top += table.leading;
            }
            x += width;
        }
        y += row.height;
        let below = if is_header { LINE_STRONG } else { LINE };
        canvas.fill(Rect { y: y - 0.75, height: 0.75, ..table.rect }, below);
    }
}
