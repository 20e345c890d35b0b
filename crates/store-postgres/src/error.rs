//! What the database said, in the store's words. A violated constraint that a caller can cause has a name in the
//! schema and a problem here; everything else is the database's own trouble.

use leasehold_queue::{StoreError, StoreResult};
use leasehold_types::{Problem, ProblemCode};

/// What a statement fails with inside this crate; becomes a [`StoreError`] at the door.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
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
            Error::Sql(error) => database(error),
            Error::Store(error) => error,
        }
    }
}

/// Names of constraints that callers of `create_jobs` race for.
pub const DEDUPE: &str = "jobs_active_dedupe";
pub const IDEMPOTENCY: &str = "job_idempotency_pkey";

/// SQLSTATE classes and codes after which the same call may well succeed.
const TRANSIENT: [&str; 9] = [
    "40001", // serialization_failure
    "40P01", // deadlock_detected
    "55P03", // lock_not_available
    "57P01", // admin_shutdown
    "57P02", // crash_shutdown
    "57P03", // cannot_connect_now
    "53300", // too_many_connections
    "25006", // read_only_sql_transaction: a standby not yet promoted
    "57014", // query_canceled
];

/// Text that Postgres refuses, as a bind (a look-up by such a name is the caller's mistake) or inside JSON.
const UNKEEPABLE: [&str; 2] = ["22021", "22P05"];

/// Maps any driver error. Use as `.map_err(database)`.
pub fn database(error: sqlx::Error) -> StoreError {
    if let Some(problem) = violated(&error).and_then(problem_of) {
        return problem.into();
    }
    if code(&error).is_some_and(|code| UNKEEPABLE.contains(&code.as_str())) {
        let detail = "The text contains a character that cannot be kept (NUL). Nothing was changed.";
        return Problem::new(ProblemCode::InvalidInput, detail).into();
    }
    StoreError::Database { transient: is_transient(&error), message: message(&error) }
}

/// The driver's own words for it name the pool, of which nobody outside has heard.
fn message(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::PoolTimedOut => {
            "it does not answer, or all connections to it are busy (none was free in time)".to_owned()
        }
        other => other.to_string(),
    }
}

/// The name of the constraint that was violated.
pub fn violated(error: &sqlx::Error) -> Option<&str> {
    error.as_database_error().and_then(|e| e.constraint())
}

/// The SQLSTATE.
pub fn code(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|e| e.code()).map(|code| code.into_owned())
}

pub fn is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed
        | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(_) => {
            code(error).is_some_and(|code| TRANSIENT.contains(&code.as_str()) || code.starts_with("08"))
        }
        _ => false,
    }
}

fn problem_of(constraint: &str) -> Option<Problem> {
    let exists = |field: &str, detail: &str| {
        Some(Problem::new(ProblemCode::AlreadyExists, detail).with_field(field, detail))
    };
    match constraint {
        "jobs_id_key" => exists("id", "A job with this id exists already. Nothing was changed."),
        DEDUPE => exists("dedupe_key", "An active job holds the same dedupe key. Nothing was changed."),
        "jobs_tenant_id_fkey" => Some(Problem::not_found("This tenant")),
        "jobs_definition_id_fkey" => Some(Problem::not_found("This definition")),
        _ => None,
    }
}
