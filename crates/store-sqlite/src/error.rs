//! What can go wrong inside this crate, and what the caller hears of it.
//!
//! Statements fail with [`sqlx::Error`], decisions with a [`Problem`]; both travel up by `?` and become a
//! [`StoreError`] at the door of the store.

use leasehold_queue::{StoreError, StoreResult};
use leasehold_types::Problem;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("a value cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

pub type Outcome<T> = Result<T, Error>;

/// For methods of a port that answer with a [`StoreResult`]: inside, `?` takes whatever this crate fails with.
pub(crate) async fn outcome<T>(work: impl Future<Output = Outcome<T>>) -> StoreResult<T> {
    Ok(work.await?)
}

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
