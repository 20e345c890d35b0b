//! The links with which somebody joins a tenant or chooses a password.
//!
//! Rows are locked in one order, tenant, user, link, so that nobody waits for somebody who waits for them. Whose link
//! it is has to be read first, without a lock; taking it then says whether it is still there.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    people::{EndSessions, PasswordLink},
    ports::{
        invitations::{InvitationRow, InvitationRows},
        password_links::PasswordLinkRows,
        sessions::SessionRows,
        tx::{Transactions, Tx},
        users::{UserRow, UserRows},
    },
    rules::{
        members::already_member,
        users::{link_invalid, no_such_invitation, no_such_user},
    },
    scope::{Actor, Permission, Reach, Scope},
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{TenantId, UserId, view::User};

#[async_trait]
pub trait PasswordLinks: Send + Sync {
    /// A new link for this user; earlier ones stop working. A scope confined to a tenant renews its invitation, and
    /// `NOT_FOUND` when there is none; a scope that reaches all makes a link to choose a password with. Audited.
    async fn offer_password_link(&self, scope: &Scope, user: UserId, link: PasswordLink)
    -> StoreResult<User>;
    /// The user becomes a member by the invitation they were given, which is used up. `SETUP_LINK_INVALID`, also for
    /// somebody else's. Audited.
    async fn join(&self, scope: &Scope, user: UserId, token_hash: &str) -> StoreResult<TenantId>;
    /// The password is set, the link used up, every session of the user ended. With an invitation only for somebody who
    /// has no password yet, and they join by it. `SETUP_LINK_INVALID`. Audited.
    async fn choose_password(
        &self,
        token_hash: &str,
        name: Option<&str>,
        password_hash: &str,
        origin: Option<String>,
    ) -> StoreResult<User>;
}

#[async_trait]
impl<S: Transactions> PasswordLinks for S
where
    StoreError: From<Failed<S>>,
{
    async fn offer_password_link(
        &self,
        scope: &Scope,
        user: UserId,
        link: PasswordLink,
    ) -> StoreResult<User> {
        let mut tx = self.transaction().await?;
        let found = tx.lock_user(user).await?;
        if let Some(tenant) = scope.tenant()
            && !tx.renew_invitation(tenant, user, &link).await?
        {
            return Err(no_such_invitation().into());
        }
        let row = found.filter(UserRow::is_enabled).ok_or_else(no_such_user)?;
        let action = match scope.tenant() {
            Some(_) => "member.invite",
            None => {
                // Only the newest link of a user works.
                tx.delete_password_links(user).await?;
                tx.insert_password_link(user, &link).await?;
                "user.password_link"
            }
        };
        let entry = NewAuditEntry::new(scope.tenant(), action, "user", &row.user.email);
        audit(&mut tx, scope, &[entry]).await?;
        tx.commit().await?;
        Ok(row.user)
    }

    async fn join(&self, scope: &Scope, user: UserId, token_hash: &str) -> StoreResult<TenantId> {
        let mut tx = self.transaction().await?;
        let (row, invitation) = use_invitation(&mut tx, token_hash).await?.ok_or_else(link_invalid)?;
        if row.user.id != user || !row.has_password() {
            return Err(link_invalid().into());
        }
        become_member(&mut tx, scope, &row.user, &invitation).await?;
        tx.commit().await?;
        Ok(invitation.tenant)
    }

    async fn choose_password(
        &self,
        token_hash: &str,
        name: Option<&str>,
        password_hash: &str,
        origin: Option<String>,
    ) -> StoreResult<User> {
        let mut tx = self.transaction().await?;
        let (row, invitation) = use_link(&mut tx, token_hash).await?;
        let changed = tx.update_user(row.user.id, name, Some(password_hash)).await?;
        let user = changed.ok_or_else(link_invalid)?.user;
        tx.delete_password_links(user.id).await?;
        tx.delete_sessions(user.id, &EndSessions::All).await?;
        let actor = Actor::User { id: user.id, email: user.email.clone() };
        let themselves = Scope::new(Reach::All, actor, Permission::View).coming_from(origin);
        let entry = NewAuditEntry::new(None, "user.password", "user", &user.email).because("by a link");
        audit(&mut tx, &themselves, &[entry]).await?;
        if let Some(invitation) = invitation {
            become_member(&mut tx, &themselves, &user, &invitation).await?;
        }
        tx.commit().await?;
        Ok(user)
    }
}

/// Uses up a link that lets its user choose a password: a password link, or the invitation of somebody who has none.
async fn use_link<T: Tx>(tx: &mut T, token_hash: &str) -> StoreResult<(UserRow, Option<InvitationRow>)>
where
    StoreError: From<T::Error>,
{
    let Some(user) = tx.password_link_user(token_hash).await? else {
        let taken = use_invitation(tx, token_hash).await?;
        // An invitation lets somebody choose a password who has none, and nobody else.
        let (row, invitation) = taken.filter(|(row, _)| !row.has_password()).ok_or_else(link_invalid)?;
        return Ok((row, Some(invitation)));
    };
    let row = tx.lock_user(user).await?.filter(UserRow::is_enabled).ok_or_else(link_invalid)?;
    let expires_at = tx.take_password_link(token_hash).await?;
    expires_at.filter(|expiry| *expiry > tx.now()).ok_or_else(link_invalid)?;
    Ok((row, None))
}

/// Uses up an invitation: whose it is, and where it leads. None when it has expired or its user is disabled.
async fn use_invitation<T: Tx>(tx: &mut T, token_hash: &str) -> StoreResult<Option<(UserRow, InvitationRow)>>
where
    StoreError: From<T::Error>,
{
    let Some(InvitationRow { tenant, user, .. }) = tx.invitation(token_hash).await? else { return Ok(None) };
    tx.lock_tenant(tenant).await?;
    let row = tx.lock_user(user).await?.filter(UserRow::is_enabled);
    let taken = tx.take_invitation(token_hash).await?;
    let now = tx.now();
    Ok(row.zip(taken.filter(|invitation| invitation.expires_at > now)))
}

async fn become_member<T: Tx>(
    tx: &mut T,
    scope: &Scope,
    user: &User,
    invitation: &InvitationRow,
) -> StoreResult<()>
where
    StoreError: From<T::Error>,
{
    let InvitationRow { tenant, role, .. } = *invitation;
    if !tx.insert_member(tenant, user.id, role).await? {
        return Err(already_member().into());
    }
    let reason = format!("as {}, by an invitation", role.as_str());
    let entry = NewAuditEntry::new(Some(tenant), "member.join", "user", &user.email).because(reason);
    audit(tx, scope, &[entry]).await?;
    Ok(())
}
