//! Names that say where: a domain, a queue, a type of job.

use leasehold_queue::upkeep::Place;
use leasehold_types::{JobFilter, Problem};

const LONGEST: usize = 200;

pub fn place(
    domain: Option<String>,
    queue: Option<String>,
    job_type: Option<String>,
) -> Result<Place, Problem> {
    for (field, name) in [("domain", &domain), ("queue", &queue), ("job_type", &job_type)] {
        name.as_deref().map_or(Ok(()), |name| check(field, name))?;
    }
    Ok(Place { domain, queue, job_type })
}

/// No database could hold such a name, so nothing has it.
pub fn check(field: &str, name: &str) -> Result<(), Problem> {
    if name.is_empty() || name.chars().count() > LONGEST || name.chars().any(char::is_control) {
        let message = format!("It must be 1 to {LONGEST} plain characters. Nothing was changed.");
        return Err(Problem::invalid(field, message));
    }
    Ok(())
}

pub fn filter(place: Place) -> JobFilter {
    JobFilter { domain: place.domain, queue: place.queue, job_type: place.job_type, ..JobFilter::default() }
}
