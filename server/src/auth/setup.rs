//! The one-time setup link. While nobody can sign in, the server prints a link that makes the first
//! super-admin; only the hash of its token is stored, and making that admin uses it up.

use crate::secret;
use leasehold_queue::Engine;
use leasehold_types::{Problem, ProblemCode};
use std::time::Duration;

/// A fresh token when there is no user yet. An earlier link stops working.
pub async fn offer(engine: &Engine, valid_for: Duration) -> Result<Option<String>, Problem> {
    if engine.has_users().await? {
        return Ok(None);
    }
    let token = secret::random_token()?;
    let expires_at = engine.now().plus(valid_for);
    engine.offer_setup(&secret::sha256_hex(&token), expires_at).await?;
    Ok(Some(token))
}

/// Says kindly what is wrong with a link. Whether it may be used is decided again, together with using it up.
pub async fn check(engine: &Engine, token: &str) -> Result<(), Problem> {
    if engine.has_users().await? {
        return Err(invalid("Leasehold is already set up. Please sign in instead."));
    }
    let stored = engine.setup_offered().await?;
    // Hashes of 256 random bits: comparing them byte by byte tells an attacker nothing.
    let Some((_, expires_at)) = stored.filter(|(hash, _)| *hash == secret::sha256_hex(token)) else {
        return Err(invalid(
            "This is not the newest setup link. The server prints a new one each time it starts; use the last.",
        ));
    };
    if expires_at.is_some_and(|at| at <= engine.now()) {
        return Err(invalid("This setup link has expired. Start the server again to get a new one."));
    }
    Ok(())
}

fn invalid(detail: &str) -> Problem {
    Problem::new(ProblemCode::SetupLinkInvalid, detail)
}
