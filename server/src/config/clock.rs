//! The clock that tests freeze.

use super::sources::{Sources, wrong};
use leasehold_types::{Problem, Timestamp};

/// A frozen clock that is not understood would be a running one, and every test of time a lie.
pub fn frozen_at(sources: &Sources) -> Result<Option<Timestamp>, Problem> {
    let name = "JOBS_TEST_NOW_EPOCH";
    let Some(text) = sources.get(name) else { return Ok(None) };
    let seconds =
        text.trim().parse().map_err(|_| wrong(name, text, "it must be a whole number of seconds"))?;
    Ok(Some(Timestamp::from_secs(seconds)))
}
