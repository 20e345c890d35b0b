//! How wide a character is.

use super::{widths, winansi};
use crate::model::Run;

/// The look a text has where its runs say nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Face {
    pub size: f32,
    pub bold: bool,
    pub italic: bool,
}

impl Face {
    #[must_use]
    pub const fn regular(size: f32) -> Self {
        Self { size, bold: false, italic: false }
    }

    #[must_use]
    pub const fn bold(size: f32) -> Self {
        Self { size, bold: true, italic: false }
    }

    #[must_use]
    pub const fn italic(size: f32) -> Self {
        Self { size, bold: false, italic: true }
    }

    /// The size a run is set in: fixed-width letters look larger than they are.
    #[must_use]
    pub fn size_of(&self, run: &Run) -> f32 {
        if run.code { self.size * CODE_SCALE } else { self.size }
    }

    #[must_use]
    pub fn width_of(&self, run: &Run, c: char) -> f32 {
        let thousandths = if run.code { fixed(c) } else { proportional(c, self.bold || run.bold) };
        f32::from(thousandths) / 1000.0 * self.size_of(run)
    }
}

const CODE_SCALE: f32 = 0.9;
/// The share of its size that every glyph of Courier is wide.
pub const COURIER: f32 = 0.6;

fn proportional(c: char, bold: bool) -> u16 {
    let table = if bold { &widths::BOLD } else { &widths::REGULAR };
    match winansi::code(c) {
        Some(code) => table[usize::from(code - 32)],
        None => estimated(c, 600),
    }
}

fn fixed(c: char) -> u16 {
    if winansi::code(c).is_some() { 600 } else { estimated(c, 600) }
}

/// For letters the standard fonts lack; a presentation program takes them from some other font.
fn estimated(c: char, usual: u16) -> u16 {
    match c {
        '\t' => 4 * usual,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        _ if is_wide(c) => 1000,
        'А'..='я' => 680,
        _ => usual,
    }
}

/// Scripts set in squares, and emoji. A line may be broken beside any of them.
#[must_use]
pub fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(text: &str, face: Face, run: &Run) -> f32 {
        text.chars().map(|c| face.width_of(run, c)).sum()
    }

    #[test]
    fn a_word_is_as_wide_as_the_font_says() {
        // H 722, e 556, l 222, o 556
        assert!((width("Hello", Face::regular(10.0), &Run::default()) - 22.78).abs() < 0.001);
        assert!((width("Hello", Face::bold(10.0), &Run::default()) - 24.45).abs() < 0.001);
        let code = Run { code: true, ..Run::default() };
        assert!((width("Hello", Face::regular(10.0), &code) - 27.0).abs() < 0.001);
    }
}
