//! The rows of memberships.

use super::tx::Statements;
use crate::store::StoreResult;
use async_trait::async_trait;
use leasehold_types::{Role, TenantId, UserId, people::Member};

/// What somebody is in a tenant, or is invited to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub email: String,
    pub role: Role,
}

#[async_trait]
pub trait MemberRows: Statements {
    async fn member(&mut self, tenant: TenantId, user: UserId) -> Result<Option<Place>, Self::Error>;
    /// Whether anybody else who is not disabled is an admin of the tenant.
    async fn has_other_admin(&mut self, tenant: TenantId, than: UserId) -> Result<bool, Self::Error>;
    /// False when they are a member already.
    async fn insert_member(
        &mut self,
        tenant: TenantId,
        user: UserId,
        role: Role,
    ) -> Result<bool, Self::Error>;
    async fn set_member_role(
        &mut self,
        tenant: TenantId,
        user: UserId,
        role: Role,
    ) -> Result<(), Self::Error>;
    async fn delete_member(&mut self, tenant: TenantId, user: UserId) -> Result<(), Self::Error>;
}

#[async_trait]
pub trait MemberQueries: Send + Sync {
    /// The members of a tenant and those who were invited and have not joined yet, in any order.
    async fn members_of(&self, tenant: TenantId) -> StoreResult<Vec<Member>>;
}
