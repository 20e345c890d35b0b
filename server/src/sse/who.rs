//! Who reads a stream, and whether they still may.

use crate::auth::api_key;
use leasehold_app::ssr::{Visit, admit};
use leasehold_queue::{Actor, Engine, Scope, StoreError};
use leasehold_types::{ProblemCode, view::User};
use std::time::Duration;

/// How soon an open stream notices that its session, membership or key has ended: within five seconds.
const STILL_ALLOWED: Duration = Duration::from_secs(4);

pub enum Who {
    Session { visit: Visit, session: String },
    Key { scope: Scope },
}

impl Who {
    pub fn scope(&self) -> &Scope {
        match self {
            Self::Session { visit, .. } => &visit.scope,
            Self::Key { scope } => scope,
        }
    }

    /// Whose places are counted together.
    pub fn holder(&self) -> String {
        match self {
            Self::Session { session, .. } => session.clone(),
            Self::Key { scope } => scope.actor.to_string(),
        }
    }

    /// Returns when the right to read has ended.
    pub async fn until_refused(&self, engine: &Engine) {
        loop {
            tokio::time::sleep(STILL_ALLOWED).await;
            match self.is_allowed(engine).await {
                Ok(true) => {}
                Ok(false) => return,
                // No reason to end the stream: nothing new comes out of such a database anyway.
                Err(error) => tracing::debug!(%error, "a live stream could not be checked"),
            }
        }
    }

    /// The session must still be there and its user still be let in; a key must still open the door.
    async fn is_allowed(&self, engine: &Engine) -> Result<bool, StoreError> {
        match self {
            Self::Session { visit, session } => {
                let Some(user) = signed_in_user(engine, visit, session).await? else { return Ok(false) };
                let answer = admit(engine, user, &visit.tenant.slug).await;
                Ok(!answer.is_err_and(|problem| problem.code == ProblemCode::NotFound))
            }
            Self::Key { scope } => match &scope.actor {
                Actor::Key { prefix, .. } => api_key::still_opens(engine, prefix).await,
                _ => Ok(false),
            },
        }
    }
}

async fn signed_in_user(engine: &Engine, visit: &Visit, session: &str) -> Result<Option<User>, StoreError> {
    let session = engine.store().session(session).await?;
    match session.and_then(|row| row.user_id).filter(|id| *id == visit.user.id) {
        Some(id) => engine.store().user(id).await,
        None => Ok(None),
    }
}
