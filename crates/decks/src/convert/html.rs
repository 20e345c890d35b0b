//! Raw HTML inside Markdown: only its text survives, and notes in comments.

/// What a piece of HTML had to say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub text: String,
    pub notes: Vec<String>,
}

/// Tags and comments go; so does what is inside `script` and `style`.
pub fn heard(html: &str) -> Heard {
    let mut heard = Heard::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        heard.text.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            let (inside, after) = comment.split_once("-->").unwrap_or((comment, ""));
            heard.notes.extend(note(inside));
            rest = after;
        } else if rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c)) {
            rest = after_tag(rest);
            heard.text.push(' ');
        } else {
            heard.text.push('<');
            rest = &rest[1..];
        }
    }
    heard.text.push_str(rest);
    heard.text = decoded(&heard.text);
    heard
}

fn after_tag(html: &str) -> &str {
    for name in ["script", "style"] {
        let opens = html.get(1..=name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if opens {
            let mut ends = html.match_indices("</").map(|(at, _)| at);
            let end = ends.find(|at| {
                let found = html.get(at + 2..at + 2 + name.len());
                found.is_some_and(|found| found.eq_ignore_ascii_case(name))
            });
            return html[end.unwrap_or(html.len())..].split_once('>').map_or("", |(_, after)| after);
        }
    }
    html.split_once('>').map_or("", |(_, after)| after)
}

/// `note: …` inside a comment.
fn note(comment: &str) -> Option<String> {
    let (key, value) = comment.split_once(':')?;
    let is_note = ["note", "notes"].contains(&key.trim().to_ascii_lowercase().as_str());
    let value = value.trim();
    (is_note && !value.is_empty()).then(|| value.to_owned())
}

fn decoded(text: &str) -> String {
    let plain = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " ")];
    let text = plain.iter().fold(text.to_owned(), |text, (code, letter)| text.replace(code, letter));
    // Last, so that `&amp;lt;` stays `&lt;`.
    text.replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_are_left_of_html() {
        let text =
            heard("<div onclick=\"x()\">a <b>b</b> &lt; c<script>alert('<')</script></div> 1 < 2").text;
        assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), "a b < c 1 < 2");
    }

    #[test]
    fn notes_are_heard_in_comments_and_other_comments_are_not() {
        let html = heard("<!-- note: breathe\n slowly --><!-- secret --><!--Notes:x-->");
        assert_eq!(html.notes, ["breathe\n slowly", "x"]);
        assert_eq!(html.text, "");
    }

    #[test]
    fn what_never_ends_ends_with_the_text() {
        for html in ["<", "<b", "<!--", "<!-- note:", "<script", "<STYLE>x", "</"] {
            heard(html);
        }
    }
}
