//! Accounts as they are made.

use super::{Failed, audit, tenants::insert_tenant};
use crate::{
    audit::NewAuditEntry,
    params::{NewTenant, NewUser},
    ports::{
        settings::SettingRows,
        tx::{Transactions, Tx},
        users::{UserRow, UserRows},
    },
    rules::{
        tenants::no_such_tenant,
        users::{SETUP_LINK, SETUP_TOKEN, check_setup_link, email_taken},
    },
    scope::{Actor, Permission, Reach, Scope},
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::{
    UserId,
    view::{Tenant, User},
};
use uuid::Uuid;

#[async_trait]
pub trait Users: Send + Sync {
    /// `ALREADY_EXISTS` when the e-mail is taken. The membership, if any, is written with it. Audited.
    async fn create_user(&self, scope: &Scope, user: NewUser) -> StoreResult<User>;
    /// The very first super-admin, and optionally a first tenant: only while there is no user at all and the
    /// hash of the setup token matches and has not expired; the token is used up. Else `SETUP_LINK_INVALID`. Audited.
    async fn create_first_admin(
        &self,
        token_hash: &str,
        user: NewUser,
        tenant: Option<NewTenant>,
        origin: Option<String>,
    ) -> StoreResult<(User, Option<Tenant>)>;
}

#[async_trait]
impl<S: Transactions> Users for S
where
    StoreError: From<Failed<S>>,
{
    async fn create_user(&self, scope: &Scope, new: NewUser) -> StoreResult<User> {
        let tenant = new.membership.map(|(tenant, _)| tenant);
        if tenant.is_some_and(|tenant| !scope.reaches(tenant)) {
            return Err(no_such_tenant().into());
        }
        let mut tx = self.transaction().await?;
        let user = insert_user(&mut tx, new, &scope.actor.to_string()).await?;
        audit(&mut tx, scope, &[NewAuditEntry::new(tenant, "user.create", "user", &user.email)]).await?;
        tx.commit().await?;
        Ok(user)
    }

    async fn create_first_admin(
        &self,
        token_hash: &str,
        new: NewUser,
        tenant: Option<NewTenant>,
        origin: Option<String>,
    ) -> StoreResult<(User, Option<Tenant>)> {
        let mut tx = self.transaction().await?;
        // Of two browsers with the same link only one finds the token.
        let kept = tx.take_setting(SETUP_TOKEN).await?;
        check_setup_link(kept, token_hash, tx.has_users().await?, tx.now())?;
        let user = insert_user(&mut tx, new, SETUP_LINK).await?;
        let tenant = match tenant {
            Some(tenant) => Some(insert_tenant(&mut tx, tenant).await?),
            None => None,
        };
        let actor = Actor::User { id: user.id, email: user.email.clone() };
        let themselves = Scope::new(Reach::All, actor, Permission::Govern).coming_from(origin);
        let made = NewAuditEntry::new(None, "user.create", "user", &user.email);
        let with =
            tenant.as_ref().map(|t| NewAuditEntry::new(Some(t.id), "tenant.create", "tenant", &t.slug));
        let entries: Vec<_> = [Some(made), with]
            .into_iter()
            .flatten()
            .map(|entry| entry.because("by the setup link"))
            .collect();
        audit(&mut tx, &themselves, &entries).await?;
        tx.commit().await?;
        Ok((user, tenant))
    }
}

/// For whoever makes an account inside a larger verb.
pub(super) async fn insert_user<T: Tx>(tx: &mut T, new: NewUser, by: &str) -> StoreResult<User>
where
    StoreError: From<T::Error>,
{
    let NewUser { email, name, password_hash, super_admin, membership } = new;
    if let Some((tenant, _)) = membership
        && !tx.lock_tenant(tenant).await?
    {
        return Err(no_such_tenant().into());
    }
    let user = User { id: UserId(Uuid::now_v7()), email, name, super_admin, created_at: tx.now() };
    let row = UserRow { user, password_hash, made_by: Some(by.to_owned()), disabled_at: None };
    if !tx.insert_user(&row).await? {
        return Err(email_taken().into());
    }
    if let Some((tenant, role)) = membership {
        tx.insert_member(tenant, row.user.id, role).await?;
    }
    Ok(row.user)
}
