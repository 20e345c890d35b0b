//! From bytes to a checked deck, and back.

use serde::Deserialize;

use super::{DECK_VERSION, Deck, MAX_DECK_BYTES};
use crate::error::DeckError;

/// Read first, leniently: a newer version may have any other fields.
#[derive(Deserialize)]
struct OnlyVersion {
    version: u32,
}

impl Deck {
    /// Reads a deck and checks everything an export relies on.
    pub fn from_json(json: &[u8]) -> Result<Self, DeckError> {
        if json.len() > MAX_DECK_BYTES {
            return Err(DeckError::too_large("the deck's JSON, in bytes", json.len(), MAX_DECK_BYTES));
        }
        let OnlyVersion { version } = parse(json)?;
        if version != DECK_VERSION {
            return Err(DeckError::Unsupported(format!(
                "deck version {version} is not known here; version {DECK_VERSION} is"
            )));
        }
        let deck: Self = parse(json)?;
        deck.check()?;
        Ok(deck)
    }

    /// The same deck always gives the same bytes.
    pub fn to_json(&self) -> Result<Vec<u8>, DeckError> {
        let mut json = serde_json::to_vec_pretty(self).map_err(|e| DeckError::Internal(e.to_string()))?;
        json.push(b'\n');
        Ok(json)
    }
}

fn parse<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, DeckError> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        let place = if place == "." { "the deck".to_owned() } else { format!("the deck at {place}") };
        DeckError::Invalid(format!("{place}: {}", error.into_inner()))
    })?;
    reader.end().map_err(|error| DeckError::Invalid(format!("the deck: {error}")))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorClass;

    fn refused(json: &str) -> DeckError {
        Deck::from_json(json.as_bytes()).unwrap_err()
    }

    #[test]
    fn an_unknown_field_is_named_with_its_place() {
        let json = r#"{"version":1,"title":"T","slides":[{"layout":"bullets","colour":"red"}]}"#;
        let error = refused(json);
        assert_eq!(error.class(), ErrorClass::Validation);
        let text = error.to_string();
        assert!(text.contains("slides[0]") && text.contains("`colour`"), "{text}");
    }

    #[test]
    fn an_unknown_field_inside_a_block_is_refused() {
        let block = r#"{"type":"paragraph","text":[{"text":"a","blink":true}]}"#;
        let json =
            format!(r#"{{"version":1,"title":"T","slides":[{{"layout":"bullets","blocks":[{block}]}}]}}"#);
        let text = refused(&json).to_string();
        assert!(text.contains("slides[0].blocks[0]") && text.contains("`blink`"), "{text}");
    }

    #[test]
    fn another_version_is_unsupported_not_invalid() {
        let error = refused(r#"{"version":2,"title":"T","scenes":[]}"#);
        assert_eq!(error.class(), ErrorClass::Unsupported);
        assert!(error.to_string().contains("version 2"), "{error}");
    }

    #[test]
    fn something_after_the_deck_is_refused() {
        let error = refused(r#"{"version":1,"title":"T","slides":[{"layout":"bullets"}]} {}"#);
        assert_eq!(error.class(), ErrorClass::Validation);
    }

    #[test]
    fn a_deck_that_is_too_long_is_refused_before_it_is_parsed() {
        let error = Deck::from_json(&vec![b' '; MAX_DECK_BYTES + 1]).unwrap_err();
        assert!(matches!(error, DeckError::TooLarge { limit: MAX_DECK_BYTES, .. }), "{error}");
    }
}
