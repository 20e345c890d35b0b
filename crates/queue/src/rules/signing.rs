//! Links that carry their own right: whoever has one may fetch the file it names until it expires.
//!
//! The signature is an HMAC-SHA256 over the file's id and the moment of expiry, under a secret of the installation. So
//! neither can be changed, every process that shares the database can check a link, and nothing is stored for it.
//!
//! The secret can be replaced. Links the old one has signed work until they expire, but it can no longer sign any: one
//! that expires later than the old key's own links could is refused.

use hmac::{Hmac, KeyInit, Mac};
use leasehold_types::{AttachmentId, Problem, ProblemCode, Timestamp};
use sha2::Sha256;
use std::time::Duration;

/// A link works at least this long.
pub const SHORTEST_LIFE: Duration = Duration::from_secs(300);
/// Links made within the same step expire together, so that a page read twice shows the same link.
const STEP_SECS: i64 = 60;

/// A secret of the installation.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey {
    pub secret: String,
    pub created_at: Timestamp,
}

/// Shows nothing that must not be in a log.
impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").field("created_at", &self.created_at).finish_non_exhaustive()
    }
}

/// Signs with the newest key, and knows the links the one before it has signed.
#[derive(Clone)]
pub struct Signer {
    newest: Hmac<Sha256>,
    /// With the latest moment its links can expire at: whoever got hold of it cannot make links that last longer.
    previous: Option<(Hmac<Sha256>, Timestamp)>,
}

impl Signer {
    /// `keys` with the newest first; `life` is how long links work.
    pub fn new(keys: &[SigningKey], life: Duration) -> Option<Self> {
        let newest = keys.first()?;
        // Another process may sign with the old key for a little longer, and moments of expiry are rounded up.
        let last = newest.created_at.plus(life.max(SHORTEST_LIFE)).plus_secs(2 * STEP_SECS);
        let previous = keys.get(1).map(|key| (keyed(&key.secret), last));
        Some(Self { newest: keyed(&newest.secret), previous })
    }

    /// The path of a link that works for `life` from now, or up to a minute longer.
    pub fn path(&self, id: AttachmentId, now: Timestamp, life: Duration) -> (String, Timestamp) {
        let until = now.plus(life.max(SHORTEST_LIFE)).secs();
        let expires = (until.div_euclid(STEP_SECS) + 1) * STEP_SECS;
        let signature = hex(&mac(&self.newest, id, expires).finalize().into_bytes());
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
        let signed_by =
            |key: &Hmac<Sha256>, signature: &[u8]| mac(key, id, expires).verify_slice(signature).is_ok();
        let genuine = unhex(signature).is_some_and(|signature| {
            let before =
                |(key, last): &(_, _)| Timestamp::from_secs(expires) <= *last && signed_by(key, &signature);
            signed_by(&self.newest, &signature) || self.previous.as_ref().is_some_and(before)
        });
        if !genuine {
            return Err(refused("This link is not complete, or it was changed on its way."));
        }
        if now >= Timestamp::from_secs(expires) {
            return Err(refused("This link has expired. The job's page has a fresh one."));
        }
        Ok(())
    }

    /// The signature of a text that is made for one purpose; it is worth nothing for another.
    pub fn signature(&self, purpose: &str, text: &str) -> String {
        hex(&mac_of(&self.newest, purpose, text).finalize().into_bytes())
    }

    /// Whether the text was signed by this installation, for this purpose; by the key before the newest only as long as
    /// that one's links work.
    pub fn is_genuine(&self, purpose: &str, text: &str, signature: &str, now: Timestamp) -> bool {
        let Some(signature) = unhex(signature) else { return false };
        let signed_by = |key: &Hmac<Sha256>| mac_of(key, purpose, text).verify_slice(&signature).is_ok();
        let before = |(key, last): &(_, _)| now <= *last && signed_by(key);
        signed_by(&self.newest) || self.previous.as_ref().is_some_and(before)
    }
}

fn keyed(secret: &str) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    let key = Hmac::new_from_slice(secret.as_bytes()).expect("a key of any length");
    key
}

fn mac(key: &Hmac<Sha256>, id: AttachmentId, expires: i64) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(format!("attachment {id} until {expires}").as_bytes());
    mac
}

fn mac_of(key: &Hmac<Sha256>, purpose: &str, text: &str) -> Hmac<Sha256> {
    let mut mac = key.clone();
    mac.update(format!("{purpose}\n{text}").as_bytes());
    mac
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

    const LIFE: Duration = Duration::from_secs(3_600);

    /// The newest key first, made now.
    fn keyed_with(secrets: &[&str]) -> Signer {
        let key = |secret: &&str| SigningKey { secret: (*secret).to_owned(), created_at: NOW };
        Signer::new(&secrets.iter().map(key).collect::<Vec<_>>(), LIFE).unwrap()
    }

    fn parts(path: &str) -> (AttachmentId, i64, String) {
        let (id, query) = path.strip_prefix("/attachments/").unwrap().split_once('?').unwrap();
        let (expires, signature) = query.split_once('&').unwrap();
        let expires = expires.strip_prefix("expires=").unwrap().parse().unwrap();
        (id.parse().unwrap(), expires, signature.strip_prefix("signature=").unwrap().to_owned())
    }

    #[test]
    fn a_link_works_until_it_expires_and_not_a_moment_longer() {
        let signer = keyed_with(&["secret"]);
        let (path, until) = signer.path(AttachmentId(Uuid::now_v7()), NOW, Duration::from_secs(3_600));
        let (id, expires, signature) = parts(&path);
        assert!(until >= NOW.plus_secs(3_600) && until <= NOW.plus_secs(3_660));
        assert_eq!(signer.check(id, expires, &signature, NOW), Ok(()));
        assert_eq!(signer.check(id, expires, &signature, Timestamp::from_micros(until.micros() - 1)), Ok(()));
        assert!(signer.check(id, expires, &signature, until).unwrap_err().detail.contains("expired"));
    }

    #[test]
    fn a_link_cannot_be_changed_and_is_bound_to_its_installation() {
        let signer = keyed_with(&["secret"]);
        let (path, _) = signer.path(AttachmentId(Uuid::now_v7()), NOW, SHORTEST_LIFE);
        let (id, expires, signature) = parts(&path);
        let wrong = [
            signer.check(AttachmentId(Uuid::now_v7()), expires, &signature, NOW),
            signer.check(id, expires + 1, &signature, NOW),
            signer.check(id, expires, &signature[..62], NOW),
            signer.check(id, expires, &format!("{signature}00"), NOW),
            signer.check(id, expires, "", NOW),
            signer.check(id, expires, "+é+é", NOW),
            keyed_with(&["other"]).check(id, expires, &signature, NOW),
        ];
        for answer in wrong {
            assert_eq!(answer.unwrap_err().code, ProblemCode::Forbidden);
        }
    }

    #[test]
    fn a_text_is_signed_for_one_purpose_by_one_installation() {
        let signer = keyed_with(&["secret"]);
        let signature = signer.signature("stream", "text");
        let genuine = |signer: &Signer, purpose: &str, text: &str, signature: &str| {
            signer.is_genuine(purpose, text, signature, NOW)
        };
        assert!(genuine(&signer, "stream", "text", &signature));
        for (purpose, text) in [("stream", "texts"), ("file", "text"), ("stream\ntext", "")] {
            assert!(!genuine(&signer, purpose, text, &signature), "{purpose} {text}");
        }
        assert!(!genuine(&signer, "stream", "text", "") && !genuine(&signer, "stream", "text", "zz"));
        assert!(!genuine(&keyed_with(&["other"]), "stream", "text", &signature));
        let rotated = keyed_with(&["newer", "secret"]);
        assert!(genuine(&rotated, "stream", "text", &signature));
        let much_later = NOW.plus(LIFE).plus_secs(3 * STEP_SECS);
        assert!(!rotated.is_genuine("stream", "text", &signature, much_later), "its time is over");
    }

    #[test]
    fn a_short_life_becomes_the_shortest_and_a_page_read_twice_shows_the_same_link() {
        let (signer, id) = (keyed_with(&["secret"]), AttachmentId(Uuid::now_v7()));
        let (first, until) = signer.path(id, NOW, Duration::ZERO);
        assert!(until >= NOW.plus(SHORTEST_LIFE));
        assert_eq!(signer.path(id, NOW.plus_secs(20), Duration::ZERO).0, first);
    }

    #[test]
    fn a_replaced_key_verifies_its_own_links_and_signs_no_more() {
        let old = keyed_with(&["old"]);
        let both = keyed_with(&["new", "old"]);
        let (path, _) = old.path(AttachmentId(Uuid::now_v7()), NOW, LIFE);
        let (id, expires, signature) = parts(&path);
        assert_eq!(both.check(id, expires, &signature, NOW), Ok(()));
        assert!(
            keyed_with(&["newer", "new"]).check(id, expires, &signature, NOW).is_err(),
            "two keys are enough"
        );
        let (fresh, _) = both.path(id, NOW, LIFE);
        let (_, expires, signature) = parts(&fresh);
        assert!(old.check(id, expires, &signature, NOW).is_err(), "the new key signs");
        // Whoever has stolen the old key signs for long.
        let (forged, _) = old.path(id, NOW, LIFE * 24);
        let (_, expires, signature) = parts(&forged);
        assert!(both.check(id, expires, &signature, NOW).is_err());
    }
}
