//! Secrets: what they are called, what they look like, and what is done about them.
//!
//! One knowledge serves all: [`Redactor`] knows the names ([`names`]), the shapes ([`shapes`]), private keys over several
//! lines ([`blocks`]) and, for one job, the very values it was given as secrets. It finds them in text and in JSON alike.
//! [`SecretPolicy`] says what is done about them at the door: let in, hidden, or refused. What is shown, logged or kept of
//! what a worker says is always without them. `docs/secrets.md` lists the fields.

mod blocks;
mod known;
mod named;
mod names;
mod policy;
mod prefilter;
mod redactor;
mod schemas;
mod shapes;
mod values;

pub use blocks::KeyBlock;
pub use names::is_secret_name;
pub use policy::{KeyHash, OnSecret, SecretPolicy};
pub use redactor::Redactor;

pub const REDACTED: &str = "***REDACTED***";

#[cfg(any(test, feature = "corpus"))]
pub mod corpus;
