//! Text from outside on its way to a terminal, a file's name or a header.

use std::{borrow::Cow, fmt::Write};

/// Letters that change the order in which others are shown, and so what a reader takes them for.
pub fn turns_letters(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// What a terminal would obey rather than show, or show in another order.
fn is_command(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || turns_letters(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

/// As it may be written to a terminal: control characters and those that turn letters round are spelt out
/// (`\u{1b}`, `\u{202e}`); line ends and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_command(c) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// The same for JSON, which stays JSON of the same meaning.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_command) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_command(c) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_spelt_out() {
        assert_eq!(printable_json("{\"a\":\"\u{202e}\u{9b}\"}"), r#"{"a":"\u202e\u009b"}"#);
        assert_eq!(printable("Łódź → 🚀\tok\n"), "Łódź → 🚀\tok\n");
        assert_eq!(
            printable("a\u{1b}[2Jb\u{202e}c\rd\u{2066}\u{9b}"),
            r"a\u{1b}[2Jb\u{202e}c\u{d}d\u{2066}\u{9b}"
        );
    }
}
