//! What is said of jobs that cannot be created because of the keys they carry.

use leasehold_types::{Problem, ProblemCode};

/// The same key with another payload.
pub fn idempotency_conflict() -> Problem {
    let detail =
        "This idempotency key was used before with another payload. Nothing was created; use a new key.";
    Problem::new(ProblemCode::IdempotencyConflict, detail)
}

/// Others won the race for the same keys too often.
pub fn contended() -> Problem {
    let detail =
        "Others are creating jobs with the same keys right now. Nothing was created; please try again.";
    Problem::new(ProblemCode::Unavailable, detail).retry_after(1)
}
