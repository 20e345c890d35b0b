//! What went wrong, said once for pages, the API and the command line: a stable code, a sentence,
//! and for forms the fields it is about.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $status:literal, $title:literal;)+) => {
        /// Stable names of problems; programs may match on them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
        pub enum ProblemCode { $($(#[$doc])* #[serde(rename = $code)] $variant),+ }

        impl ProblemCode {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),+ }
            }

            /// The HTTP status that carries it.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),+ }
            }
        }
    };
}

codes! {
    InvalidInput = "INVALID_INPUT", 422, "The request is not valid";
    InvalidPayload = "INVALID_PAYLOAD", 422, "The payload does not match its schema";
    SecretInPayload = "SECRET_IN_PAYLOAD", 422, "The payload holds a secret";
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, "The payload is too large";
    QueueNotAllowed = "QUEUE_NOT_ALLOWED", 422, "This queue is not allowed";
    JobTypeNotAllowed = "JOB_TYPE_NOT_ALLOWED", 422, "This job type is not allowed";
    DefinitionInactive = "DEFINITION_INACTIVE", 409, "This definition is switched off";
    ConfirmationRequired = "CONFIRMATION_REQUIRED", 400, "Confirmation required";
    DomainRequired = "DOMAIN_REQUIRED", 400, "This needs a domain";
    Unauthenticated = "UNAUTHENTICATED", 401, "Please sign in";
    WrongCredentials = "WRONG_CREDENTIALS", 401, "E-mail or password is wrong";
    SetupLinkInvalid = "SETUP_LINK_INVALID", 403, "This link does not work";
    CrossSite = "CROSS_SITE", 403, "The request came from another site";
    Forbidden = "FORBIDDEN", 403, "You are not allowed to do this";
    RequestTimeout = "REQUEST_TIMEOUT", 408, "The request did not arrive in time";
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405, "This address does not take this method";
    NotFound = "NOT_FOUND", 404, "Not found";
    CursorExpired = "CURSOR_EXPIRED", 410, "The events after this cursor are gone";
    WrongState = "WRONG_STATE", 409, "The job is not in a state that allows this";
    StaleLease = "STALE_LEASE", 409, "The lease is no longer yours";
    AlreadyExists = "ALREADY_EXISTS", 409, "It already exists";
    IdempotencyConflict = "IDEMPOTENCY_CONFLICT", 409, "The same key was used with another payload";
    ConcurrencyLimit = "CONCURRENCY_LIMIT", 409, "As many as allowed are active for this key";
    QuotaExceeded = "QUOTA_EXCEEDED", 429, "A limit is reached";
    TooManyAttempts = "TOO_MANY_ATTEMPTS", 429, "Too many attempts";
    RateLimited = "RATE_LIMITED", 429, "Too many requests";
    Misdirected = "MISDIRECTED_REQUEST", 421, "This server has another name";
    QueueOverloaded = "QUEUE_OVERLOADED", 503, "The queue is full";
    Unavailable = "UNAVAILABLE", 503, "The database does not answer";
    Internal = "INTERNAL", 500, "Something went wrong on the server";
}

/// One field of a form or body, and what is wrong with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FieldError {
    pub field: String,
    pub message: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    pub code: ProblemCode,
    /// One or two sentences: what happened, what was not changed, what to try.
    pub detail: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

impl Problem {
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: Vec::new(), retry_after_seconds: None }
    }

    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        let (field, message) = (field.into(), message.into());
        Self::new(ProblemCode::InvalidInput, message.clone()).with_field(field, message)
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(ProblemCode::NotFound, format!("{what} does not exist, or you may not see it."))
    }

    pub fn too_many_attempts(seconds: u32) -> Self {
        let minutes = seconds.div_ceil(60).max(1);
        let unit = if minutes == 1 { "minute" } else { "minutes" };
        let wait = if seconds < 60 { "a few seconds".to_owned() } else { format!("{minutes} {unit}") };
        let detail = format!("Please try again in {wait}.");
        Self::new(ProblemCode::TooManyAttempts, detail).retry_after(seconds)
    }

    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>, message: impl Into<String>) -> Self {
        self.errors.push(FieldError { field: field.into(), message: message.into() });
        self
    }

    #[must_use]
    pub fn retry_after(mut self, seconds: u32) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// The messages about one field, joined.
    pub fn field(&self, name: &str) -> Option<String> {
        let messages: Vec<_> =
            self.errors.iter().filter(|e| e.field == name).map(|e| e.message.as_str()).collect();
        (!messages.is_empty()).then(|| messages.join(" "))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.detail)
    }
}

impl std::error::Error for Problem {}
