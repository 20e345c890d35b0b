//! Private keys in PEM, PGP and PuTTY form: hidden from their first line to their last, also when they were cut, and
//! also when their lines come one by one.

use super::shapes::is_mixed;
use regex::Regex;
use std::{ops::Range, sync::LazyLock};

/// A block that is never closed must not silence the log for ever.
const LONGEST_BLOCK: u32 = 200;
/// So many letters of base64 in a row are no word.
const LONG_RUN: usize = 16;

static BEGIN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|Private-Lines: [0-9]+").ok()
});
static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|Private-MAC: [0-9a-f]+").ok()
});

/// Where there are private keys in a text, whole or cut at either end.
pub fn find(text: &str, spans: &mut Vec<Range<usize>>) {
    let (Some(begin), Some(end)) = (BEGIN.as_ref(), END.as_ref()) else { return };
    let ends: Vec<Range<usize>> = end.find_iter(text).map(|last| last.range()).collect();
    let begins: Vec<Range<usize>> = begin.find_iter(text).map(|first| first.range()).collect();
    let (mut next_end, mut behind) = (0, 0);
    for (i, first) in begins.iter().enumerate() {
        let opened_again = begins.get(i + 1).map_or(text.len(), |next| next.start);
        orphans(text, &ends, &mut next_end, behind..first.start, spans);
        behind = match ends.get(next_end).filter(|last| last.end <= opened_again) {
            Some(last) => {
                next_end += 1;
                last.end
            }
            None => first.end + key_lines(&text[first.end..opened_again]),
        };
        spans.push(first.start..behind);
    }
    orphans(text, &ends, &mut next_end, behind..text.len(), spans);
}

/// Ends whose beginnings were cut off.
fn orphans(
    text: &str,
    ends: &[Range<usize>],
    next_end: &mut usize,
    within: Range<usize>,
    spans: &mut Vec<Range<usize>>,
) {
    let mut from = within.start;
    while let Some(last) = ends.get(*next_end).filter(|last| last.end <= within.end) {
        if let Some(before) = text.get(from..last.start) {
            spans.push(last.start - key_lines_before(before)..last.end);
        }
        from = last.end;
        *next_end += 1;
    }
}

/// How much of the text may belong to a key whose end is missing.
fn key_lines(text: &str) -> usize {
    let mut length = 0;
    for (i, line) in text.split_inclusive('\n').enumerate() {
        if i == 0 {
            // On the same line it goes on to the end of the string it stands in.
            let end = line.find(['"', '\'', '<', '`']).unwrap_or(line.len());
            length += end;
            if end < line.len() {
                break;
            }
        } else if may_belong_to_a_key(line) {
            length += line.len();
        } else {
            break;
        }
    }
    length
}

fn key_lines_before(text: &str) -> usize {
    let lines = text.split_inclusive('\n').rev();
    lines.take_while(|line| !line.trim().is_empty() && may_belong_to_a_key(line)).map(str::len).sum()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// A line of base64, bare or behind what a logger puts before it, or one of a key's own headers.
fn may_belong_to_a_key(line: &str) -> bool {
    let line = line.trim();
    let headers = ["Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Hash:", "Charset:"];
    let longest_run = line.as_bytes().split(|b| !is_base64(*b)).map(<[u8]>::len).max().unwrap_or_default();
    line.bytes().all(is_base64)
        || longest_run >= LONG_RUN
        || line
            .split_whitespace()
            .next_back()
            .is_some_and(|word| word.ends_with('=') && word.bytes().all(is_base64))
        || headers.iter().any(|header| line.contains(header))
}

/// Follows one stream of lines through private keys.
#[derive(Clone, Debug, Default)]
pub struct KeyBlock {
    lines_inside: u32,
}

impl KeyBlock {
    /// A stream that is taken up again, inside a key or not.
    pub fn resumed(inside: bool) -> Self {
        Self { lines_inside: u32::from(inside) }
    }

    /// Whether the line alone could be the middle of a key, so that it matters what came before.
    pub fn may_continue(line: &str) -> bool {
        !line.trim().is_empty() && may_belong_to_a_key(line)
    }

    /// Whether this line belongs to a private key.
    pub fn covers(&mut self, line: &str) -> bool {
        let is = |regex: &Option<Regex>| regex.as_ref().is_some_and(|regex| regex.is_match(line));
        let may_be_edge = line.contains("-----") || line.contains("Private-");
        if may_be_edge && is(&BEGIN) {
            // A key on one line, as in an escaped string, ends where it begins.
            self.lines_inside = u32::from(!is(&END));
            return true;
        }
        if may_be_edge && is(&END) {
            self.lines_inside = 0;
            return true;
        }
        if self.lines_inside == 0 {
            return is_middle_of_a_key(line);
        }
        if self.lines_inside > LONGEST_BLOCK || !may_belong_to_a_key(line) {
            self.lines_inside = 0;
            return false;
        }
        self.lines_inside += 1;
        true
    }
}

/// As wide as PEM lines are, and of all kinds of letters: what is left of a key whose beginning was lost.
fn is_middle_of_a_key(line: &str) -> bool {
    let line = line.trim();
    matches!(line.len(), 64 | 70)
        && line.bytes().all(is_base64)
        && is_mixed(line)
        && line.bytes().any(|b| b.is_ascii_uppercase())
        && line.bytes().any(|b| b.is_ascii_lowercase() && b > b'f')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        let mut spans = Vec::new();
        find(text, &mut spans);
        let mut shown = text.to_owned();
        for span in spans.into_iter().rev() {
            shown.replace_range(span, "_");
        }
        shown
    }

    const OPEN: &str = concat!("-----BEGIN RSA PRIV", "ATE KEY-----");
    const CLOSE: &str = concat!("-----END RSA PRIV", "ATE KEY-----");

    #[test]
    fn keys_are_hidden_whole_or_cut() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nAb3=";
        assert_eq!(hidden(&format!("a\n{OPEN}\n{body}\n{CLOSE}\nb")), "a\n_\nb");
        assert_eq!(hidden(&format!("a {OPEN}\\nMIIE\\n{CLOSE} b")), "a _ b");
        assert_eq!(hidden(&format!("a\n{OPEN}\n{body}\nthen it went on")), "a\n_then it went on");
        assert_eq!(hidden(&format!("it was\n{body}\n{CLOSE}\nb")), "it was\n_\nb");
        assert_eq!(hidden(&format!("{{\"k\": \"{OPEN}\\nMIIE\", \"n\": 1}}")), "{\"k\": \"_\", \"n\": 1}");
        let public = "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----";
        assert_eq!(hidden(public), public);
    }

    #[test]
    fn a_stream_of_lines_is_followed_from_the_first_to_the_last() {
        let mut block = KeyBlock::default();
        let lines = ["a", OPEN, "MIIE", CLOSE, "b"];
        assert_eq!(lines.map(|line| block.covers(line)), [false, true, true, true, false]);
        assert!(block.covers(&format!("{OPEN}\\nMII\\n{CLOSE}")) && !block.covers("after"));
        let cut = [OPEN, "MIIEvQ", "12:00 INFO MIIEvQIBADANBgkqhkiG9w0B", "and on it went", "MIIEvQ"];
        assert_eq!(cut.map(|line| block.covers(line)), [true, true, true, false, false]);
        let middle = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        assert!(block.covers(middle));
        assert!(!block.covers(&"0123456789abcdef".repeat(4)), "a hash");
        assert!(KeyBlock::resumed(true).covers("AbC="));
    }
}
