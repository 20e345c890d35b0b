//! Log lines on their way to the store. Pushing never waits: under a flood the middle is dropped and said so.
//!
//! The first lines of an attempt are handed out as they come. When they come faster than they can be written, or
//! when the attempt has used up what may be shown live, only the newest are held back and the rest is counted. So an
//! attempt keeps its beginning and its end, and costs bounded memory whatever it prints.

use leasehold_queue::params::NewLogLine;
use leasehold_queue::secrets::Redactor;
use leasehold_types::{LogStream, Timestamp};
use std::collections::VecDeque;

/// The most lines kept of one attempt.
pub const LINES_PER_ATTEMPT: usize = 5_000;
/// The newest lines, held back when there are too many.
const HELD_LINES: usize = 999;
const HELD_BYTES: usize = 1 << 20;
/// The rest may be shown live; one more line says how many are missing.
const LIVE_LINES: usize = LINES_PER_ATTEMPT - HELD_LINES - 1;

struct Line {
    stream: LogStream,
    text: String,
    at: Timestamp,
}

pub struct LogBuffer {
    redactor: Redactor,
    waiting: VecDeque<Line>,
    waiting_bytes: usize,
    dropped: u64,
    handed_out: usize,
    closed: bool,
}

impl LogBuffer {
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            dropped: 0,
            handed_out: 0,
            closed: false,
        }
    }

    pub fn push(&mut self, stream: LogStream, text: String, at: Timestamp) {
        self.waiting_bytes += text.len();
        self.waiting.push_back(Line { stream, text, at });
        while self.waiting.len() > HELD_LINES || self.waiting_bytes > HELD_BYTES {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= oldest.text.len();
            self.dropped += 1;
        }
    }

    /// No more lines will come: what is held back may go out.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// How many lines could be handed out now.
    pub fn ready(&self) -> usize {
        let allowed = if self.closed { usize::MAX } else { LIVE_LINES.saturating_sub(self.handed_out) };
        self.waiting.len().min(allowed)
    }

    /// Up to `most` lines, numbered and redacted. A number is given once: a caller that fails to write a batch
    /// writes the same batch again.
    pub fn take(&mut self, most: usize, now: Timestamp) -> Vec<NewLogLine> {
        let mut batch = Vec::new();
        while batch.len() < most && self.ready() > 0 {
            if self.dropped > 0 {
                let text = format!("… {} lines not kept …", with_commas(self.dropped));
                let at = self.waiting.front().map_or(now, |line| line.at);
                self.dropped = 0;
                batch.push(self.numbered(Line { stream: LogStream::System, text, at }));
                continue;
            }
            let Some(line) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= line.text.len();
            let text = self.redactor.text(&line.text).into_owned();
            batch.push(self.numbered(Line { text, ..line }));
        }
        batch
    }

    fn numbered(&mut self, line: Line) -> NewLogLine {
        self.handed_out += 1;
        NewLogLine { seq: self.handed_out as i64, stream: line.stream, text: line.text, at: line.at }
    }
}

pub fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn push(buffer: &mut LogBuffer, lines: std::ops::Range<u32>) {
        for n in lines {
            buffer.push(LogStream::Stdout, format!("line {n}"), NOW);
        }
    }

    #[test]
    fn lines_come_out_numbered_redacted_and_in_order() {
        let mut buffer = LogBuffer::new(Redactor::default());
        buffer.push(LogStream::Stderr, "password=x".into(), NOW);
        push(&mut buffer, 0..3);
        let batch = buffer.take(2, NOW);
        assert_eq!((batch[0].seq, batch[0].text.as_str()), (1, "password=***REDACTED***"));
        assert_eq!((batch[1].seq, batch[1].text.as_str()), (2, "line 0"));
        assert_eq!(buffer.take(10, NOW).len(), 2);
    }

    #[test]
    fn a_flood_loses_its_middle_and_says_how_much() {
        let mut buffer = LogBuffer::new(Redactor::default());
        push(&mut buffer, 0..100);
        let mut kept = buffer.take(100, NOW);
        push(&mut buffer, 100..13_444);
        buffer.close();
        kept.extend(buffer.take(usize::MAX, NOW));
        assert_eq!(kept.len(), 100 + 1 + HELD_LINES);
        assert_eq!(kept[100].text, "… 12,345 lines not kept …");
        assert_eq!(kept[100].stream, LogStream::System);
        assert_eq!(kept.last().unwrap().text, "line 13443");
        assert!(kept.windows(2).all(|w| w[1].seq == w[0].seq + 1));
    }

    #[test]
    fn a_long_talker_keeps_its_beginning_and_its_end() {
        let mut buffer = LogBuffer::new(Redactor::default());
        let mut kept = Vec::new();
        for n in 0..100 {
            push(&mut buffer, n * 200..(n + 1) * 200);
            kept.extend(buffer.take(200, NOW));
        }
        assert_eq!(kept.len(), LIVE_LINES);
        buffer.close();
        kept.extend(buffer.take(usize::MAX, NOW));
        assert_eq!(kept.len(), LINES_PER_ATTEMPT);
        assert_eq!(kept.last().unwrap().text, "line 19999");
    }

    #[test]
    fn long_lines_are_bounded_by_bytes() {
        let mut buffer = LogBuffer::new(Redactor::default());
        for _ in 0..999 {
            buffer.push(LogStream::Stdout, "x".repeat(8_192), NOW);
        }
        assert!(buffer.waiting_bytes <= HELD_BYTES);
    }

    #[test]
    fn numbers_are_written_for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(with_commas(number), text);
        }
    }
}
