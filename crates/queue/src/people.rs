//! The people's part of the storage seam: accounts, members, the links with which somebody chooses a password, and
//! the browsers they are signed in with. Whoever may do less from now on does less at once: every request makes its
//! scope anew from these rows.

use crate::{params::SessionRow, scope::Scope, store::StoreResult};
use async_trait::async_trait;
use leasehold_types::{
    Role, TenantId, Timestamp, UserId,
    people::{Account, Invitation, LinkOwner, Member},
    view::User,
};

/// Stands where a password's hash would: nobody's password fits it.
pub const NO_PASSWORD: &str = "!";

/// A one-time link with which a password is chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PasswordLink {
    /// SHA-256 of its token.
    pub token_hash: String,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct NewMember {
    pub tenant: TenantId,
    /// Lower-cased by the engine.
    pub email: String,
    pub role: Role,
    /// Followed to join.
    pub link: PasswordLink,
}

/// What others than themselves may know of somebody who has not joined: what they were invited by.
pub fn local_part(email: &str) -> &str {
    email.split('@').next().unwrap_or_default()
}

#[async_trait]
pub trait People: Send + Sync + 'static {
    /// Everybody with an account, by e-mail.
    async fn accounts(&self) -> StoreResult<Vec<Account>>;
    /// By e-mail. `NOT_FOUND` for a tenant outside the scope.
    async fn members(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Vec<Member>>;
    /// Asks somebody into a tenant, with an account made for them if there is none. They join by the link, whoever asks:
    /// whoever invited an address first may have chosen its account's password, so neither the address nor the account
    /// lets anybody in. Only the newest link into a tenant works. `ALREADY_EXISTS` for a member. Audited.
    async fn invite(&self, scope: &Scope, member: NewMember) -> StoreResult<Invitation>;
    /// `NOT_FOUND` when no member; `CONFIRMATION_REQUIRED` for the last admin, unless `even_the_last`. Audited.
    async fn set_role(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        role: Role,
        even_the_last: bool,
    ) -> StoreResult<()>;
    /// As [`People::set_role`]; of somebody who has not joined the invitation is taken back. Audited.
    async fn remove_member(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        even_the_last: bool,
    ) -> StoreResult<()>;
    /// Disabled: cannot sign in, and every session and link ends. `FORBIDDEN` for the last super-admin. Audited.
    async fn set_disabled(&self, scope: &Scope, user: UserId, disabled: bool) -> StoreResult<()>;
    /// A new link for this user; earlier ones stop working. A scope confined to a tenant renews its invitation, and
    /// `NOT_FOUND` when there is none; a scope that reaches all makes a link to choose a password with. Audited.
    async fn offer_password_link(&self, scope: &Scope, user: UserId, link: PasswordLink)
    -> StoreResult<User>;
    /// The user becomes a member by the invitation they were given, which is used up. `SETUP_LINK_INVALID`, also for
    /// somebody else's. Audited.
    async fn join(&self, scope: &Scope, user: UserId, token_hash: &str) -> StoreResult<TenantId>;
    /// None when it was used, has expired, or its user is disabled.
    async fn link_owner(&self, token_hash: &str) -> StoreResult<Option<LinkOwner>>;
    /// The password is set, the link used up, every session of the user ended. With an invitation only for somebody who
    /// has no password yet, and they join by it. `SETUP_LINK_INVALID`. Audited.
    async fn choose_password(
        &self,
        token_hash: &str,
        name: Option<&str>,
        password_hash: &str,
        origin: Option<String>,
    ) -> StoreResult<User>;
    /// One's own; all sessions but the one to keep end. Audited.
    async fn change_password(
        &self,
        scope: &Scope,
        user: UserId,
        password_hash: &str,
        keep_session: &str,
    ) -> StoreResult<()>;
    async fn rename_user(&self, scope: &Scope, user: UserId, name: &str) -> StoreResult<()>;
    /// Those that have not expired, with the moment each began; newest first.
    async fn sessions_of(&self, user: UserId) -> StoreResult<Vec<(SessionRow, Timestamp)>>;
    /// Replaces what a session holds, unless it has ended: then nothing is written, and the answer is false.
    async fn update_session(&self, session: SessionRow) -> StoreResult<bool>;
    /// Ends one session of this user, or all but one; how many ended. Audited.
    async fn end_sessions(&self, scope: &Scope, user: UserId, which: EndSessions) -> StoreResult<u64>;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EndSessions {
    Only(String),
    AllBut(String),
}
