//! `X-Confirm: true`: what destroys is not done by a slip. It is no protection against other sites; keys are.

use axum::{extract::FromRequestParts, http::request::Parts};
use leasehold_types::{Problem, ProblemCode};
use std::convert::Infallible;

/// Whether the request says exactly `X-Confirm: true`, once.
#[derive(Clone, Copy)]
pub struct Confirmation(pub bool);

impl<S: Sync> FromRequestParts<S> for Confirmation {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let mut given = parts.headers.get_all("x-confirm").iter();
        Ok(Self(given.next().is_some_and(|word| word == "true") && given.next().is_none()))
    }
}

impl Confirmation {
    pub fn require(self) -> Result<(), Problem> {
        if self.0 {
            return Ok(());
        }
        let detail =
            "This changes many things at once: send the header X-Confirm: true. Nothing was changed.";
        Err(Problem::new(ProblemCode::ConfirmationRequired, detail))
    }

    /// A look needs none.
    pub fn require_unless(self, dry_run: bool) -> Result<(), Problem> {
        if dry_run { Ok(()) } else { self.require() }
    }
}
