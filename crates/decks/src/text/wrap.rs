//! Breaking runs into lines.

use super::metrics::{Face, is_wide};
use crate::model::Run;

/// One line. Its runs keep the space at which it was broken, so that lines put together are the text again.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub runs: Vec<Run>,
    /// Without the spaces at its end.
    pub width: f32,
    /// Whether the text itself ends the line here.
    pub ends_by_text: bool,
}

struct Glyph {
    c: char,
    run: usize,
    width: f32,
}

/// Always at least one line. A word wider than `width` is broken where it must be.
#[must_use]
pub fn wrap(runs: &[Run], face: Face, width: f32) -> Vec<Line> {
    let glyphs: Vec<Glyph> = runs
        .iter()
        .enumerate()
        .flat_map(|(index, run)| {
            run.text.chars().map(move |c| Glyph { c, run: index, width: face.width_of(run, c) })
        })
        .collect();
    let mut lines = Vec::new();
    let (mut start, mut good_break, mut reach) = (0, 0, 0.0);
    for (at, glyph) in glyphs.iter().enumerate() {
        if glyph.c == '\n' {
            lines.push(line(runs, &glyphs[start..at], true));
            (start, good_break, reach) = (at + 1, at + 1, 0.0);
            continue;
        }
        reach += glyph.width;
        // Spaces may hang over the edge: nobody sees them.
        if reach > width && glyph.c != ' ' && at > start {
            let end = if good_break > start { good_break } else { at };
            lines.push(line(runs, &glyphs[start..end], false));
            start = end;
            reach = glyphs[start..=at].iter().map(|glyph| glyph.width).sum();
        }
        if matches!(glyph.c, ' ' | '-' | '–' | '—') || is_wide(glyph.c) {
            good_break = at + 1;
        }
    }
    lines.push(line(runs, &glyphs[start..], true));
    lines
}

fn line(runs: &[Run], glyphs: &[Glyph], ends_by_text: bool) -> Line {
    let seen = glyphs.iter().rposition(|glyph| glyph.c != ' ').map_or(0, |last| last + 1);
    let width = glyphs[..seen].iter().map(|glyph| glyph.width).sum();
    let pieces = glyphs.chunk_by(|a, b| a.run == b.run);
    let runs = pieces
        .map(|piece| runs[piece[0].run].with_text(piece.iter().map(|glyph| glyph.c).collect::<String>()))
        .collect();
    Line { runs, width, ends_by_text }
}

/// Lines as running text again.
#[must_use]
pub fn unwrap(lines: &[Line]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        for run in &line.runs {
            push(&mut runs, run.clone());
        }
        if line.ends_by_text && index + 1 < lines.len() {
            let look = runs.last().map_or_else(Run::default, |run| run.with_text(""));
            push(&mut runs, look.with_text("\n"));
        }
    }
    runs
}

/// Appends a run, joined to the last one where they look the same.
pub fn push(runs: &mut Vec<Run>, run: Run) {
    match runs.last_mut() {
        Some(last) if last.looks_like(&run) => last.text.push_str(&run.text),
        _ if run.text.is_empty() => {}
        _ => runs.push(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::plain_text;
    use proptest::prelude::*;

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| plain_text(&line.runs)).collect()
    }

    #[test]
    fn lines_break_at_spaces_and_only_long_words_inside() {
        let lines = wrap(&[Run::plain("one two incomprehensibilities")], Face::regular(10.0), 45.0);
        assert_eq!(texts(&lines), ["one two ", "incompre", "hensibiliti", "es"]);
        assert!(lines.iter().all(|line| line.width <= 45.0));
    }

    #[test]
    fn a_look_continues_on_the_next_line() {
        let bold = Run { bold: true, ..Run::plain("bold words here") };
        let lines = wrap(&[Run::plain("and "), bold], Face::regular(10.0), 60.0);
        assert_eq!(texts(&lines), ["and bold ", "words here"]);
        assert!(lines[1].runs[0].bold && !lines[0].runs[0].bold);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_by_wrapping(text in "[a-zß日 \n-]{0,80}", width in 1.0f32..300.0) {
            let lines = wrap(&[Run::plain(&text)], Face::regular(12.0), width);
            prop_assert_eq!(plain_text(&unwrap(&lines)), text);
        }
    }
}
