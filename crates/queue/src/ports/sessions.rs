//! The rows of browser sessions, by the hash of the cookie's id.

use super::tx::Statements;
use crate::{params::SessionRow, people::EndSessions, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{Timestamp, UserId};

#[async_trait]
pub trait SessionRows: Statements {
    /// How many there were.
    async fn delete_sessions(&mut self, user: UserId, which: &EndSessions) -> Result<u64, Self::Error>;
}

/// What is one statement and decides nothing.
#[async_trait]
pub trait SessionQueries: Send + Sync {
    /// Inserts or replaces.
    async fn save_session(&self, session: SessionRow) -> StoreResult<()>;
    /// Replaces what a session holds, unless it has ended: then nothing is written, and the answer is false.
    async fn update_session(&self, session: SessionRow) -> StoreResult<bool>;
    /// None when it does not exist or has expired.
    async fn session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>>;
    /// Those that have not expired, with the moment each began; newest first.
    async fn sessions_of(&self, user: UserId) -> StoreResult<Vec<(SessionRow, Timestamp)>>;
    async fn delete_session(&self, id_hash: &str) -> StoreResult<()>;
    /// How many expired ones were removed.
    async fn prune_sessions(&self) -> StoreResult<u64>;
}
