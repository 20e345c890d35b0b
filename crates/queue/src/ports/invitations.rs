//! The rows of invitations into a tenant: at most one per tenant and user.

use super::{members::Place, tx::Statements};
use crate::people::PasswordLink;
use async_trait::async_trait;
use leasehold_types::{Role, TenantId, Timestamp, UserId};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvitationRow {
    pub tenant: TenantId,
    pub user: UserId,
    pub role: Role,
    pub expires_at: Timestamp,
}

#[async_trait]
pub trait InvitationRows: Statements {
    /// Inserts, or replaces the one there is.
    async fn put_invitation(
        &mut self,
        tenant: TenantId,
        user: UserId,
        role: Role,
        link: &PasswordLink,
    ) -> Result<(), Self::Error>;
    /// Another link for the same invitation; false when there is none.
    async fn renew_invitation(
        &mut self,
        tenant: TenantId,
        user: UserId,
        link: &PasswordLink,
    ) -> Result<bool, Self::Error>;
    async fn lock_invitation(&mut self, tenant: TenantId, user: UserId)
    -> Result<Option<Place>, Self::Error>;
    async fn set_invitation_role(
        &mut self,
        tenant: TenantId,
        user: UserId,
        role: Role,
    ) -> Result<(), Self::Error>;
    async fn delete_invitation(&mut self, tenant: TenantId, user: UserId) -> Result<(), Self::Error>;
    /// Reads it, without a lock.
    async fn invitation(&mut self, token_hash: &str) -> Result<Option<InvitationRow>, Self::Error>;
    /// Removes it; none when somebody else has done so.
    async fn take_invitation(&mut self, token_hash: &str) -> Result<Option<InvitationRow>, Self::Error>;
}
