//! Random secrets and the hashes under which they are kept. Only hashes reach the database.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use leasehold_types::{Problem, ProblemCode};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// 256 random bits, safe to put into a URL.
pub fn random_token() -> Result<String, Problem> {
    let mut bytes = [0_u8; 32];
    fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Random lower-case hex, `2 × N` characters.
pub fn random_hex<const N: usize>() -> Result<String, Problem> {
    Ok(hex(&random_bytes::<N>()?))
}

pub fn random_bytes<const N: usize>() -> Result<[u8; N], Problem> {
    let mut bytes = [0_u8; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

pub fn sha256_hex(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn fill(bytes: &mut [u8]) -> Result<(), Problem> {
    getrandom::fill(bytes).map_err(|error| {
        Problem::new(ProblemCode::Internal, format!("This machine gives no random numbers: {error}."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_plain_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256_hex(""), empty);
    }

    #[test]
    fn tokens_are_long_and_never_repeat() {
        let (a, b) = (random_token().unwrap(), random_token().unwrap());
        assert_eq!(a.len(), 43);
        assert_ne!(a, b);
        assert_eq!(random_hex::<6>().unwrap().len(), 12);
    }
}
