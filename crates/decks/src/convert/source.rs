//! What is to be converted: of a kind we read, not too long, and text.

use super::front_matter::{self, FrontMatter};
use crate::error::DeckError;

pub const MAX_SOURCE_BYTES: usize = 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    Markdown,
}

impl SourceFormat {
    /// By its name or media type.
    pub fn named(name: &str) -> Result<Self, DeckError> {
        match name.trim().to_ascii_lowercase().as_str() {
            "markdown" | "md" | "text/markdown" => Ok(Self::Markdown),
            _ => Err(DeckError::Unsupported(format!("the source format {name:?} is not known; markdown is"))),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    body: String,
    front_matter: FrontMatter,
}

/// How files begin that are certainly something else.
const OTHERS: [(&[u8], &str); 4] = [
    (b"PK\x03\x04", "a zip or Office file"),
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a picture"),
    (b"{\\rtf", "RTF"),
];

impl Source {
    pub fn read(format: SourceFormat, bytes: &[u8]) -> Result<Self, DeckError> {
        let SourceFormat::Markdown = format;
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(DeckError::too_large("the source, in bytes", bytes.len(), MAX_SOURCE_BYTES));
        }
        if let Some((_, what)) = OTHERS.iter().find(|(start, _)| bytes.starts_with(start)) {
            return Err(DeckError::Unsupported(format!("the source is {what}, not Markdown")));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| {
            DeckError::Invalid(format!("the source is not UTF-8, at byte {}", error.valid_up_to()))
        })?;
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let (front_matter, body) = front_matter::split(&text);
        if body.trim().is_empty() && front_matter.title.is_none() {
            return Err(DeckError::Invalid("the source is empty".to_owned()));
        }
        Ok(Self { body: body.to_owned(), front_matter })
    }

    pub(crate) fn body(&self) -> &str {
        &self.body
    }

    pub(crate) fn front_matter(&self) -> &FrontMatter {
        &self.front_matter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    fn class(bytes: &[u8]) -> ErrorClass {
        Source::read(SourceFormat::Markdown, bytes).unwrap_err().class()
    }

    #[test]
    fn other_formats_are_unsupported_and_broken_text_is_invalid() {
        assert_eq!(SourceFormat::named("docx").unwrap_err().class(), ErrorClass::Unsupported);
        assert_eq!(class(b"%PDF-1.7 ..."), ErrorClass::Unsupported);
        assert_eq!(class(b"fine until \xff"), ErrorClass::Validation);
        assert_eq!(class(b" \n\n"), ErrorClass::Validation);
    }

    #[test]
    fn one_byte_too_many_is_too_many() {
        let fits = vec![b'a'; MAX_SOURCE_BYTES];
        assert!(Source::read(SourceFormat::Markdown, &fits).is_ok());
        let error = Source::read(SourceFormat::Markdown, &vec![b'a'; MAX_SOURCE_BYTES + 1]).unwrap_err();
        assert!(matches!(error, DeckError::TooLarge { limit: MAX_SOURCE_BYTES, .. }), "{error}");
    }
}
