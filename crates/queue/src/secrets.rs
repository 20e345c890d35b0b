//! Secrets: what they are called, what they look like, and what is done about them.
//!
//! One knowledge ([`known`]) serves all. At the door [`SecretPolicy`] refuses a payload with a secret in it, or blots it
//! out, when the installation asks for that; whoever looks at a payload is shown it without, always. [`Redactor`] keeps
//! secrets out of logs and results before they are written.

mod known;
mod net;
mod policy;
mod redact;

pub use known::{REDACTED, is_secret_name};
pub use policy::{OnSecret, SecretPolicy};
pub use redact::{Redactor, SecretBlock};
