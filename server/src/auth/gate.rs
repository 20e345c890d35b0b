//! Signing in and setting up, as the dashboard's [`Gate`].

use super::{new_secrets, once, password, session_store, setup};
use crate::secret;
use async_trait::async_trait;
use leasehold_app::ssr::{ChosenPassword, Gate, Invited, PasswordChange, SetupForm, SignInAttempt};
use leasehold_queue::{
    Engine, Scope,
    engine::{KeyRequest, SetupRequest, TriedFrom, checked_text, normalise_email},
    passwords,
    people::NO_PASSWORD,
};
use leasehold_types::{
    Problem, ProblemCode, Role, TenantId, UserId,
    people::{Invitation, LinkOwner},
    view::{ApiKey, Tenant, User},
};
use std::sync::Arc;
use tower_sessions::session::Id;

pub struct PasswordGate {
    engine: Arc<Engine>,
}

impl PasswordGate {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// What others know of somebody, which is no password: their address, and where they are.
    async fn known_of(&self, user: &User) -> Result<Vec<String>, Problem> {
        let places = self.engine.memberships(user.id).await?;
        let names = places.into_iter().map(|place| place.tenant.name);
        Ok([user.email.clone()].into_iter().chain(names).collect())
    }
}

#[async_trait]
impl Gate for PasswordGate {
    async fn sign_in(&self, attempt: SignInAttempt<'_>) -> Result<User, Problem> {
        // An address nobody can have is treated like an account nobody has.
        let email = normalise_email(attempt.email).unwrap_or_default();
        let from = TriedFrom::Browser { address: attempt.address, device: attempt.device };
        let knock = self.engine.knock(&email, from).await?;
        // Invited, but no password chosen: like nobody.
        let known = self.engine.credentials(&email).await?;
        let known = known.filter(|(_, hash)| hash != NO_PASSWORD);
        let (user, hash) = known.map_or((None, None), |(user, hash)| (Some(user), Some(hash)));
        let right = match password::verify(attempt.password, hash).await {
            Ok(right) => right,
            Err(unchecked) => {
                self.engine.forgive(&knock).await?;
                return Err(unchecked);
            }
        };
        if !right {
            self.engine.failed_sign_in(&knock, user.as_ref());
        }
        let Some(user) = user.filter(|_| right) else {
            return Err(Problem::new(ProblemCode::WrongCredentials, "E-mail or password is wrong."));
        };
        self.engine.passed(&knock).await?;
        Ok(user)
    }

    async fn check_setup_token(&self, token: &str) -> Result<(), Problem> {
        setup::check(&self.engine, token).await
    }

    async fn set_up(&self, form: SetupForm) -> Result<(User, Option<Tenant>), Problem> {
        // First the cheap refusals: nobody without a valid link makes us hash.
        setup::check(&self.engine, &form.token).await?;
        let about = [form.email.as_str(), &form.tenant_name];
        let password_hash = password::hash(&form.password, &about).await?;
        let request = SetupRequest {
            token_hash: secret::sha256_hex(&form.token),
            email: form.email,
            name: form.name,
            password_hash,
            tenant_name: form.tenant_name,
            origin: form.origin,
        };
        self.engine.set_up(request).await
    }

    async fn make_key(&self, scope: &Scope, request: KeyRequest) -> Result<(ApiKey, String), Problem> {
        new_secrets::key(&self.engine, scope, request).await
    }

    async fn invite(
        &self,
        scope: &Scope,
        tenant: TenantId,
        email: &str,
        role: Role,
    ) -> Result<Invited, Problem> {
        let (link, path) = new_secrets::link(&self.engine)?;
        let Invitation { user, account } = self.engine.invite(scope, tenant, email, role, link).await?;
        Ok(Invited { user, path, account })
    }

    async fn password_link(&self, scope: &Scope, user: UserId) -> Result<Invited, Problem> {
        let (link, path) = new_secrets::link(&self.engine)?;
        let user = self.engine.offer_password_link(scope, user, link).await?;
        Ok(Invited { user, path, account: None })
    }

    async fn link_owner(&self, token: &str) -> Result<LinkOwner, Problem> {
        let found = self.engine.link_owner(&secret::sha256_hex(token)).await?;
        found.ok_or_else(|| {
            let detail = "This link was used, has expired or was replaced by a newer one. Ask for a new one.";
            Problem::new(ProblemCode::SetupLinkInvalid, detail)
        })
    }

    async fn join(&self, scope: &Scope, user: UserId, token: &str) -> Result<Tenant, Problem> {
        let tenant = self.engine.join(scope, user, &secret::sha256_hex(token)).await?;
        let found = self.engine.store().tenant(scope, tenant).await?;
        found.ok_or_else(|| Problem::not_found("This tenant"))
    }

    async fn choose_password(&self, form: ChosenPassword, origin: Option<String>) -> Result<User, Problem> {
        // First the cheap refusals: nobody without a valid link makes us hash.
        let owner = self.link_owner(&form.token).await?;
        let name = form.name.as_deref().map(|name| checked_text("name", name)).transpose()?;
        let mut about = self.known_of(&owner.user).await?;
        about.extend(owner.joins.map(|joining| joining.tenant_name));
        let about: Vec<_> = about.iter().map(String::as_str).collect();
        let password_hash = password::hash(&form.password, &about).await?;
        let token_hash = secret::sha256_hex(&form.token);
        self.engine.choose_password(&token_hash, name.as_deref(), &password_hash, origin).await
    }

    async fn change_password(&self, change: PasswordChange<'_>) -> Result<(), Problem> {
        let PasswordChange { scope, user, session, old, new } = change;
        let about = self.known_of(user).await?;
        let as_new = |problem: Problem| Problem::invalid("new_password", problem.detail);
        passwords::check(new, about.iter().map(String::as_str)).map_err(as_new)?;
        // A browser left open must not become a place to guess at.
        let session = session_store::id_hash(session);
        let knock = self.engine.knock(&user.email, TriedFrom::Session(&session)).await?;
        let stored = self.engine.credentials(&user.email).await?.map(|(_, hash)| hash);
        if !password::verify(old, stored.filter(|hash| hash != NO_PASSWORD)).await? {
            return Err(Problem::invalid("old_password", "This is not your password. Nothing was changed."));
        }
        self.engine.passed(&knock).await?;
        let hash = password::hash(new, &[]).await?;
        self.engine.change_password(scope, user.id, &hash, &session).await
    }

    fn session_hash(&self, session: &Id) -> String {
        session_store::id_hash(session)
    }

    fn seal(&self, text: &str) -> Result<(String, String), Problem> {
        once::seal(text)
    }

    fn unseal(&self, key: &str, sealed: &str) -> Option<String> {
        once::unseal(key, sealed)
    }
}
