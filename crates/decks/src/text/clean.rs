//! Characters no reader of XML or PDF should ever meet.

/// Without control characters; tabs and line ends stay, as `\t` and `\n`.
#[must_use]
pub fn text(raw: &str) -> String {
    raw.replace("\r\n", "\n").chars().filter_map(kept).collect()
}

/// One line of it, with single spaces: headings, titles, names.
#[must_use]
pub fn line(raw: &str) -> String {
    text(raw).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn kept(c: char) -> Option<char> {
    match c {
        '\r' | '\u{2028}' | '\u{2029}' => Some('\n'),
        '\n' | '\t' => Some(c),
        // Not allowed in XML 1.0, or only a mark of byte order.
        '\u{fffe}' | '\u{ffff}' | '\u{feff}' => None,
        _ if c.is_control() => None,
        _ => Some(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_go_and_line_ends_become_one_kind() {
        assert_eq!(text("a\u{0}b\u{1b}[1m\r\nc\rd\u{ffff}\t"), "ab[1m\nc\nd\t");
        assert_eq!(line(" a \n\tb\u{7} "), "a b");
    }
}
