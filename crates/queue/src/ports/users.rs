//! The rows of users.

use super::tx::Statements;
use crate::{people::NO_PASSWORD, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{
    Timestamp, UserId,
    people::{Account, Joining, LinkOwner},
    view::{Membership, User},
};

/// A user with what is kept of them and never shown.
#[derive(Clone, PartialEq, Debug)]
pub struct UserRow {
    pub user: User,
    pub password_hash: String,
    /// Who made the account.
    pub made_by: Option<String>,
    pub disabled_at: Option<Timestamp>,
}

impl UserRow {
    pub fn has_password(&self) -> bool {
        self.password_hash != NO_PASSWORD
    }

    pub fn is_enabled(&self) -> bool {
        self.disabled_at.is_none()
    }

    /// As an administrator sees it, with the slugs of their tenants.
    pub fn account(self, tenants: Vec<String>) -> Account {
        let invited = !self.has_password();
        let Self { user, made_by, disabled_at, .. } = self;
        Account { user, invited, disabled_at, tenants, made_by }
    }

    /// As the owner of a link, and of the place it leads to.
    pub fn link_owner(self, joins: Option<Joining>) -> LinkOwner {
        let invited = !self.has_password();
        let Self { user, made_by, .. } = self;
        LinkOwner { user, invited, joins, made_by }
    }
}

#[async_trait]
pub trait UserRows: Statements {
    async fn has_users(&mut self) -> Result<bool, Self::Error>;
    /// False when the e-mail is taken.
    async fn insert_user(&mut self, row: &UserRow) -> Result<bool, Self::Error>;
    async fn lock_user(&mut self, id: UserId) -> Result<Option<UserRow>, Self::Error>;
    async fn lock_user_by_email(&mut self, email: &str) -> Result<Option<UserRow>, Self::Error>;
    /// Those who are not disabled.
    async fn lock_super_admins(&mut self) -> Result<Vec<UserId>, Self::Error>;
    /// What is none stays as it is. As it is now; none when there is none.
    async fn update_user(
        &mut self,
        id: UserId,
        name: Option<&str>,
        password_hash: Option<&str>,
    ) -> Result<Option<UserRow>, Self::Error>;
    async fn set_disabled_at(&mut self, id: UserId, at: Option<Timestamp>) -> Result<(), Self::Error>;
}

#[async_trait]
pub trait UserQueries: Send + Sync {
    async fn has_users(&self) -> StoreResult<bool>;
    /// The user with that (lower-cased) e-mail and the stored password hash; none when disabled.
    async fn credentials(&self, email: &str) -> StoreResult<Option<(User, String)>>;
    /// None when disabled: then nothing they hold opens anything.
    async fn user(&self, id: UserId) -> StoreResult<Option<User>>;
    /// By tenant name.
    async fn memberships(&self, user: UserId) -> StoreResult<Vec<Membership>>;
    /// Everybody with an account, by e-mail.
    async fn accounts(&self) -> StoreResult<Vec<Account>>;
}
