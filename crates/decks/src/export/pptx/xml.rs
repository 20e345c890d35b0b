//! XML that is balanced and escaped by construction.

use std::fmt::Write as _;

pub const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";

#[derive(Default)]
pub struct Xml(String);

/// Names and values of attributes.
pub type Attributes<'a> = &'a [(&'a str, &'a str)];

impl Xml {
    /// A whole part: the declaration and one element.
    pub fn part(name: &str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) -> String {
        let mut xml = Self(DECLARATION.to_owned());
        xml.element(name, attributes, inside);
        xml.0
    }

    pub fn element(&mut self, name: &str, attributes: Attributes<'_>, inside: impl FnOnce(&mut Self)) {
        self.open(name, attributes);
        self.0.push('>');
        inside(self);
        // Writing to a String cannot fail.
        write!(self.0, "</{name}>").ok();
    }

    pub fn empty(&mut self, name: &str, attributes: Attributes<'_>) {
        self.open(name, attributes);
        self.0.push_str("/>");
    }

    pub fn text(&mut self, text: &str) {
        escape(text, &mut self.0);
    }

    fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        write!(self.0, "<{name}").ok();
        for (key, value) in attributes {
            write!(self.0, " {key}=\"").ok();
            escape(value, &mut self.0);
            self.0.push('"');
        }
    }
}

/// Characters XML 1.0 forbids are left out.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if c.is_control() => {}
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_can_become_markup() {
        let part = Xml::part("a", &[("k", "\"<&\u{1}")], |xml| xml.text("</a>\u{0}&\u{ffff}"));
        assert_eq!(part, format!("{DECLARATION}<a k=\"&quot;&lt;&amp;\">&lt;/a&gt;&amp;</a>"));
    }
}
