//! What can go wrong, sorted by what it means for a job.
//!
//! None of these is worth another attempt with the same input: retryable troubles (a storage that does not answer)
//! happen outside this crate.

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum DeckError {
    /// The input is of a kind we read, and is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The input may be right, and is more than we take.
    #[error("{what}: {found}, at most {limit} are accepted")]
    TooLarge { what: String, found: usize, limit: usize },
    /// The input or the wanted output is of a kind we do not know.
    #[error("{0}")]
    Unsupported(String),
    /// The watcher said stop. Nothing was produced.
    #[error("stopped before it was done; nothing was produced")]
    Cancelled,
    /// A mistake in this crate.
    #[error("internal error while writing the artifact: {0}")]
    Internal(String),
}

/// The classes of a job's failure, as in the retry tables of the deck jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    Validation,
    Unsupported,
    Cancelled,
    Internal,
}

impl DeckError {
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Invalid(_) | Self::TooLarge { .. } => ErrorClass::Validation,
            Self::Unsupported(_) => ErrorClass::Unsupported,
            Self::Cancelled => ErrorClass::Cancelled,
            Self::Internal(_) => ErrorClass::Internal,
        }
    }

    pub(crate) fn too_large(what: impl Into<String>, found: usize, limit: usize) -> Self {
        Self::TooLarge { what: what.into(), found, limit }
    }
}

impl ErrorClass {
    /// The stable name that goes into an attempt's record.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "validation_error",
            Self::Unsupported => "unsupported_format",
            Self::Cancelled => "canceled",
            Self::Internal => "internal_bug",
        }
    }
}
