//! API keys: how long a use is remembered, and what is said of keys that cannot be made or found.

use leasehold_types::{Problem, ProblemCode};
use std::time::Duration;

/// A key's last use is written at most this often.
pub const USE_NOTED_EVERY: Duration = Duration::from_secs(60);

pub fn no_such_key() -> Problem {
    Problem::not_found("This key")
}

pub fn prefix_taken() -> Problem {
    let detail = "A key with this prefix exists already. Nothing was changed.";
    Problem::new(ProblemCode::AlreadyExists, detail).with_field("prefix", detail)
}
