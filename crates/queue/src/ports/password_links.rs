//! The rows of one-time links with which a password is chosen.

use super::tx::Statements;
use crate::{people::PasswordLink, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{Timestamp, UserId, people::LinkOwner};

#[async_trait]
pub trait PasswordLinkRows: Statements {
    async fn insert_password_link(&mut self, user: UserId, link: &PasswordLink) -> Result<(), Self::Error>;
    /// All of a user.
    async fn delete_password_links(&mut self, user: UserId) -> Result<(), Self::Error>;
    /// Whose it is, without a lock.
    async fn password_link_user(&mut self, token_hash: &str) -> Result<Option<UserId>, Self::Error>;
    /// Removes it: when it expires. None when somebody else has done so.
    async fn take_password_link(&mut self, token_hash: &str) -> Result<Option<Timestamp>, Self::Error>;
}

#[async_trait]
pub trait PasswordLinkQueries: Send + Sync {
    /// Of a password link or an invitation; none when it was used, has expired, or its user is disabled.
    async fn link_owner(&self, token_hash: &str) -> StoreResult<Option<LinkOwner>>;
}
