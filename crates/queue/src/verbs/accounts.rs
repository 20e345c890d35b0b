//! Accounts as they are changed, and the browsers they are signed in with.

use super::{Failed, audit};
use crate::{
    audit::NewAuditEntry,
    people::EndSessions,
    ports::{
        password_links::PasswordLinkRows,
        sessions::SessionRows,
        tx::{Transactions, Tx},
        users::UserRows,
    },
    rules::users::{check_super_admin_stays, no_such_user},
    scope::Scope,
    store::{StoreError, StoreResult},
};
use async_trait::async_trait;
use leasehold_types::UserId;

#[async_trait]
pub trait Accounts: Send + Sync {
    /// Disabled: cannot sign in, and every session and link ends. `FORBIDDEN` for the last super-admin. Audited.
    async fn set_disabled(&self, scope: &Scope, user: UserId, disabled: bool) -> StoreResult<()>;
    /// `NOT_FOUND`. Audited.
    async fn rename_user(&self, scope: &Scope, user: UserId, name: &str) -> StoreResult<()>;
    /// One's own; all sessions but the one to keep end. Audited.
    async fn change_password(
        &self,
        scope: &Scope,
        user: UserId,
        password_hash: &str,
        keep_session: &str,
    ) -> StoreResult<()>;
    /// Ends one session of this user, or all but one, or all; how many ended. Audited.
    async fn end_sessions(&self, scope: &Scope, user: UserId, which: EndSessions) -> StoreResult<u64>;
}

#[async_trait]
impl<S: Transactions> Accounts for S
where
    StoreError: From<Failed<S>>,
{
    async fn set_disabled(&self, scope: &Scope, user: UserId, disabled: bool) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        if disabled {
            // Locked, so that of two super-admins who disable each other at once one stays.
            check_super_admin_stays(&tx.lock_super_admins().await?, user)?;
        }
        let row = tx.lock_user(user).await?.ok_or_else(no_such_user)?;
        let since = disabled.then(|| row.disabled_at.unwrap_or(tx.now()));
        tx.set_disabled_at(user, since).await?;
        if disabled {
            tx.delete_password_links(user).await?;
            tx.delete_sessions(user, &EndSessions::All).await?;
        }
        let action = if disabled { "user.disable" } else { "user.enable" };
        audit(&mut tx, scope, &[NewAuditEntry::new(None, action, "user", &row.user.email)]).await?;
        tx.commit().await
    }

    async fn rename_user(&self, scope: &Scope, user: UserId, name: &str) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        let row = tx.update_user(user, Some(name), None).await?.ok_or_else(no_such_user)?;
        audit(&mut tx, scope, &[NewAuditEntry::new(None, "user.rename", "user", &row.user.email)]).await?;
        tx.commit().await
    }

    async fn change_password(
        &self,
        scope: &Scope,
        user: UserId,
        password_hash: &str,
        keep_session: &str,
    ) -> StoreResult<()> {
        let mut tx = self.transaction().await?;
        let row = tx.update_user(user, None, Some(password_hash)).await?.ok_or_else(no_such_user)?;
        tx.delete_sessions(user, &EndSessions::AllBut(keep_session.to_owned())).await?;
        // A link that lies about somewhere must not undo this.
        tx.delete_password_links(user).await?;
        audit(&mut tx, scope, &[NewAuditEntry::new(None, "user.password", "user", &row.user.email)]).await?;
        tx.commit().await
    }

    async fn end_sessions(&self, scope: &Scope, user: UserId, which: EndSessions) -> StoreResult<u64> {
        let mut tx = self.transaction().await?;
        let ended = tx.delete_sessions(user, &which).await?;
        if ended > 0 {
            let entry = NewAuditEntry::new(None, "session.end", "user", &scope.actor);
            audit(&mut tx, scope, &[entry]).await?;
        }
        tx.commit().await?;
        Ok(ended)
    }
}
