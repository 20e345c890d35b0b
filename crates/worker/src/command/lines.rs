//! Bytes from a pipe become lines of bounded length.
//!
//! A little more than a line's limit is kept until the line is complete, so that redaction sees a secret whole that
//! lies across the limit; only then is the line cut, on a character's border.

/// The most of one line that is kept.
pub const LINE_BYTES: usize = 8 * 1024;
const LOOK_AHEAD: usize = 1024;
const RESULT: &[u8] = b"::result ";

pub struct LineSplitter {
    line: Vec<u8>,
    /// A result is data, not a log line; it may be as long as a payload.
    longest_result: usize,
}

impl LineSplitter {
    pub fn new(longest_result: usize) -> Self {
        Self { line: Vec::new(), longest_result }
    }

    /// Takes a chunk and hands every line it completes to `each`.
    pub fn feed(&mut self, mut chunk: &[u8], mut each: impl FnMut(&str)) {
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            self.append(&chunk[..end]);
            self.complete(&mut each);
            chunk = &chunk[end + 1..];
        }
        self.append(chunk);
    }

    /// The pipe is closed: what is left is a line too.
    pub fn finish(&mut self, mut each: impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.complete(&mut each);
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = self.limit(bytes).saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn limit(&self, next: &[u8]) -> usize {
        let mut start = self.line.iter().chain(next);
        let is_result = RESULT.iter().all(|expected| start.next() == Some(expected));
        if is_result {
            self.longest_result.max(LINE_BYTES) + RESULT.len() + 1
        } else {
            LINE_BYTES + LOOK_AHEAD
        }
    }

    fn complete(&mut self, each: &mut impl FnMut(&str)) {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let line = if line.starts_with(RESULT) { line } else { without_half_a_word(line) };
        let text = String::from_utf8_lossy(line);
        if text.contains('\0') {
            // Postgres cannot keep it.
            each(&text.replace('\0', "\u{fffd}"));
        } else {
            each(&text);
        }
        self.line.clear();
        // One giant result must not hold its memory for the rest of the attempt.
        self.line.shrink_to(LINE_BYTES + LOOK_AHEAD);
    }
}

/// A line that was too long ends in the middle of a word, which may be the first half of a secret: unlike the whole,
/// nobody would know it as one.
fn without_half_a_word(line: &[u8]) -> &[u8] {
    if line.len() < LINE_BYTES + LOOK_AHEAD {
        return line;
    }
    let blank = line[LINE_BYTES..].iter().rposition(u8::is_ascii_whitespace);
    blank.map_or(line, |at| &line[..LINE_BYTES + at])
}

/// At most `most` bytes from the front, never half a character.
pub fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chunks: &[&[u8]]) -> Vec<String> {
        let mut splitter = LineSplitter::new(20_000);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.feed(chunk, |line| lines.push(line.to_owned()));
        }
        splitter.finish(|line| lines.push(line.to_owned()));
        lines
    }

    #[test]
    fn lines_are_put_together_across_chunks() {
        assert_eq!(lines(&[b"one\ntw", b"o\r\n", b"", b"\nend"]), ["one", "two", "", "end"]);
        let euro = "€".as_bytes();
        assert_eq!(lines(&[&euro[..1], &euro[1..], b"\n"]), ["€"]);
    }

    #[test]
    fn what_is_not_text_is_replaced() {
        assert_eq!(lines(&[b"a\xffb\0c\n"]), ["a\u{fffd}b\u{fffd}c"]);
    }

    #[test]
    fn a_line_without_end_costs_no_more_than_its_limit() {
        let chunk = [b'x'; 4_096];
        let kept = lines(&[chunk.as_slice(); 100]);
        assert_eq!(kept[0].len(), LINE_BYTES + LOOK_AHEAD);
    }

    #[test]
    fn a_result_may_be_longer_than_a_log_line() {
        let text = format!("::result \"{}\"\n", "y".repeat(15_000));
        let (a, b) = text.as_bytes().split_at(4);
        assert_eq!(lines(&[a, b])[0].len(), text.len() - 1);
    }

    #[test]
    fn a_word_that_was_cut_in_two_is_left_out() {
        let line = format!("{} {}", "x".repeat(LINE_BYTES + 500), "y".repeat(900));
        assert_eq!(lines(&[line.as_bytes()])[0].len(), LINE_BYTES + 500);
    }

    #[test]
    fn cutting_never_halves_a_character() {
        assert_eq!(cut("a€b", 2), "a");
        assert_eq!(cut("a€b", 4), "a€");
        assert_eq!(cut("ab", 9), "ab");
    }
}
