//! What can go wrong inside this crate, and what the caller hears of it.
//!
//! Statements fail with [`sqlx::Error`], decisions with a [`Problem`]; both travel up by `?` and become a
//! [`StoreError`] at the door of the store. A violated constraint that a caller could not foresee is mapped
//! where the statement stands, by [`taken`].

use leasehold_queue::StoreError;
use leasehold_types::{Problem, ProblemCode};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a value cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

pub(crate) type Outcome<T> = Result<T, Error>;

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Store(problem.into())
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(error) => error,
            Error::Sql(error) => {
                StoreError::Database { transient: is_transient(&error), message: error.to_string() }
            }
            Error::Json(_) => StoreError::Database { transient: false, message: error.to_string() },
        }
    }
}

/// Answers a violated unique constraint with `ALREADY_EXISTS`, everything else with itself.
pub(crate) fn taken(error: sqlx::Error, detail: &str) -> Error {
    match error.as_database_error() {
        Some(failed) if failed.is_unique_violation() => {
            Problem::new(ProblemCode::AlreadyExists, detail).into()
        }
        _ => error.into(),
    }
}

/// The primary codes of SQLite that pass by themselves: BUSY (5) and LOCKED (6).
const PASSING: [i64; 2] = [5, 6];

fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed | sqlx::Error::Io(_) => true,
        // Extended codes carry the primary one in their lowest byte.
        sqlx::Error::Database(failed) => failed
            .code()
            .and_then(|code| code.parse::<i64>().ok())
            .is_some_and(|code| PASSING.contains(&(code & 0xff))),
        _ => false,
    }
}
