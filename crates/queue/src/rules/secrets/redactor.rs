//! Finds secrets in text and in JSON, and hides them. Linear in the length of what it reads.

mod documents;

pub(super) use documents::is_value_word;

use super::{
    REDACTED, blocks,
    known::Known,
    named::{announced, in_url, name_around},
    names::{self, Announces, words},
    prefilter, shapes,
};
use aho_corasick::AhoCorasick;
use leasehold_types::Problem;
use regex::Regex;
use serde_json::Value;
use std::{borrow::Cow, ops::Range, sync::Arc};

/// Longer names are judged by their ends.
const LONGEST_NAME: usize = 128;
/// A name shorter than this must be a word of its own, or `spin` would be a `pin`.
const SHORTEST_ENDING: usize = 5;

/// Knows what is secret: what Leasehold knows, what the installation adds, and the values one job was given.
#[derive(Clone, Debug)]
pub struct Redactor {
    names: bool,
    shapes: bool,
    given: Arc<Given>,
    known: Option<Known>,
}

/// `JOBS_SECRET_DENY_KEYS` and `JOBS_SECRET_PATTERNS`.
#[derive(Debug, Default)]
struct Given {
    names: Vec<String>,
    /// Finds the last words of the names.
    finder: Option<AhoCorasick>,
    patterns: Vec<Regex>,
}

impl Default for Redactor {
    fn default() -> Self {
        Self { names: true, shapes: true, given: Arc::default(), known: None }
    }
}

impl Redactor {
    /// A pattern that cannot be understood is refused with the setting's name: skipping it would leave a hole nobody
    /// sees.
    pub fn new(deny_keys: &[String], patterns: &[String]) -> Result<Self, Problem> {
        let patterns = patterns.iter().map(|pattern| compile(pattern)).collect::<Result<_, _>>()?;
        let last_words: Vec<String> = deny_keys.iter().filter_map(|key| words(key).pop()).collect();
        let finder = AhoCorasick::builder().ascii_case_insensitive(true).build(&last_words);
        let finder = finder.ok().filter(|_| !last_words.is_empty());
        let names = deny_keys.iter().map(|key| words(key).concat()).filter(|name| !name.is_empty()).collect();
        Ok(Self { given: Arc::new(Given { names, finder, patterns }), ..Self::default() })
    }

    /// Without the names or the shapes that Leasehold knows by itself.
    #[must_use]
    pub fn with_ours(self, names: bool, shapes: bool) -> Self {
        Self { names, shapes, ..self }
    }

    /// For one job: what its payload holds as a secret is hidden wherever it turns up.
    #[must_use]
    pub fn knowing(&self, payload: &Value) -> Self {
        Self { known: Known::of(self, payload), ..self.clone() }
    }

    pub(super) fn has_our_names(&self) -> bool {
        self.names
    }

    /// Knows the values that the other one knows.
    pub(super) fn sharing(&self, other: &Self) -> Self {
        Self { known: other.known.clone(), ..self.clone() }
    }

    pub fn is_secret_name(&self, name: &str) -> bool {
        self.announces(name) == Announces::Secret
    }

    fn announces(&self, name: &str) -> Announces {
        if self.given.names.is_empty() && prefilter::look(name).is_none() {
            return Announces::Nothing;
        }
        let ours = if self.names { names::announces(name) } else { Announces::Nothing };
        if ours != Announces::Secret && self.given.has(name) { Announces::Secret } else { ours }
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut shown, mut at) = (String::with_capacity(text.len()), 0);
        for span in spans {
            shown.push_str(&text[at..span.start]);
            shown.push_str(REDACTED);
            at = span.end;
        }
        shown.push_str(&text[at..]);
        Cow::Owned(shown)
    }

    pub fn finds(&self, text: &str) -> bool {
        !self.spans(text).is_empty()
    }

    /// Whether something in it is a secret by its shape, whatever it is called.
    pub fn finds_shape(&self, text: &str) -> bool {
        self.clone().with_ours(false, true).finds(text)
    }

    /// What is secret, in order and without overlaps.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        if let Some(known) = &self.known {
            known.find(text, &mut spans);
        }
        self.find_given(text, &mut spans);
        if self.shapes {
            shapes::find_without_letters(text, &mut spans);
        }
        if (self.names || self.shapes)
            && let Some(hits) = prefilter::look(text)
        {
            self.find_ours(text, &hits, &mut spans);
        }
        merged(text, spans)
    }

    fn find_ours(&self, text: &str, hits: &prefilter::Hits, spans: &mut Vec<Range<usize>>) {
        if self.names {
            self.find_named(text, hits.names.iter().cloned(), spans);
        }
        if self.shapes {
            hits.shapes().for_each(|shape| shapes::find(shape, text, spans));
            spans.extend(hits.urls.iter().filter_map(|at| in_url(text, *at)));
            if hits.key_blocks {
                blocks::find(text, spans);
            }
        }
    }

    fn find_given(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        for pattern in &self.given.patterns {
            spans.extend(pattern.find_iter(text).map(|found| found.range()).filter(|span| !span.is_empty()));
        }
        if let Some(finder) = &self.given.finder {
            self.find_named(text, finder.find_iter(text).map(|found| found.range()), spans);
        }
    }

    fn find_named(
        &self,
        text: &str,
        hits: impl Iterator<Item = Range<usize>>,
        spans: &mut Vec<Range<usize>>,
    ) {
        let mut behind = 0;
        for hit in hits.filter(|hit| text.is_char_boundary(hit.start)) {
            // Every name is read once, however many hits it has.
            if hit.start < behind {
                continue;
            }
            let name = name_around(text, &hit);
            behind = name.end;
            let read = &text[name.start.max(name.end.saturating_sub(LONGEST_NAME))..name.end];
            let announces = self.announces(read);
            if announces != Announces::Nothing
                && let Some(span) = announced(text, &name, announces)
            {
                // What is hidden already need not be read.
                behind = behind.max(span.end);
                spans.push(span);
            }
        }
    }
}

impl Given {
    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.patterns.is_empty()
    }

    fn has(&self, name: &str) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let words = words(name);
        let plain = words.concat();
        self.names.iter().any(|given| {
            let is_ending = given.len() >= SHORTEST_ENDING && plain.ends_with(given.as_str());
            is_ending || (0..words.len()).any(|from| words[from..].concat() == *given)
        })
    }
}

/// In order, joined where they touch, and without what was hidden before.
fn merged(text: &str, mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.retain(|span| !span.is_empty() && &text[span.clone()] != REDACTED);
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

fn compile(pattern: &str) -> Result<Regex, Problem> {
    let setting = "JOBS_SECRET_PATTERNS";
    Regex::new(pattern).map_err(|error| {
        let why = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
        Problem::invalid(setting, format!("{setting}: “{pattern}” is not a pattern that can be used: {why}."))
    })
}
