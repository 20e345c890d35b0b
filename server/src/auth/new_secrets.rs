//! Keys and password links as they are made: here the secret exists, everywhere else only its hash.

use crate::secret;
use leasehold_queue::{Engine, Scope, engine::KeyRequest, people::PasswordLink};
use leasehold_types::{Problem, view::ApiKey};
use std::time::Duration;

/// How long an invitation or another link to choose a password works.
pub const LINK_VALID: Duration = Duration::from_secs(3 * 86_400);

/// The key and, this once, how to show it.
pub async fn key(engine: &Engine, scope: &Scope, request: KeyRequest) -> Result<(ApiKey, String), Problem> {
    let (prefix, hidden) = (secret::random_hex::<6>()?, secret::random_token()?);
    let key = engine.create_key(scope, request, prefix.clone(), secret::sha256_hex(&hidden)).await?;
    Ok((key, format!("lh_{prefix}_{hidden}")))
}

/// A link to keep, and the address to hand on.
pub fn link(engine: &Engine) -> Result<(PasswordLink, String), Problem> {
    let token = secret::random_token()?;
    let link =
        PasswordLink { token_hash: secret::sha256_hex(&token), expires_at: engine.now().plus(LINK_VALID) };
    Ok((link, format!("/invite?token={token}")))
}
