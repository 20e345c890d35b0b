//! Where the value begins and ends that stands behind a name in a text: quoted, structured or bare.

use super::REDACTED;
use std::ops::Range;

/// What encloses the name and its value, if anything does, ends at `limit`.
pub fn value(text: &str, at: usize, limit: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let backslashes = bytes[at..limit].iter().take_while(|b| **b == b'\\').count();
    let first = *bytes.get(at + backslashes).filter(|_| at + backslashes < limit)?;
    if matches!(first, b'"' | b'\'' | b'`') {
        return Some(quoted(text, at + backslashes + 1, first, backslashes, limit));
    }
    if matches!(first, b'{' | b'[') && backslashes == 0 {
        return Some(at..structure_end(text, at, limit));
    }
    Some(at..bare_end(text, at, limit))
}

/// From behind the opening quote to before the closing one, which is escaped as often as the opening one.
fn quoted(text: &str, start: usize, quote: u8, escapes: usize, limit: usize) -> Range<usize> {
    let mut run = 0;
    for (i, byte) in text.as_bytes()[start..limit].iter().enumerate() {
        match *byte {
            b'\\' => run += 1,
            byte if byte == quote => {
                let closes = if escapes == 0 { run % 2 == 0 } else { run <= escapes };
                if closes {
                    return start..start + i - if escapes == 0 { 0 } else { run };
                }
                run = 0;
            }
            _ => run = 0,
        }
    }
    start..limit
}

/// Behind the bracket that closes the one at `start`; brackets in strings do not count.
fn structure_end(text: &str, start: usize, limit: usize) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (i, byte) in text.as_bytes()[start..limit].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return start + i + 1;
                }
            }
            _ => {}
        }
    }
    limit
}

/// A bare value ends at a blank or a quote. A comma, semicolon or ampersand ends it only where another name begins:
/// passwords have them too.
fn bare_end(text: &str, start: usize, limit: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < limit {
        match bytes[at] {
            b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'<' => break,
            b'\\' if bytes.get(at + 1).is_some_and(|next| matches!(next, b'"' | b'\'')) => break,
            b',' | b';' | b'&' if divides(&bytes[at + 1..limit]) => break,
            _ => at += 1,
        }
    }
    at
}

fn divides(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"amp;").unwrap_or(rest);
    let is_name =
        |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'%' | b' ' | b'[' | b']');
    match rest.first() {
        None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'\\') => true,
        Some(_) => {
            let name = rest.iter().take(64).take_while(|b| is_name(b)).count();
            name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
        }
    }
}

/// Nothing is given away by these: no value, what was hidden before, or a reference by name.
pub fn is_harmless(value: &str) -> bool {
    let value = value.trim();
    let hidden =
        |c: char| matches!(c, '*' | '•' | '…') || (value.len() > 3 && matches!(c, '.' | '-' | 'x' | 'X'));
    let lowered = value.to_ascii_lowercase();
    value.starts_with(REDACTED)
        || value.chars().all(hidden)
        || matches!(lowered.as_str(), "null" | "none" | "nil" | "undefined" | "true" | "false" | "{}" | "[]")
        || (value.starts_with("${") && value.ends_with('}') && !value[2..value.len() - 1].contains('{'))
        || (value.starts_with('<') && value.ends_with('>') && !value[1..value.len() - 1].contains('<'))
        || is_variable(value)
}

/// `$DB_PASSWORD`, which no password is likely to be.
fn is_variable(value: &str) -> bool {
    value.strip_prefix('$').is_some_and(|name| {
        name.contains('_') && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    })
}

/// Long, without blanks, and not a word: what a name that is no sure sign needs beside.
pub fn looks_random(value: &str) -> bool {
    value.len() >= 12
        && value.bytes().all(|b| b.is_ascii_graphic())
        && value.bytes().any(|b| b.is_ascii_digit())
        && value.bytes().any(|b| b.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> &str {
        &text[value(text, 0, text.len()).unwrap()]
    }

    #[test]
    fn values_end_where_they_end() {
        for (text, expected) in [
            (r#""a b", "n": 1"#, "a b"),
            (r#""a \"b\" c" rest"#, r#"a \"b\" c"#),
            (r#"\"a b\", \"n\": 1"#, "a b"),
            (r#"\\\"a b\\\", x"#, "a b"),
            (r#""never closed"#, "never closed"),
            ("'a b' rest", "a b"),
            ("abc def", "abc"),
            ("abc, def", "abc"),
            ("a,b&c;d rest", "a,b&c;d"),
            ("abc&rows=4", "abc"),
            ("abc;Server=x", "abc"),
            ("abc;Initial Catalog=x", "abc"),
            (r#"{"a": ["}", 1]} rest"#, r#"{"a": ["}", 1]}"#),
            ("[1, 2", "[1, 2"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn references_and_what_is_hidden_already_give_nothing_away() {
        for text in
            ["", "***", REDACTED, "${DB_PASSWORD}", "$DB_PASSWORD", "<password>", "null", "None", "{}"]
        {
            assert!(is_harmless(text), "{text}");
        }
        for text in ["$ecret", "x1", "{a", "<", "true1"] {
            assert!(!is_harmless(text), "{text}");
        }
    }
}
