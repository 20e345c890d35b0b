//! Secrets that a text announces by name: `password=…`, `"api_key": "…"`, `--token …`, `Cookie: …`,
//! `{"name": "DB_PASSWORD", "value": "…"}`, `<password>…</password>`, `postgres://user:…@host`.

use super::{
    names::{Announces, words},
    values::{is_harmless, looks_random, value},
};
use std::ops::Range;

/// Words before credentials in a header.
const SCHEMES: &str = "basic bearer digest negotiate ntlm token apikey oauth hawk hmac ssws sharedkey sharedkeylite googlelogin key";
/// The most of an address that is searched for its password.
const LONGEST_LOGIN: usize = 1_024;
const VALUE_WORDS: [&str; 4] = ["value", "val", "content", "data"];

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// The name around a hit, as it stands in the text.
pub fn name_around(text: &str, hit: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = bytes[..hit.start].iter().rposition(|b| !is_name_byte(*b)).map_or(0, |at| at + 1);
    let length = bytes[hit.end..].iter().position(|b| !is_name_byte(*b)).unwrap_or(bytes.len() - hit.end);
    let mut end = hit.end + length;
    while end > hit.end && matches!(bytes[end - 1], b'.' | b'-') {
        end -= 1;
    }
    start..end
}

/// The secret this name announces, if there is one behind it.
pub fn announced(text: &str, name: &Range<usize>, announces: Announces) -> Option<Range<usize>> {
    let cursor = Cursor { text, bytes: text.as_bytes(), name: name.clone() };
    let (at, limit) = cursor.value_start()?;
    let mut found = value(text, at, limit)?;
    if text.as_bytes()[at] != b'"' {
        found.end = cursor.header_end(&found, limit);
    }
    let said = &text[found.clone()];
    // A shell's folder, not a password.
    if matches!(&text[name.clone()], "PWD" | "OLDPWD") && said.starts_with('/') {
        return None;
    }
    let sure = announces == Announces::Secret || looks_random(said);
    (sure && !is_harmless(said)).then_some(found)
}

struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    name: Range<usize>,
}

impl Cursor<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    fn blanks(&self, at: usize, lines_too: bool) -> usize {
        let blank = |b: &&u8| matches!(b, b' ' | b'\t') || (lines_too && matches!(b, b'\r' | b'\n'));
        at + self.bytes[at..].iter().take_while(blank).count()
    }

    fn starts_with(&self, at: usize, what: &str) -> bool {
        self.bytes[at.min(self.bytes.len())..]
            .get(..what.len())
            .is_some_and(|b| b.eq_ignore_ascii_case(what.as_bytes()))
    }

    fn quote(&self, at: usize) -> Option<usize> {
        let backslashes = self.bytes[at.min(self.bytes.len())..].iter().take_while(|b| **b == b'\\').count();
        matches!(self.byte(at + backslashes), b'"' | b'\'' | b'`').then_some(at + backslashes + 1)
    }

    /// Where the value begins, and where what encloses both ends.
    fn value_start(&self) -> Option<(usize, usize)> {
        let is_flag = self.byte(self.name.start) == b'-';
        let before = self.name.start.checked_sub(1).map_or(0, |at| self.byte(at));
        if before == b'<' && self.byte(self.name.end) == b'>' {
            return Some((self.name.end + 1, self.text.len()));
        }
        let closed = self.quote(self.name.end);
        // A header or an assignment inside quotes ends with them.
        let encloses = matches!(before, b'"' | b'\'' | b'`') && closed.is_none();
        let limit = if encloses { self.next(before) } else { self.text.len() };
        let mut at = closed.unwrap_or(self.name.end);
        at += usize::from(self.byte(at) == b']');
        at += if self.starts_with(at, "%22") { 3 } else { 0 };
        let gap = self.blanks(at, false);
        if let Some(behind) = self.separator(gap) {
            if self.is_syntax_error() {
                return None;
            }
            let start = self.blanks(behind, closed.is_some());
            let start = if self.starts_with(start, "%22") { start + 3 } else { start };
            return (start < limit).then_some((start, limit));
        }
        if gap > at && closed.is_none() {
            let quoted = self.quote(gap).is_some() && self.is_password();
            let flagged = is_flag && self.byte(gap) != b'-';
            if (quoted || flagged) && gap < limit {
                return Some((gap, limit));
            }
        }
        self.paired(at).map(|at| (at, self.text.len()))
    }

    fn next(&self, quote: u8) -> usize {
        let rest = &self.bytes[self.name.end..];
        rest.iter().position(|b| *b == quote).map_or(self.text.len(), |at| self.name.end + at)
    }

    /// Behind `=`, `:`, `:=`, `=>` or their forms in an address.
    fn separator(&self, at: usize) -> Option<usize> {
        if self.starts_with(at, "%3A") || self.starts_with(at, "%3D") {
            return Some(at + 3);
        }
        match (self.byte(at), self.byte(at + 1), self.byte(at + 2)) {
            // A path in a program, or an address.
            (b':', b':', _) | (b':', b'/', b'/') => None,
            (b':' | b'=', b'=', _) | (b'=', b'>', _) => Some(at + 2),
            (b':' | b'=', ..) => Some(at + 1),
            _ => None,
        }
    }

    /// Parsers say "unexpected token: }".
    fn is_syntax_error(&self) -> bool {
        let start = self.name.start.saturating_sub(16);
        let before =
            String::from_utf8_lossy(&self.bytes[start..self.name.start]).trim_end().to_ascii_lowercase();
        let name = &self.text[self.name.clone()];
        name.eq_ignore_ascii_case("token")
            && ["unexpected", "invalid", "expected", "illegal", "unknown"]
                .iter()
                .any(|word| before.ends_with(word))
    }

    fn is_password(&self) -> bool {
        let words = words(&self.text[self.name.clone()]);
        words.last().is_some_and(|word| {
            word.ends_with("password") || matches!(&**word, "passwd" | "pwd" | "passphrase")
        })
    }

    /// The name is itself a value, and beside it stands the value it names.
    fn paired(&self, at: usize) -> Option<usize> {
        let comma = self.blanks(at, true);
        let next = self.blanks(comma + usize::from(self.byte(comma) == b','), true);
        let word = self.quote(next).unwrap_or(next);
        let behind = VALUE_WORDS
            .iter()
            .find(|name| self.starts_with(word, name) && !is_name_byte(self.byte(word + name.len())))?;
        let at = word + behind.len();
        let at = self.quote(at).unwrap_or(at);
        Some(self.blanks(self.separator(self.blanks(at, false))?, true))
            .filter(|at| *at < self.text.len() && word > self.name.end)
    }

    /// Credentials and cookies of a header go on to the end of its line.
    fn header_end(&self, found: &Range<usize>, limit: usize) -> usize {
        let words = words(&self.text[self.name.clone()]);
        let said = self.text[found.clone()].to_ascii_lowercase();
        let goes_on = match words.last().map(String::as_str) {
            Some("authorization" | "proxyauthorization") => {
                SCHEMES.split(' ').any(|scheme| scheme == said) || said.starts_with("aws4-")
            }
            Some("cookie" | "cookies" | "setcookie") => said.contains('='),
            // `token: Bearer …`
            _ => matches!(said.as_str(), "bearer" | "basic"),
        };
        if !goes_on {
            return found.end;
        }
        let rest = &self.text[found.end..limit];
        let line = [rest.find(['\r', '\n']), rest.find("\\r"), rest.find("\\n"), rest.find("\\\"")];
        found.end + line.into_iter().flatten().min().unwrap_or(rest.len())
    }
}

/// The password of an address: behind the first colon, before the last @ of what can be its authority.
pub fn in_url(text: &str, scheme_end: usize) -> Option<Range<usize>> {
    let start = scheme_end + 3;
    let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '\\');
    let mut most = text.len().min(start + LONGEST_LOGIN);
    while !text.is_char_boundary(most) {
        most -= 1;
    }
    let rest = &text[start..most];
    let whole = &rest[..rest.find(ends).unwrap_or(rest.len())];
    let authority = &whole[..whole.find(['/', '?', '#']).unwrap_or(whole.len())];
    let (user, rest) = match authority.rsplit_once('@') {
        Some((login, _)) => match login.split_once(':') {
            Some((user, password)) => (user, password),
            // A token in the place of a user.
            None => {
                return (login.len() >= 20 && looks_random(login) && !is_harmless(login))
                    .then(|| start..start + login.len());
            }
        },
        // A slash or a question mark in the password, which is no port.
        None => {
            let (user, rest) = whole.split_once(':')?;
            let (password, _) = rest.rsplit_once('@')?;
            let port = rest.split(['/', '?', '#']).next().unwrap_or_default();
            if user.contains('/') || port.bytes().all(|b| b.is_ascii_digit()) || password.contains("://") {
                return None;
            }
            (user, password)
        }
    };
    let from = start + user.len() + 1;
    (!rest.is_empty() && !is_harmless(rest)).then(|| from..from + rest.len())
}
