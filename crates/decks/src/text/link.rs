//! Which links may be clicked, spelled so that every reader accepts them.
//!
//! PowerPoint offers to repair a whole presentation over one address it cannot parse, so an address is taken apart and
//! written anew, and what is left over is percent-encoded.

use std::fmt::Write as _;

use url::{Position, Url};

const SCHEMES: [&str; 3] = ["http", "https", "mailto"];
const LONGEST: usize = 2048;

/// The address, normalised, or nothing if it is not an absolute http, https or mailto address.
#[must_use]
pub fn harmless(raw: &str) -> Option<String> {
    let url = Url::parse(raw.trim()).ok()?;
    let has_place = match url.scheme() {
        "mailto" => url.path().split('@').count() == 2 && !url.path().contains(['/', ' ']),
        _ => url.has_host() && url.username().is_empty() && url.password().is_none(),
    };
    let address = format!("{}{}", &url[..Position::BeforePath], encoded(&url[Position::BeforePath..]));
    (SCHEMES.contains(&url.scheme()) && has_place && address.len() <= LONGEST).then_some(address)
}

/// What `Url` leaves in place although RFC 3986 does not, and a `%` that encodes nothing.
fn encoded(rest: &str) -> String {
    let mut out = String::with_capacity(rest.len());
    for (at, c) in rest.char_indices() {
        let code = rest.as_bytes().get(at + 1..at + 3);
        let is_code = code.is_some_and(|code| code.iter().all(u8::is_ascii_hexdigit));
        let is_fine =
            c.is_ascii_alphanumeric() || "-._~:/?#@!$&'()*+,;=".contains(c) || (c == '%' && is_code);
        if is_fine {
            out.push(c);
            continue;
        }
        for byte in c.to_string().bytes() {
            // Writing to a String cannot fail.
            write!(out, "%{byte:02X}").ok();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_addresses_of_three_schemes_are_harmless() {
        let refused = [
            "javascript:alert(1)",
            "javascript://example.org/%0aalert(1)",
            "file:///etc/passwd",
            "file://server/share",
            "ftp://example.org/x",
            "data:text/html,x",
            "/relative",
            "#top",
            "http://",
            "",
        ];
        for raw in refused {
            assert_eq!(harmless(raw), None, "{raw}");
        }
        assert_eq!(harmless("https://user:secret@example.org/"), None);
        assert_eq!(harmless("mailto:nobody"), None);
        assert_eq!(harmless("mailto:ann@example.org").as_deref(), Some("mailto:ann@example.org"));
    }

    #[test]
    fn addresses_are_spelled_in_the_letters_of_the_standard() {
        let spelled = [
            ("https://example.org/a b|c[1]?q=ü#x", "https://example.org/a%20b%7Cc%5B1%5D?q=%C3%BC#x"),
            ("https://example.org/100%", "https://example.org/100%25"),
            ("https://example.org/%7Eann", "https://example.org/%7Eann"),
            ("https://bücher.example", "https://xn--bcher-kva.example/"),
        ];
        for (raw, expected) in spelled {
            let found = harmless(raw);
            assert_eq!(found.as_deref(), Some(expected));
            assert_eq!(found.as_deref().and_then(harmless).as_deref(), Some(expected), "stable");
        }
    }
}
