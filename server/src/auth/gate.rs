//! Signing in and setting up, as the dashboard's [`Gate`].

use super::{new_secrets, once, password, session_store, setup, throttle::Throttle};
use crate::secret;
use async_trait::async_trait;
use leasehold_app::ssr::{ChosenPassword, Gate, Invited, PasswordChange, SetupForm};
use leasehold_queue::{
    Engine, Scope,
    engine::{KeyRequest, SetupRequest, checked_text, normalise_email},
    people::NO_PASSWORD,
};
use leasehold_types::{
    Problem, ProblemCode, Role, TenantId, UserId,
    people::LinkOwner,
    view::{ApiKey, Tenant, User},
};
use std::{net::IpAddr, sync::Arc, time::Duration};
use tower_sessions::session::Id;

const WINDOW: Duration = Duration::from_secs(15 * 60);
const PER_ACCOUNT: u32 = 10;
/// An office behind one address has many people with typing errors.
const PER_ADDRESS: u32 = 50;

pub struct PasswordGate {
    engine: Arc<Engine>,
    accounts: Throttle,
    addresses: Throttle,
}

impl PasswordGate {
    pub fn new(engine: Arc<Engine>) -> Self {
        let accounts = Throttle::new(PER_ACCOUNT, WINDOW);
        Self { engine, accounts, addresses: Throttle::new(PER_ADDRESS, WINDOW) }
    }
}

#[async_trait]
impl Gate for PasswordGate {
    async fn sign_in(&self, email: &str, password: &str, from: Option<IpAddr>) -> Result<User, Problem> {
        // An address nobody can have is treated like an account nobody has.
        let email = normalise_email(email).ok();
        // Hashed, so that a key is small however long the input was.
        let account = secret::sha256_hex(email.as_deref().unwrap_or_default());
        let address = from.map(network);
        if let Some(address) = &address {
            self.addresses.begin(address).map_err(too_many)?;
        }
        self.accounts.begin(&account).map_err(too_many)?;
        let known = match &email {
            Some(email) => self.engine.store().credentials(email).await?,
            None => None,
        };
        // Invited, but no password chosen: like nobody.
        let known = known.filter(|(_, hash)| hash != NO_PASSWORD);
        let (user, hash) = known.map_or((None, None), |(user, hash)| (Some(user), Some(hash)));
        let right = match password::verify(password, hash).await {
            Ok(right) => right,
            Err(unchecked) => {
                // Nobody guessed anything: who was sent away in a crowd keeps their attempts.
                self.accounts.forgive(&account);
                address.iter().for_each(|address| self.addresses.forgive(address));
                return Err(unchecked);
            }
        };
        let Some(user) = user.filter(|_| right) else {
            tracing::info!(?from, "a sign-in failed");
            return Err(Problem::new(ProblemCode::WrongCredentials, "E-mail or password is wrong."));
        };
        self.accounts.clear(&account);
        if let Some(address) = &address {
            self.addresses.forgive(address);
        }
        Ok(user)
    }

    async fn check_setup_token(&self, token: &str) -> Result<(), Problem> {
        setup::check(&self.engine, token).await
    }

    async fn set_up(&self, form: SetupForm) -> Result<(User, Option<Tenant>), Problem> {
        // First the cheap refusals: nobody without a valid link makes us hash.
        setup::check(&self.engine, &form.token).await?;
        let password_hash = password::hash(&form.password).await?;
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
        let joined = self.engine.add_member(scope, tenant, email, role, link).await?;
        Ok(Invited { user: joined.user, link: joined.needs_link.then_some(path) })
    }

    async fn password_link(&self, scope: &Scope, user: UserId) -> Result<Invited, Problem> {
        let (link, path) = new_secrets::link(&self.engine)?;
        let user = self.engine.offer_password_link(scope, user, link).await?;
        Ok(Invited { user, link: Some(path) })
    }

    async fn link_owner(&self, token: &str) -> Result<LinkOwner, Problem> {
        let found = self.engine.store().link_owner(&secret::sha256_hex(token)).await?;
        found.ok_or_else(|| {
            let detail = "This link was used, has expired or was replaced by a newer one. Ask for a new one.";
            Problem::new(ProblemCode::SetupLinkInvalid, detail)
        })
    }

    async fn join(&self, scope: &Scope, user: UserId, token: &str) -> Result<Tenant, Problem> {
        let tenant = self.engine.store().join(scope, user, &secret::sha256_hex(token)).await?;
        let found = self.engine.store().tenant(scope, tenant).await?;
        found.ok_or_else(|| Problem::not_found("This tenant"))
    }

    async fn choose_password(&self, form: ChosenPassword, origin: Option<String>) -> Result<User, Problem> {
        // First the cheap refusals: nobody without a valid link makes us hash.
        self.link_owner(&form.token).await?;
        let name = form.name.as_deref().map(|name| checked_text("name", name)).transpose()?;
        let password_hash = password::hash(&form.password).await?;
        let token_hash = secret::sha256_hex(&form.token);
        let chosen =
            self.engine.store().choose_password(&token_hash, name.as_deref(), &password_hash, origin);
        Ok(chosen.await?)
    }

    async fn change_password(&self, change: PasswordChange<'_>) -> Result<(), Problem> {
        let PasswordChange { scope, user, session, old, new } = change;
        password::check(new).map_err(|problem| Problem::invalid("new_password", problem.detail))?;
        // A browser left open must not become a place to guess at.
        let account = secret::sha256_hex(&user.email);
        self.accounts.begin(&account).map_err(too_many)?;
        let stored = self.engine.store().credentials(&user.email).await?.map(|(_, hash)| hash);
        if !password::verify(old, stored.filter(|hash| hash != NO_PASSWORD)).await? {
            return Err(Problem::invalid("old_password", "This is not your password. Nothing was changed."));
        }
        self.accounts.clear(&account);
        let hash = password::hash(new).await?;
        Ok(self
            .engine
            .store()
            .change_password(scope, user.id, &hash, &session_store::id_hash(session))
            .await?)
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

/// One customer's network: an IPv6 user has 2^64 addresses of their own.
fn network(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}")
        }
    }
}

fn too_many(wait: Duration) -> Problem {
    Problem::too_many_attempts(u32::try_from(wait.as_secs().max(1)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_user_cannot_change_address_to_try_more_often() {
        let network_of = |text: &str| network(text.parse().unwrap());
        assert_eq!(network_of("2001:db8:1:2::5"), network_of("2001:db8:1:2:ffff::9"));
        assert_ne!(network_of("2001:db8:1:2::5"), network_of("2001:db8:1:3::5"));
        assert_eq!(network_of("::ffff:10.0.0.1"), "10.0.0.1");
    }

    #[test]
    fn too_many_attempts_say_how_long_to_wait() {
        let problem = too_many(Duration::from_secs(61));
        assert_eq!(problem.retry_after_seconds, Some(61));
        assert!(problem.detail.contains("2 minutes"));
    }
}
