//! What can go wrong with a worker, and with one of its jobs.

use std::time::Duration;

/// Why a worker cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the configuration is wrong: {0}")]
    Config(String),
    /// The server understood and said no: asking again would not help.
    #[error("the server refused with {code} ({status}): {detail}")]
    Refused { status: u16, code: String, detail: String },
    /// Nobody answered, or not in a way that can be understood; asking again may help.
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
}

impl Error {
    /// The job is somebody else's by now, or gone.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Refused { status: 404 | 409, .. })
    }

    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Refused { status, .. } => *status >= 500 || *status == 429 || *status == 408,
            Self::Config(_) => false,
        }
    }
}

/// How a handler says that its job failed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JobError {
    /// Stable and short; equal codes in a row are counted.
    pub code: String,
    pub message: String,
    /// Where it failed, for who looks into it.
    pub stack: Option<String>,
    /// One of Leasehold's classes, such as `validation_error` or `dependency_unavailable`.
    pub class: Option<String>,
    /// None = as the configuration says.
    pub retryable: Option<bool>,
    pub retry_after: Option<Duration>,
}

impl JobError {
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), ..Self::default() }
    }

    /// Another attempt would meet the same end.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.retryable = Some(false);
        self
    }

    #[must_use]
    pub fn class(mut self, class: impl Into<String>) -> Self {
        self.class = Some(class.into());
        self
    }

    #[must_use]
    pub fn stack(mut self, stack: impl Into<String>) -> Self {
        self.stack = Some(stack.into());
        self
    }

    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        (self.retryable, self.retry_after) = (Some(true), Some(wait));
        self
    }
}

impl<E: std::error::Error> From<E> for JobError {
    fn from(error: E) -> Self {
        Self::new("handler_error", error.to_string())
    }
}
