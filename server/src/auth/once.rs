//! A secret that is shown on exactly one page: a new key, a link. Between the form and the page it waits in the session,
//! sealed with a key that only the page's address has. So neither the database nor an old address gives it away.

use crate::secret;
use leasehold_types::Problem;
use sha2::{Digest, Sha256};

/// The key for the address, and what waits in the session.
pub fn seal(text: &str) -> Result<(String, String), Problem> {
    let key = secret::random_token()?;
    let sealed = secret::hex(&mix(&key, text.as_bytes()));
    Ok((key, sealed))
}

/// None when the two do not belong together.
pub fn unseal(key: &str, sealed: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = (0..sealed.len())
        .step_by(2)
        .map(|at| sealed.get(at..at + 2).and_then(|byte| u8::from_str_radix(byte, 16).ok()))
        .collect();
    let text = String::from_utf8(mix(key, &bytes?)).ok()?;
    text.chars().all(|c| c.is_ascii_graphic()).then_some(text)
}

/// Each key is used once, so a stream made from it hides as well as it is random.
fn mix(key: &str, bytes: &[u8]) -> Vec<u8> {
    let block = |nth: usize| Sha256::digest(format!("{nth}:{key}"));
    let mixed = bytes.chunks(32).enumerate().flat_map(|(nth, chunk)| {
        let stream = block(nth);
        chunk.iter().zip(stream).map(|(byte, mask)| byte ^ mask).collect::<Vec<_>>()
    });
    mixed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_key_opens_it() {
        let text = format!("lh_abc_{}", "x".repeat(60));
        let (key, sealed) = seal(&text).unwrap();
        assert_eq!(unseal(&key, &sealed).as_deref(), Some(text.as_str()));
        assert!(!sealed.contains("lh_"));
        let (other, _) = seal(&text).unwrap();
        assert_eq!(unseal(&other, &sealed), None);
        for wrong in ["", "a", "zz", "ä1"] {
            assert_ne!(unseal(&key, wrong).as_deref(), Some(text.as_str()), "{wrong}");
        }
    }
}
