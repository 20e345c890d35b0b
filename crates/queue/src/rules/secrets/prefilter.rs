//! One look at a text tells what is worth searching it for; most texts have nothing that is.

use super::shapes::SHAPES;
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use std::{ops::Range, sync::LazyLock};

/// One of these stands in every name that announces a secret.
const IN_NAMES: &str = "pass pwd token secret key credential cookie auth backup recovery seed";

enum Letters {
    Names,
    Urls,
    KeyBlocks,
    Shape(usize),
}

struct Prefilter {
    automaton: AhoCorasick,
    meaning: Vec<Letters>,
}

/// What a text may have.
#[derive(Default)]
pub struct Hits {
    /// Where a word begins and ends that may be part of a secret's name.
    pub names: Vec<Range<usize>>,
    /// Where `://` stands.
    pub urls: Vec<usize>,
    pub key_blocks: bool,
    shapes: u64,
}

impl Hits {
    pub fn shapes(&self) -> impl Iterator<Item = usize> {
        let shapes = self.shapes;
        (0..SHAPES.len()).filter(move |shape| shapes & (1 << shape) != 0)
    }
}

static PREFILTER: LazyLock<Option<Prefilter>> = LazyLock::new(|| {
    let mut letters: Vec<(&str, Letters)> = Vec::new();
    letters.extend(IN_NAMES.split(' ').map(|word| (word, Letters::Names)));
    letters.push(("://", Letters::Urls));
    letters.extend(["-----begin", "-----end", "private-lines:"].map(|word| (word, Letters::KeyBlocks)));
    for (shape, (words, _)) in SHAPES.iter().enumerate() {
        // A blank inside letters would divide them.
        let words = if *words == "identified by" { vec![*words] } else { words.split(' ').collect() };
        letters.extend(words.into_iter().map(|word| (word, Letters::Shape(shape))));
    }
    let (words, meaning): (Vec<_>, Vec<_>) = letters.into_iter().unzip();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(words)
        .ok()?;
    Some(Prefilter { automaton, meaning })
});

/// None: nothing in this text is worth a search.
pub fn look(text: &str) -> Option<Hits> {
    let prefilter = PREFILTER.as_ref()?;
    let mut found: Option<Hits> = None;
    for hit in prefilter.automaton.find_overlapping_iter(text) {
        let hits = found.get_or_insert_default();
        match prefilter.meaning[hit.pattern().as_usize()] {
            Letters::Names => hits.names.push(hit.range()),
            Letters::Urls => hits.urls.push(hit.start()),
            Letters::KeyBlocks => hits.key_blocks = true,
            Letters::Shape(shape) => hits.shapes |= 1 << shape,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_automaton_is_built_and_has_room_for_every_shape() {
        assert!(PREFILTER.is_some());
        assert!(SHAPES.len() <= 64);
    }

    #[test]
    fn ordinary_text_is_not_searched() {
        for text in ["", "1,200 rows written to /var/lib/app", "0198c2de-7d1c-7b6a-9a3e-2f1d5c6b7a89"] {
            assert!(look(text).is_none(), "{text}");
        }
        assert!(look("PassWord").is_some());
    }
}
