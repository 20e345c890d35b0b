//! What is said of tenants that cannot be made or found.

use leasehold_types::{Problem, ProblemCode};

pub fn no_such_tenant() -> Problem {
    Problem::not_found("This tenant")
}

pub fn slug_taken() -> Problem {
    let detail = "A tenant with this address exists already. Nothing was changed.";
    Problem::new(ProblemCode::AlreadyExists, detail).with_field("slug", detail)
}
