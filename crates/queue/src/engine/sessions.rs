//! Sessions, links and first accounts: what the server writes for somebody who proves who they are. There is no scope
//! yet to check; what they show (a session's id, a link's token, a password) is their right.

use super::Engine;
use crate::{
    params::SessionRow, ports::settings::Setting, rules::users::SETUP_TOKEN, scope::Scope, store::StoreResult,
};
use leasehold_types::{
    KeyId, Problem, TenantId, Timestamp, UserId,
    people::LinkOwner,
    view::{Membership, User},
};

impl Engine {
    /// None when it does not exist or has expired.
    pub async fn session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>> {
        self.store.session(id_hash).await
    }

    /// Inserts or replaces.
    pub async fn save_session(&self, session: SessionRow) -> StoreResult<()> {
        self.store.save_session(session).await
    }

    /// False when it has ended: then nothing is written.
    pub async fn update_session(&self, session: SessionRow) -> StoreResult<bool> {
        self.store.update_session(session).await
    }

    pub async fn delete_session(&self, id_hash: &str) -> StoreResult<()> {
        self.store.delete_session(id_hash).await
    }

    /// None when disabled: then nothing they hold opens anything.
    pub async fn user(&self, id: UserId) -> Result<Option<User>, Problem> {
        Ok(self.store.user(id).await?)
    }

    pub async fn has_users(&self) -> Result<bool, Problem> {
        Ok(self.store.has_users().await?)
    }

    /// By tenant name.
    pub async fn memberships(&self, user: UserId) -> Result<Vec<Membership>, Problem> {
        Ok(self.store.memberships(user).await?)
    }

    /// The user with that e-mail and the stored hash of their password; none when disabled.
    pub async fn credentials(&self, email: &str) -> Result<Option<(User, String)>, Problem> {
        Ok(self.store.credentials(email).await?)
    }

    /// From now on only the link with this token makes the first admin.
    pub async fn offer_setup(&self, token_hash: &str, expires_at: Timestamp) -> Result<(), Problem> {
        Ok(self.store.put_setting(SETUP_TOKEN, token_hash, Some(expires_at)).await?)
    }

    /// The hash of the newest setup token, and until when it works.
    pub async fn setup_offered(&self) -> Result<Option<Setting>, Problem> {
        Ok(self.store.setting(SETUP_TOKEN).await?)
    }

    /// None when it was used, has expired, or its user is disabled.
    pub async fn link_owner(&self, token_hash: &str) -> Result<Option<LinkOwner>, Problem> {
        Ok(self.store.link_owner(token_hash).await?)
    }

    /// Somebody with an account follows an invitation; the tenant they have joined.
    pub async fn join(&self, scope: &Scope, user: UserId, token_hash: &str) -> Result<TenantId, Problem> {
        Ok(self.store.join(scope, user, token_hash).await?)
    }

    /// By a link, which is used up; every session of the user ends.
    pub async fn choose_password(
        &self,
        token_hash: &str,
        name: Option<&str>,
        password_hash: &str,
        origin: Option<String>,
    ) -> Result<User, Problem> {
        Ok(self.store.choose_password(token_hash, name, password_hash, origin).await?)
    }

    /// One's own; all sessions but this one end.
    pub async fn change_password(
        &self,
        scope: &Scope,
        user: UserId,
        password_hash: &str,
        keep_session: &str,
    ) -> Result<(), Problem> {
        Ok(self.store.change_password(scope, user, password_hash, keep_session).await?)
    }

    /// Noted about once a minute.
    pub async fn key_used(&self, key: KeyId) -> Result<(), Problem> {
        Ok(self.store.key_used(key).await?)
    }
}
