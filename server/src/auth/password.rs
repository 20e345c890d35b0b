//! Password hashing: argon2id, a few at a time, off the async threads.

use super::argon;
use crate::secret;
use leasehold_queue::passwords::{self, LONGEST};
use leasehold_types::{Problem, ProblemCode};
use std::sync::LazyLock;
use tokio::sync::Semaphore;

/// Each hash takes 19 MiB and a core; more at once would let sign-ins starve the rest of the server.
static SLOTS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(AT_WORK));
pub const AT_WORK: usize = 4;
/// Who comes when so many are waiting is better told at once to come back.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(AT_WORK + WAITING));
const WAITING: usize = 60;
/// By then the queue has gone by.
const COME_BACK_SECONDS: u32 = 3;

/// Verified when there is no such account, so that the answer takes as long as for one that exists.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bGVhc2Vob2xkLW5vYm9keQ$PEhvy/4I1B12FUiT6C4vBNbN0xWwX8lLk6EoUsV8Ivs";

/// For somebody of whom others know `about`: see [`passwords::check`].
pub async fn hash(password: &str, about: &[&str]) -> Result<String, Problem> {
    passwords::check(password, about.iter().copied())?;
    let password = password.to_owned();
    blocking(move || argon::hash(password.as_bytes(), &secret::random_bytes()?)).await
}

/// Whether the password fits the stored hash; without one it takes the same time and is wrong.
pub async fn verify(password: &str, stored: Option<String>) -> Result<bool, Problem> {
    let too_long = password.chars().nth(LONGEST).is_some();
    let password = if too_long { String::new() } else { password.to_owned() };
    blocking(move || {
        let exists = stored.is_some() && !too_long;
        let stored = stored.as_deref().unwrap_or(NOBODY);
        Ok(argon::fits(password.as_bytes(), stored)? && exists)
    })
    .await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let _place = PLACES.try_acquire().map_err(|_| crowded())?;
    let _slot = SLOTS.acquire().await.map_err(broken)?;
    tokio::task::spawn_blocking(work).await.map_err(broken)?
}

fn crowded() -> Problem {
    Problem::too_many_attempts(COME_BACK_SECONDS)
}

pub fn broken(error: impl std::fmt::Display) -> Problem {
    tracing::error!(%error, "a password cannot be hashed or checked");
    Problem::new(ProblemCode::Internal, "The password cannot be checked just now. The log has the details.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_right_password_fits() {
        let stored = hash("correct horse battery", &[]).await.unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert!(verify("correct horse battery", Some(stored.clone())).await.unwrap());
        assert!(!verify("correct horse batterz", Some(stored.clone())).await.unwrap());
        assert!(!verify(&"x".repeat(201), Some(stored)).await.unwrap());
    }

    #[tokio::test]
    async fn nobody_has_a_password() {
        assert!(!verify("anything at all", None).await.unwrap());
        assert!(!verify("", None).await.unwrap());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_crowd_is_told_to_come_back() {
        let crowd: Vec<_> = (0..200).map(|_| tokio::spawn(verify("anything at all", None))).collect();
        let (mut answered, mut sent_away) = (0, 0);
        for one in crowd {
            match one.await.unwrap() {
                Ok(false) => answered += 1,
                Err(problem) if problem.retry_after_seconds.is_some() => sent_away += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(answered >= AT_WORK + WAITING && sent_away > 0, "{answered} answered, {sent_away} sent away");
    }
}
