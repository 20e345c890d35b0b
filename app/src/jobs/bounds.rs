//! How much of a job its page shows. A page stays small whatever a job printed or was given; the rest is a download.

use leasehold_queue::engine::PAGE_LOG_LINES;
use leasehold_types::view::AttemptView;

/// Characters of an error message.
const ERROR: usize = 4_000;
/// Characters of an error message that are shown without asking.
const FIRST_WORDS: usize = 300;
/// Characters of one line of a log.
const LINE: usize = 2_000;
/// Bytes of log lines over all attempts; the newest come first.
const LOGS: usize = 256 * 1_024;
/// Attempts with a block of their own, the newest.
const ATTEMPTS: usize = 20;
/// Steps of the timeline at its beginning and at its end.
const FIRST_STEPS: usize = 5;
const LAST_STEPS: usize = 45;

/// The beginning of a text, and whether there is more.
pub fn cut(text: &str, most: usize) -> (String, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (format!("{}…", &text[..end]), true),
        None => (text.to_owned(), false),
    }
}

/// One attempt as the page shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Shown {
    pub attempt: AttemptView,
    pub error_is_cut: bool,
    pub log_is_cut: bool,
}

/// The newest attempts, newest first, and how many older ones are left out.
pub fn attempts(all: Vec<AttemptView>) -> (Vec<Shown>, usize) {
    let left_out = all.len().saturating_sub(ATTEMPTS);
    let mut budget = LOGS;
    let shown = all.into_iter().rev().take(ATTEMPTS).map(|mut attempt| {
        let (error, error_is_cut) = attempt.error_text.as_deref().map(error).unzip();
        attempt.error_text = error;
        // As many lines as were asked for: there may be more.
        let is_long = attempt.logs.len() >= PAGE_LOG_LINES as usize;
        let log_is_cut = fit_log(&mut attempt, &mut budget) || is_long;
        Shown { attempt, error_is_cut: error_is_cut.unwrap_or(false), log_is_cut }
    });
    (shown.collect(), left_out)
}

fn error(text: &str) -> (String, bool) {
    cut(text, ERROR)
}

/// The beginning of an error message, and whether there is more.
pub fn first_words(text: &str) -> (String, bool) {
    cut(text, FIRST_WORDS)
}

/// Keeps the newest lines that the budget pays for; whether something is missing.
fn fit_log(attempt: &mut AttemptView, budget: &mut usize) -> bool {
    let mut is_cut = false;
    let mut kept = Vec::new();
    for mut line in std::mem::take(&mut attempt.logs).into_iter().rev() {
        let (text, line_is_cut) = cut(&line.text, LINE);
        is_cut |= line_is_cut;
        let Some(rest) = budget.checked_sub(text.len()) else {
            is_cut = true;
            break;
        };
        *budget = rest;
        line.text = text;
        kept.push(line);
    }
    kept.reverse();
    attempt.logs = kept;
    is_cut
}

/// Beginning, how many are left out, end.
pub fn steps<T>(mut all: Vec<T>) -> (Vec<T>, usize, Vec<T>) {
    if all.len() <= FIRST_STEPS + LAST_STEPS + 1 {
        return (all, 0, Vec::new());
    }
    let end = all.split_off(all.len() - LAST_STEPS);
    let left_out = all.len() - FIRST_STEPS;
    all.truncate(FIRST_STEPS);
    (all, left_out, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::timeline::tests::{at, attempt};
    use leasehold_types::{AttemptOutcome, LogStream, view::LogLine};

    fn with_log(number: i32, lines: usize, length: usize) -> AttemptView {
        let line = |seq: usize| LogLine {
            seq: seq as i64,
            at: at(0),
            stream: LogStream::Stdout,
            text: "ö".repeat(length),
        };
        let mut attempt = attempt(number, AttemptOutcome::Failed, 0, Some(1));
        attempt.logs = (0..lines).map(line).collect();
        attempt.error_text = Some("x".repeat(ERROR + 1));
        attempt
    }

    #[test]
    fn a_page_stays_small_whatever_was_printed() {
        let (shown, left_out) = attempts((1..=100).map(|n| with_log(n, 500, 10_000)).collect());
        assert_eq!((shown.len(), left_out, shown[0].attempt.attempt), (ATTEMPTS, 80, 100));
        let bytes: usize = shown.iter().flat_map(|s| &s.attempt.logs).map(|line| line.text.len()).sum();
        assert!(bytes <= LOGS, "{bytes}");
        assert!(!shown[0].attempt.logs.is_empty(), "the newest attempt's log is what people look for");
        assert_eq!(shown[0].attempt.logs.last().unwrap().seq, 499, "its end first");
        assert!(shown.iter().all(|s| s.error_is_cut && s.log_is_cut));
        assert_eq!(shown[0].attempt.error_text.as_ref().unwrap().chars().count(), ERROR + 1);
    }

    #[test]
    fn what_is_small_is_shown_whole() {
        let mut small = with_log(1, 3, 10);
        small.error_text = None;
        let (shown, left_out) = attempts(vec![small.clone()]);
        assert_eq!((left_out, &shown[0].attempt), (0, &small));
        assert!(!shown[0].error_is_cut && !shown[0].log_is_cut);
    }

    #[test]
    fn a_long_timeline_keeps_both_ends() {
        let (start, left_out, end) = steps((0..200).collect());
        assert_eq!((start.len(), left_out, end.len()), (FIRST_STEPS, 150, LAST_STEPS));
        assert_eq!((start[0], *end.last().unwrap()), (0, 199));
        assert_eq!(steps(vec![1, 2]), (vec![1, 2], 0, vec![]));
    }
}
