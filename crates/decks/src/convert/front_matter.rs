//! `title:` and `author:` between two lines of `---` at the very start.

use crate::model::MAX_LABEL_CHARS;
use crate::text::clean;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter {
    pub title: Option<String>,
    pub author: Option<String>,
}

/// The front matter and what follows it. Keys of other tools are passed over; anything that is not `key: value` means
/// that there is no front matter, and that the first line is a rule like any other.
pub fn split(text: &str) -> (FrontMatter, &str) {
    parsed(text).unwrap_or((FrontMatter::default(), text))
}

fn parsed(text: &str) -> Option<(FrontMatter, &str)> {
    let mut rest = text.strip_prefix("---\n")?;
    let mut front = FrontMatter::default();
    loop {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if line.trim_end() == "---" {
            return Some((front, after));
        }
        if after.is_empty() {
            return None;
        }
        rest = after;
        if line.trim().is_empty() || line.starts_with(['#', ' ', '\t', '-']) {
            continue;
        }
        let (key, value) = line.split_once(':')?;
        match key.trim() {
            "title" => front.title = value_of(value),
            "author" => front.author = value_of(value),
            _ => {}
        }
    }
}

fn value_of(raw: &str) -> Option<String> {
    let raw = raw.trim();
    let quoted = ['"', '\''].iter().find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote));
    let value: String = clean::line(quoted.unwrap_or(raw)).chars().take(MAX_LABEL_CHARS).collect();
    (!value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_author_are_read_and_other_keys_passed_over() {
        let (front, rest) = split("---\ntitle: \"A: B\"\nmarp: true\nauthor: Ann\n---\n# X\n");
        assert_eq!(front.title.as_deref(), Some("A: B"));
        assert_eq!(front.author.as_deref(), Some("Ann"));
        assert_eq!(rest, "# X\n");
    }

    #[test]
    fn a_rule_at_the_start_is_not_front_matter() {
        for text in ["---\nSome text\n---\n", "---\ntitle: never closed\n", "---"] {
            assert_eq!(split(text), (FrontMatter::default(), text));
        }
    }
}
