//! Answers for people: tables, sheets of one thing, moments and states as the dashboard words them. Colours only on a
//! terminal, and not where `NO_COLOR` asks for none.

mod paint;
mod sheet;
mod table;

use leasehold_app::components::format;
use leasehold_types::{Timestamp, text::printable};
pub use paint::{Colour, Paint, printable_in_colour};
use serde_json::Value;
pub use sheet::Sheet;
pub use table::{Cell, Table};

/// What a text is written for.
#[derive(Clone, Copy)]
pub struct Style {
    pub paint: Paint,
    pub now: Timestamp,
}

impl Style {
    pub fn of_stdout() -> Self {
        let now = leasehold_queue::clock::process_time();
        Self { paint: Paint::of_stdout(), now }
    }

    /// `3 min ago`.
    pub fn ago(self, at: Timestamp) -> String {
        format::relative(at, self.now)
    }

    /// `3 min ago (16 Nov 2026, 03:31:23 UTC)`.
    pub fn moment(self, at: Timestamp) -> String {
        format!("{} ({})", self.ago(at), format::utc(at))
    }
}

/// One field on one line; control characters of a stranger's text must not move a terminal's cursor.
pub fn plain(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    one_line(&text)
}

pub fn one_line(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    printable(&spaced).into_owned()
}

/// As it is, but without anything that could move a terminal's cursor.
pub fn lines(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    printable(&spaced).into_owned()
}

/// `next_cursor` as a label: `Next cursor`.
pub fn label(name: &str) -> String {
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_cannot_move_the_cursor() {
        assert_eq!(plain(&json!("a\u{1b}[2Jb\tc\n")), "a [2Jb c ");
        assert_eq!(lines("a\u{1b}[2J\nb\r"), "a [2J\nb ");
    }

    #[test]
    fn names_become_labels() {
        assert_eq!((label("next_cursor"), label("")), ("Next cursor".to_owned(), String::new()));
    }
}
