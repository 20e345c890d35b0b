//! Links that carry their own right: whoever has one may fetch the file it names until it expires.
//!
//! The signature is an HMAC-SHA256 over the file's id and the moment of expiry, under a secret of the installation. So
//! neither can be changed, every process that shares the database can check a link, and nothing is stored for it.

use hmac::{Hmac, KeyInit, Mac};
use leasehold_types::{AttachmentId, Problem, ProblemCode, Timestamp};
use sha2::Sha256;
use std::time::Duration;

/// A link works at least this long.
pub const SHORTEST_LIFE: Duration = Duration::from_secs(300);
/// Links made within the same step expire together, so that a page read twice shows the same link.
const STEP_SECS: i64 = 60;

/// The installation's secret.
#[derive(Clone)]
pub struct Signer {
    key: Hmac<Sha256>,
}

impl Signer {
    pub fn new(secret: &str) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
        let key = Hmac::new_from_slice(secret.as_bytes()).expect("a key of any length");
        Self { key }
    }

    /// The path of a link that works for `life` from now, or up to a minute longer.
    pub fn path(&self, id: AttachmentId, now: Timestamp, life: Duration) -> (String, Timestamp) {
        let until = now.plus(life.max(SHORTEST_LIFE)).secs();
        let expires = (until.div_euclid(STEP_SECS) + 1) * STEP_SECS;
        let signature = hex(&self.mac(id, expires).finalize().into_bytes());
        let path = format!("/attachments/{id}?expires={expires}&signature={signature}");
        (path, Timestamp::from_secs(expires))
    }

    /// Whether a link is one of ours and still works; `FORBIDDEN` says which of the two it is not.
    pub fn check(
        &self,
        id: AttachmentId,
        expires: i64,
        signature: &str,
        now: Timestamp,
    ) -> Result<(), Problem> {
        // Compared in constant time: how long a refusal takes must not tell how much of a guess was right.
        let genuine =
            unhex(signature).is_some_and(|signature| self.mac(id, expires).verify_slice(&signature).is_ok());
        if !genuine {
            return Err(refused("This link is not complete, or it was changed on its way."));
        }
        if now >= Timestamp::from_secs(expires) {
            return Err(refused("This link has expired. The job's page has a fresh one."));
        }
        Ok(())
    }

    /// The signature of a statement, in hex. What is signed must begin with a word for its use.
    pub fn sign(&self, statement: &str) -> String {
        hex(&self.mac_of(statement).finalize().into_bytes())
    }

    /// Compared in constant time.
    pub fn verify(&self, statement: &str, signature: &str) -> bool {
        unhex(signature).is_some_and(|signature| self.mac_of(statement).verify_slice(&signature).is_ok())
    }

    fn mac_of(&self, statement: &str) -> Hmac<Sha256> {
        let mut mac = self.key.clone();
        mac.update(statement.as_bytes());
        mac
    }

    fn mac(&self, id: AttachmentId, expires: i64) -> Hmac<Sha256> {
        self.mac_of(&format!("attachment {id} until {expires}"))
    }
}

/// The same for a link that cannot even be read: what is wrong with it is nobody's business.
pub fn unreadable() -> Problem {
    refused("This link is not complete, or it was changed on its way.")
}

fn refused(detail: &str) -> Problem {
    Problem::new(ProblemCode::Forbidden, detail)
}

/// 256 random bits in hex.
pub fn fresh_secret() -> Result<String, Problem> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::new(ProblemCode::Internal, format!("This machine gives no random numbers: {error}."))
    })?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const NOW: Timestamp = Timestamp::from_secs(1_780_000_030);

    fn parts(path: &str) -> (AttachmentId, i64, String) {
        let (id, query) = path.strip_prefix("/attachments/").unwrap().split_once('?').unwrap();
        let (expires, signature) = query.split_once('&').unwrap();
        let expires = expires.strip_prefix("expires=").unwrap().parse().unwrap();
        (id.parse().unwrap(), expires, signature.strip_prefix("signature=").unwrap().to_owned())
    }

    #[test]
    fn a_link_works_until_it_expires_and_not_a_moment_longer() {
        let signer = Signer::new("secret");
        let (path, until) = signer.path(AttachmentId(Uuid::now_v7()), NOW, Duration::from_secs(3_600));
        let (id, expires, signature) = parts(&path);
        assert!(until >= NOW.plus_secs(3_600) && until <= NOW.plus_secs(3_660));
        assert_eq!(signer.check(id, expires, &signature, NOW), Ok(()));
        assert_eq!(signer.check(id, expires, &signature, Timestamp::from_micros(until.micros() - 1)), Ok(()));
        assert!(signer.check(id, expires, &signature, until).unwrap_err().detail.contains("expired"));
    }

    #[test]
    fn a_link_cannot_be_changed_and_is_bound_to_its_installation() {
        let signer = Signer::new("secret");
        let (path, _) = signer.path(AttachmentId(Uuid::now_v7()), NOW, SHORTEST_LIFE);
        let (id, expires, signature) = parts(&path);
        let wrong = [
            signer.check(AttachmentId(Uuid::now_v7()), expires, &signature, NOW),
            signer.check(id, expires + 1, &signature, NOW),
            signer.check(id, expires, &signature[..62], NOW),
            signer.check(id, expires, &format!("{signature}00"), NOW),
            signer.check(id, expires, "", NOW),
            signer.check(id, expires, "+é+é", NOW),
            Signer::new("other").check(id, expires, &signature, NOW),
        ];
        for answer in wrong {
            assert_eq!(answer.unwrap_err().code, ProblemCode::Forbidden);
        }
    }

    #[test]
    fn a_short_life_becomes_the_shortest_and_a_page_read_twice_shows_the_same_link() {
        let (signer, id) = (Signer::new("secret"), AttachmentId(Uuid::now_v7()));
        let (first, until) = signer.path(id, NOW, Duration::ZERO);
        assert!(until >= NOW.plus(SHORTEST_LIFE));
        assert_eq!(signer.path(id, NOW.plus_secs(20), Duration::ZERO).0, first);
    }
}
