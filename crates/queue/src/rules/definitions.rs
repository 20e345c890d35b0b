//! What is said of definitions that cannot be made or found.

use leasehold_types::{Problem, ProblemCode};

pub fn no_such_definition() -> Problem {
    Problem::not_found("This definition")
}

pub fn key_taken() -> Problem {
    taken("key", "A definition with this key exists already. Nothing was changed.")
}

pub fn kind_taken() -> Problem {
    taken("job_type", "Another definition has this domain and job type. Nothing was changed.")
}

fn taken(field: &str, detail: &str) -> Problem {
    Problem::new(ProblemCode::AlreadyExists, detail).with_field(field, detail)
}
