//! The last part of a stream, kept within a fixed number of bytes.

use leasehold_queue::secrets::Redactor;
use std::collections::VecDeque;

pub const TAIL_BYTES: usize = 16 * 1024;

#[derive(Default)]
pub struct Tail {
    lines: VecDeque<String>,
    bytes: usize,
}

impl Tail {
    pub fn push(&mut self, line: &str) {
        self.bytes += line.len() + 1;
        self.lines.push_back(line.to_owned());
        while self.bytes > TAIL_BYTES && self.lines.len() > 1 {
            if let Some(oldest) = self.lines.pop_front() {
                self.bytes -= oldest.len() + 1;
            }
        }
    }

    /// The redacted text; none when nothing was printed.
    pub fn text(&self, redactor: &Redactor) -> Option<String> {
        if self.lines.is_empty() {
            return None;
        }
        let mut text = String::new();
        for line in &self.lines {
            text.push_str(&redactor.text(line));
            text.push('\n');
        }
        // Redaction may have made it longer.
        let mut start = text.len().saturating_sub(TAIL_BYTES);
        while !text.is_char_boundary(start) {
            start += 1;
        }
        Some(text.split_off(start))
    }

    /// The last line that says something.
    pub fn last_line(&self, redactor: &Redactor) -> Option<String> {
        let line = self.lines.iter().rev().find(|line| !line.trim().is_empty())?;
        Some(redactor.text(line).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::default();
        for n in 0..10_000 {
            tail.push(&format!("line {n} €"));
        }
        tail.push("password=x");
        tail.push("");
        let text = tail.text(&Redactor::default()).unwrap();
        assert!(text.len() <= TAIL_BYTES && text.len() > TAIL_BYTES - 200, "{}", text.len());
        assert!(text.ends_with("line 9999 €\npassword=***REDACTED***\n\n"), "{text}");
        assert_eq!(tail.last_line(&Redactor::default()).unwrap(), "password=***REDACTED***");
    }

    #[test]
    fn nothing_printed_is_no_tail() {
        assert_eq!(Tail::default().text(&Redactor::default()), None);
    }
}
