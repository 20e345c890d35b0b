//! Text as HTML.

pub use crate::problem::escape;

pub fn code(text: &str) -> String {
    format!("<code>{}</code>", escape(text))
}

/// Paragraphs, with `code` and **weight** in them.
pub fn prose(text: &str) -> String {
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    paragraphs.map(|paragraph| format!("<p>{}</p>", line(paragraph))).collect()
}

/// One paragraph's inside.
pub fn line(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        // What stands between two backticks has an odd place.
        out.push_str(&if i % 2 == 1 { code(part) } else { weighed(part) });
    }
    out
}

fn weighed(text: &str) -> String {
    let parts = text.split("**").enumerate();
    parts
        .map(|(i, part)| if i % 2 == 1 { format!("<strong>{}</strong>", escape(part)) } else { escape(part) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_marks_code_and_escapes_the_rest() {
        assert_eq!(prose("a `b<c>` d\n\ne & f"), "<p>a <code>b&lt;c&gt;</code> d</p><p>e &amp; f</p>");
        assert_eq!(prose(" \n\n"), "");
        assert_eq!(line("**a&b** `**`"), "<strong>a&amp;b</strong> <code>**</code>");
    }
}
