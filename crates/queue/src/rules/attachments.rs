//! Files that jobs leave behind. Their bytes live in the database, so that any machine can hand them out and an
//! artifact is durable before its job is completed.
//!
//! A file is named within its job, and writing a name again replaces the file: an attempt that repeats another's work
//! after a crash leaves the same files behind, not twice as many.

use crate::secrets::Redactor;
use leasehold_types::{AttachmentId, Problem, ProblemCode, view::AttachmentView};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The most files one job may have.
pub const MOST_PER_JOB: i64 = 20;
const LONGEST_NAME: usize = 200;
const LONGEST_TYPE: usize = 100;

/// A file on its way to the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewAttachment {
    /// Used when the job has no file of this name yet.
    pub id: AttachmentId,
    pub name: String,
    pub content_type: String,
    pub sha256: String,
    pub bytes: Vec<u8>,
}

impl NewAttachment {
    pub fn new(name: impl Into<String>, content_type: impl Into<String>, bytes: Vec<u8>) -> Self {
        let sha256 = sha256_hex(&bytes);
        let id = AttachmentId(Uuid::now_v7());
        // What turns letters round would make a name look like another one.
        let name = name.into().replace(leasehold_types::text::turns_letters, "");
        Self { id, name, content_type: content_type.into(), sha256, bytes }
    }

    /// A name that is safe on every disk and in every header, a type that is one, and not too many bytes.
    pub fn check(&self, most_bytes: usize) -> Result<(), Problem> {
        let sound = !self.name.trim().is_empty()
            && self.name.chars().count() <= LONGEST_NAME
            && !self.name.starts_with('.')
            && !self.name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\'));
        if !sound {
            let message = "A file's name has 1 to 200 characters, no slash, and no dot at its start.";
            return Err(Problem::invalid("name", message));
        }
        if !is_media_type(&self.content_type) {
            return Err(Problem::invalid(
                "content_type",
                "This is not a media type such as application/pdf.",
            ));
        }
        let size = self.bytes.len();
        if size > most_bytes {
            let detail = format!("“{}” has {size} bytes; at most {most_bytes} are kept.", self.name);
            return Err(Problem::new(ProblemCode::PayloadTooLarge, detail));
        }
        Ok(())
    }

    /// Text without the secrets in it; what is no text stays as it is.
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let hidden = match std::str::from_utf8(&self.bytes) {
            Ok(text) => match redactor.text(text) {
                std::borrow::Cow::Owned(hidden) => hidden.into_bytes(),
                std::borrow::Cow::Borrowed(_) => return self,
            },
            Err(_) => return self,
        };
        Self { sha256: sha256_hex(&hidden), bytes: hidden, ..self }
    }

    /// What is shown of it once the store has kept it.
    pub fn view(&self, kept: Kept) -> AttachmentView {
        AttachmentView {
            id: kept.id,
            number: kept.number,
            name: self.name.clone(),
            content_type: self.content_type.clone(),
            size: self.bytes.len() as i64,
            sha256: self.sha256.clone(),
            attempt: kept.attempt,
            created_at: kept.created_at,
        }
    }
}

/// What only the store knows of a new attachment.
pub struct Kept {
    pub id: AttachmentId,
    pub number: i64,
    pub attempt: i32,
    pub created_at: leasehold_types::Timestamp,
}

/// A file with its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attachment {
    pub view: AttachmentView,
    pub bytes: Vec<u8>,
}

/// How files are told apart.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&b))
    };
    text.len() <= LONGEST_TYPE
        && text.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype))
}

/// The job has as many files as it may have.
pub fn too_many() -> Problem {
    let detail = format!("A job may keep at most {MOST_PER_JOB} files. Nothing was kept.");
    Problem::new(ProblemCode::PayloadTooLarge, detail)
}

pub fn lease_lost() -> Problem {
    Problem::new(ProblemCode::StaleLease, "The lease is no longer this worker's. Nothing was kept.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, content_type: &str, bytes: usize) -> Option<ProblemCode> {
        let file = NewAttachment::new(name, content_type, vec![0; bytes]);
        file.check(10).err().map(|problem| problem.code)
    }

    #[test]
    fn a_plain_file_is_fine() {
        assert_eq!(code("harbour lights.pptx", "application/vnd.x+json", 10), None);
        assert_eq!(code("Łódź → 🚀.pdf", "application/pdf", 0), None);
    }

    #[test]
    fn text_is_kept_without_secrets_and_otherwise_as_it_was() {
        let redactor = Redactor::default().knowing(&serde_json::json!({"api_key": "sesame-opens"}));
        let (open, close) =
            (concat!("-----BEGIN PRIV", "ATE KEY-----"), concat!("-----END PRIV", "ATE KEY-----"));
        let text = format!("one\r\ntwo sesame-opens\n{open}\nMIIB\n{close}\nlast");
        let kept = NewAttachment::new("a", "text/plain", text.into_bytes()).redacted(&redactor);
        assert_eq!(kept.bytes, b"one\r\ntwo ***REDACTED***\n***REDACTED***\nlast");
        assert_eq!(kept.sha256, sha256_hex(&kept.bytes));
        let binary = NewAttachment::new("a", "image/png", b"\xff sesame-opens".to_vec());
        assert_eq!(binary.clone().redacted(&redactor), binary);
    }

    #[test]
    fn a_name_cannot_turn_its_letters_round() {
        let file = NewAttachment::new("invoice\u{202e}fdp.exe", "text/plain", vec![]);
        assert_eq!(file.name, "invoicefdp.exe");
    }

    #[test]
    fn names_and_types_that_could_do_harm_are_refused() {
        let long = "x".repeat(201);
        for name in ["", "  ", "a/b", "..\\b", ".hidden", "a\nb", "a\0", long.as_str()] {
            assert_eq!(code(name, "text/plain", 1), Some(ProblemCode::InvalidInput), "{name:?}");
        }
        for kind in ["", "text", "text/", "text/html; charset=x", "text/html\r\nx: y", "a/b/c"] {
            assert_eq!(code("a", kind, 1), Some(ProblemCode::InvalidInput), "{kind:?}");
        }
    }

    #[test]
    fn one_byte_too_many_is_too_many() {
        assert_eq!(code("a", "text/plain", 11), Some(ProblemCode::PayloadTooLarge));
    }

    #[test]
    fn the_hash_is_plain_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(NewAttachment::new("a", "text/plain", vec![]).sha256, empty);
    }
}
