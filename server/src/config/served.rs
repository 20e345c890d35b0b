//! Which queues and domains the workers of this process serve.

use super::sources::{Sources, items, wrong};
use leasehold_types::Problem;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Served {
    /// `queue` or `domain/queue`; empty = all.
    pub queues: Vec<String>,
    pub domains: Vec<String>,
}

pub fn served(sources: &Sources) -> Result<Served, Problem> {
    Ok(Served {
        queues: names(sources, "JOBS_WORKER_QUEUES")?,
        domains: names(sources, "JOBS_WORKER_DOMAINS")?,
    })
}

/// A list that was given and names nothing would silently mean "all".
fn names(sources: &Sources, setting: &str) -> Result<Vec<String>, Problem> {
    let Some(text) = sources.get(setting) else { return Ok(Vec::new()) };
    let names = items(text, ',');
    let is_name = |name: &String| !name.starts_with('/') && !name.ends_with('/');
    if names.is_empty() || !names.iter().all(is_name) {
        return Err(wrong(setting, text, "it must name at least one, separated by commas, or be left out"));
    }
    Ok(names)
}
