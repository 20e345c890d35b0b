//! Words that become labels: the first so many keep their name, later ones are `other`. First come, first kept, so a
//! counter never changes its label.

use std::{collections::HashMap, hash::Hash};

pub const OTHER: &str = "other";
/// Longer words are cut: a label is a name, not a message.
const LONGEST: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Label(usize);

impl Label {
    pub const OTHER: Self = Self(0);
}

/// A bounded list of words; the first place is that of all others.
pub struct Labels<T> {
    most: usize,
    known: HashMap<T, Label>,
    words: Vec<T>,
}

impl<T: Clone + Eq + Hash> Labels<T> {
    pub fn new(most: usize) -> Self {
        Self { most, known: HashMap::new(), words: Vec::new() }
    }

    pub fn of(&mut self, word: &T) -> Label {
        if let Some(label) = self.known.get(word) {
            return *label;
        }
        if self.words.len() >= self.most {
            return Label::OTHER;
        }
        self.words.push(word.clone());
        let label = Label(self.words.len());
        self.known.insert(word.clone(), label);
        label
    }

    pub fn has(&self, word: &T) -> bool {
        self.known.contains_key(word)
    }

    /// None for the others.
    pub fn word(&self, label: Label) -> Option<&T> {
        label.0.checked_sub(1).and_then(|place| self.words.get(place))
    }
}

impl Labels<String> {
    pub fn of_text(&mut self, text: &str) -> Label {
        self.of(&cut(text))
    }

    pub fn text(&self, label: Label) -> &str {
        self.word(label).map_or(OTHER, String::as_str)
    }
}

pub fn cut(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_late_is_among_the_others() {
        let mut labels = Labels::new(2);
        let (a, b, c) = (labels.of_text("a"), labels.of_text("b"), labels.of_text("c"));
        assert_eq!([labels.text(a), labels.text(b), labels.text(c)], ["a", "b", OTHER]);
        assert_eq!(labels.of_text("a"), a);
        assert_eq!(labels.of_text("d"), Label::OTHER);
        assert_eq!(cut(&"é".repeat(100)).chars().count(), LONGEST);
    }
}
