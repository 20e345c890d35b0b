//! Colours, where they are wanted.

use leasehold_types::text::printable;
use std::io::IsTerminal;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Dim,
    Bold,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub const fn new(on: bool) -> Self {
        Self { on }
    }

    pub fn of_stdout() -> Self {
        Self::wanted(std::io::stdout().is_terminal(), &|name| std::env::var(name).ok())
    }

    pub fn of_stderr() -> Self {
        Self::wanted(std::io::stderr().is_terminal(), &|name| std::env::var(name).ok())
    }

    /// `NO_COLOR` counts when it is not empty (no-color.org).
    fn wanted(on_terminal: bool, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let forbidden = variable("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = variable("TERM").is_some_and(|term| term == "dumb");
        Self::new(on_terminal && !forbidden && !dumb)
    }

    pub fn put(self, colour: Colour, text: &str) -> String {
        if !self.on || text.is_empty() {
            return text.to_owned();
        }
        let code = match colour {
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
            Colour::Blue => 34,
            Colour::Magenta => 35,
            Colour::Dim => 2,
            Colour::Bold => 1,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// As it may be written to a terminal: of what a terminal would obey only the colours of [`Paint`] stay.
pub fn printable_in_colour(text: &str) -> String {
    const ESCAPE: &str = "\x1b[";
    let mut parts = text.split(ESCAPE);
    let mut shown = parts.next().map(printable).unwrap_or_default().into_owned();
    for part in parts {
        let code =
            ["0m", "1m", "2m", "31m", "32m", "33m", "34m", "35m"].into_iter().find(|c| part.starts_with(c));
        match code {
            Some(code) => shown.extend([ESCAPE, code, &printable(&part[code.len()..])]),
            None => shown.extend([&*printable(ESCAPE), &printable(part)]),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_nothing_else_a_terminal_would_obey() {
        let painted = Paint::new(true).put(Colour::Red, "no");
        assert_eq!(printable_in_colour(&format!("a {painted} b")), format!("a {painted} b"));
        assert_eq!(printable_in_colour("a\x1b[2Jb\u{202e}"), r"a\u{1b}[2Jb\u{202e}");
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let set = |name: &'static str, value: &'static str| {
            move |asked: &str| (asked == name).then(|| value.to_owned())
        };
        assert!(Paint::wanted(true, &|_| None).on);
        assert!(Paint::wanted(true, &set("NO_COLOR", "")).on);
        assert!(!Paint::wanted(false, &|_| None).on);
        assert!(!Paint::wanted(true, &set("NO_COLOR", "1")).on);
        assert!(!Paint::wanted(true, &set("TERM", "dumb")).on);
        assert_eq!(Paint::new(true).put(Colour::Red, "x"), "\x1b[31mx\x1b[0m");
        assert_eq!(Paint::new(false).put(Colour::Red, "x"), "x");
    }
}
