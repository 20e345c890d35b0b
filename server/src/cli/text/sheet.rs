//! Everything about one thing, a line each; what is not there is left out.

use super::{Colour, Paint, lines, one_line};
use serde_json::Value;

#[derive(Default)]
pub struct Sheet {
    title: String,
    lines: Vec<(String, String)>,
    blocks: Vec<(String, String)>,
}

impl Sheet {
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    #[must_use]
    pub fn line(mut self, label: &str, text: Option<String>) -> Self {
        let text = text.map(|text| one_line(&text)).filter(|text| !text.trim().is_empty());
        self.lines.extend(text.map(|text| (label.to_owned(), text)));
        self
    }

    /// Text of several lines, below the rest.
    #[must_use]
    pub fn block(mut self, label: &str, text: Option<&str>) -> Self {
        let text = text.map(lines).filter(|text| !text.trim().is_empty());
        self.blocks.extend(text.map(|text| (label.to_owned(), text)));
        self
    }

    /// JSON, unless it is empty.
    #[must_use]
    pub fn json(self, label: &str, value: &Value) -> Self {
        let empty = value.is_null() || value.as_object().is_some_and(|map| map.is_empty());
        let text = serde_json::to_string_pretty(value).ok().filter(|_| !empty);
        self.block(label, text.as_deref())
    }

    pub fn text(&self, paint: Paint) -> String {
        let widest = self.lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        let mut out = Vec::new();
        if !self.title.is_empty() {
            out.push(self.title.clone());
        }
        for (label, text) in &self.lines {
            let gap = " ".repeat(widest - label.chars().count());
            out.push(format!("  {}{gap}  {text}", paint.put(Colour::Dim, label)));
        }
        for (label, text) in &self.blocks {
            out.push(format!("\n{}", paint.put(Colour::Bold, label)));
            out.extend(text.lines().map(|line| format!("  {line}").trim_end().to_owned()));
        }
        out.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_there_is_left_out() {
        let sheet = Sheet::new("Job 7")
            .line("Queue", Some("default".into()))
            .line("Correlation id", Some("a\u{7}b".into()))
            .line("Worker", None)
            .json("Payload", &json!({"rows": 3}))
            .json("Result", &Value::Null)
            .json("Metadata", &json!({}));
        let expected =
            "Job 7\n  Queue           default\n  Correlation id  a b\n\nPayload\n  {\n    \"rows\": 3\n  }";
        assert_eq!(sheet.text(Paint::new(false)), expected);
    }
}
