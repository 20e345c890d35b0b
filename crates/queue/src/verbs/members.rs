//! Who may enter a tenant, and as what.

use super::{Failed, audit, users::insert_user};
use crate::{
    audit::NewAuditEntry,
    params::NewUser,
    people::{NO_PASSWORD, NewMember},
    ports::{
        invitations::InvitationRows,
        members::{MemberQueries, MemberRows, Place},
        tx::{Transactions, Tx},
        users::UserRows,
    },
    rules::{
        members::{already_member, check_admin_stays, local_part, no_such_member, steps_down},
        tenants::no_such_tenant,
    },
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{
    Role, TenantId, UserId,
    people::{AccountMade, Invitation, Member},
};

#[async_trait]
pub trait Members: Send + Sync {
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
    /// As [`Members::set_role`]; of somebody who has not joined the invitation is taken back. Audited.
    async fn remove_member(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        even_the_last: bool,
    ) -> StoreResult<()>;
}

#[async_trait]
impl<S: Transactions + MemberQueries> Members for S
where
    StoreError: From<Failed<S>>,
{
    async fn members(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Vec<Member>> {
        if !scope.reaches(tenant) {
            return Err(no_such_tenant().into());
        }
        let mut members = self.members_of(tenant).await?;
        members.sort_by(|a, b| a.user.email.cmp(&b.user.email));
        Ok(members)
    }

    async fn invite(&self, scope: &Scope, new: NewMember) -> StoreResult<Invitation> {
        let NewMember { tenant, email, role, link } = new;
        let mut tx = self.transaction().await?;
        lock_tenant(&mut tx, scope, tenant).await?;
        let invitation = match tx.lock_user_by_email(&email).await? {
            Some(row) => {
                if tx.member(tenant, row.user.id).await?.is_some() {
                    return Err(already_member().into());
                }
                let account = AccountMade { by: row.made_by, at: row.user.created_at };
                Invitation { user: row.user, account: Some(account) }
            }
            None => {
                let user = insert_user(&mut tx, invited(email), &scope.actor.to_string()).await?;
                Invitation { user, account: None }
            }
        };
        tx.put_invitation(tenant, invitation.user.id, role, &link).await?;
        let entry = NewAuditEntry::new(Some(tenant), "member.invite", "user", &invitation.user.email);
        audit(&mut tx, scope, &[entry.because(format!("as {}", role.as_str()))]).await?;
        tx.commit().await?;
        Ok(invitation)
    }

    async fn set_role(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        role: Role,
        even_the_last: bool,
    ) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        lock_tenant(&mut tx, scope, tenant).await?;
        change(&mut tx, scope, (tenant, user), Some(role), even_the_last).await?;
        tx.commit().await
    }

    async fn remove_member(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        even_the_last: bool,
    ) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        lock_tenant(&mut tx, scope, tenant).await?;
        change(&mut tx, scope, (tenant, user), None, even_the_last).await?;
        tx.commit().await
    }
}

/// Somebody who chooses name and password when they follow the link.
fn invited(email: String) -> NewUser {
    NewUser {
        name: local_part(&email).to_owned(),
        email,
        password_hash: NO_PASSWORD.to_owned(),
        super_admin: false,
        membership: None,
    }
}

/// Changes of one tenant's members come one after the other, so that two last admins cannot both leave.
async fn lock_tenant<T: Tx>(tx: &mut T, scope: &Scope, tenant: TenantId) -> StoreResult<()>
where
    StoreError: From<T::Error>,
{
    if !scope.reaches(tenant) || !tx.lock_tenant(tenant).await? {
        return Err(no_such_tenant().into());
    }
    Ok(())
}

/// Another role, or none any more; of a member, or else of an invitation.
async fn change<T: Tx>(
    tx: &mut T,
    scope: &Scope,
    (tenant, user): (TenantId, UserId),
    role: Option<Role>,
    even_the_last: bool,
) -> StoreResult<()>
where
    StoreError: From<T::Error>,
{
    let joined = tx.member(tenant, user).await?;
    let is_member = joined.is_some();
    let place = match joined {
        Some(member) => {
            let another = !steps_down(member.role, role) || tx.has_other_admin(tenant, user).await?;
            check_admin_stays(member.role, role, another, even_the_last)?;
            member
        }
        None => tx.lock_invitation(tenant, user).await?.ok_or_else(no_such_member)?,
    };
    match (is_member, role) {
        (true, Some(role)) => tx.set_member_role(tenant, user, role).await?,
        (true, None) => tx.delete_member(tenant, user).await?,
        (false, Some(role)) => tx.set_invitation_role(tenant, user, role).await?,
        (false, None) => tx.delete_invitation(tenant, user).await?,
    }
    audit(tx, scope, &[changed(tenant, &place, is_member, role)]).await?;
    Ok(())
}

fn changed(tenant: TenantId, place: &Place, is_member: bool, role: Option<Role>) -> NewAuditEntry {
    let before = place.role.as_str();
    let (action, reason) = match (is_member, role.map(|role| role.as_str())) {
        (true, Some(role)) => ("member.role", format!("{before} → {role}")),
        (true, None) => ("member.remove", format!("was {before}")),
        (false, Some(role)) => ("member.role", format!("{before} → {role}, invited")),
        (false, None) => ("member.remove", format!("was invited as {before}")),
    };
    NewAuditEntry::new(Some(tenant), action, "user", &place.email).because(reason)
}
