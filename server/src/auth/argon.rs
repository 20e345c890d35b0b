//! argon2id in memory that is kept from one hash to the next: nineteen megabytes taken and given back each time would tear
//! the heap to pieces, and a crowd at the sign-in would cost a gigabyte that never comes back.

use super::password::{AT_WORK, broken};
use argon2::{
    Algorithm, Argon2, Block, Params, Version,
    password_hash::phc::{Output, ParamsString, PasswordHash, Salt},
};
use leasehold_types::Problem;
use std::sync::{Mutex, MutexGuard, PoisonError};

static KEPT: Mutex<Vec<Vec<Block>>> = Mutex::new(Vec::new());
const LENGTH: usize = 32;

fn kept() -> MutexGuard<'static, Vec<Vec<Block>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compute(params: &Params, password: &[u8], salt: &[u8], out: &mut [u8]) -> Result<(), Problem> {
    let mut memory = kept().pop().unwrap_or_default();
    memory.resize(params.block_count(), Block::new());
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    let done = argon.hash_password_into_with_memory(password, salt, out, &mut memory[..]);
    // What a password left behind is no use to anyone, but need not lie about either.
    memory.fill(Block::new());
    let mut kept = kept();
    if kept.len() < AT_WORK {
        kept.push(memory);
    }
    done.map_err(broken)
}

/// In the usual notation, with its salt.
pub fn hash(password: &[u8], salt: &[u8; 16]) -> Result<String, Problem> {
    let params = Params::new(19_456, 2, 1, Some(LENGTH)).map_err(broken)?;
    let mut out = [0_u8; LENGTH];
    compute(&params, password, salt, &mut out)?;
    let hash = PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(&params).map_err(broken)?,
        salt: Some(Salt::new(salt).map_err(broken)?),
        hash: Some(Output::new(&out).map_err(broken)?),
    };
    Ok(hash.to_string())
}

/// Whether the password has this hash; compared in constant time.
pub fn fits(password: &[u8], stored: &str) -> Result<bool, Problem> {
    let stored = PasswordHash::new(stored).map_err(broken)?;
    let params = Params::try_from(&stored).map_err(broken)?;
    let (Some(salt), Some(expected)) = (&stored.salt, &stored.hash) else { return Ok(false) };
    let mut out = [0_u8; Output::MAX_LENGTH];
    let out = &mut out[..expected.len()];
    compute(&params, password, salt.as_ref(), out)?;
    Ok(Output::new(out).map_err(broken)? == *expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use argon2::{PasswordHasher, PasswordVerifier};

    /// The crate's own way, which takes its memory anew, says the same.
    #[test]
    fn hashes_are_those_of_argon2() {
        let theirs =
            Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(19_456, 2, 1, None).unwrap());
        for password in ["correct horse battery", "", "äöü"] {
            let salt = b"0123456789abcdef";
            let ours = hash(password.as_bytes(), salt).unwrap();
            let made: PasswordHash = theirs.hash_password_with_salt(password.as_bytes(), salt).unwrap();
            assert_eq!(ours, made.to_string());
            assert!(theirs.verify_password(password.as_bytes(), ours.as_str()).is_ok());
            assert!(fits(password.as_bytes(), &ours).unwrap() && !fits(b"another", &ours).unwrap());
        }
        assert!(kept().len() <= AT_WORK);
    }
}
