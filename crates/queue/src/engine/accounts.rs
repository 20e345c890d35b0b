//! Members of tenants, accounts and their sessions. Secrets arrive here already hashed.

use super::{Engine, people::text};
use crate::{
    engine::normalise_email,
    params::NewKey,
    people::{EndSessions, NewMember, PasswordLink},
    rules::members::local_part,
    scope::{Actor, Permission, Scope},
};
use leasehold_types::{
    KeyId, Problem, ProblemCode, Role, TenantId, Timestamp, UserId,
    people::{Account, Invitation, Member, SignedIn},
    view::{ApiKey, User},
};

/// Where a session keeps what its owner is shown of it.
pub const SESSION_SEEN: &str = "seen";
pub const SESSION_AGENT: &str = "agent";
pub const SESSION_ADDRESS: &str = "address";

/// What a key may be used for, in the order of its strength.
pub const KEY_SCOPES: [&str; 4] = ["worker", "read", "write", "admin"];

/// A key as it is asked for.
#[derive(Clone, Debug)]
pub struct KeyRequest {
    /// None: for the installation.
    pub tenant: Option<TenantId>,
    pub name: String,
    pub scopes: Vec<String>,
    pub expires_at: Option<Timestamp>,
}

impl Engine {
    pub async fn members(&self, scope: &Scope, tenant: TenantId) -> Result<Vec<Member>, Problem> {
        scope.require(Permission::View)?;
        let mut members = self.store.members(scope, tenant).await?;
        members.iter_mut().filter(|member| member.invited).for_each(|member| hide(&mut member.user));
        Ok(members)
    }

    pub async fn invite(
        &self,
        scope: &Scope,
        tenant: TenantId,
        email: &str,
        role: Role,
        link: PasswordLink,
    ) -> Result<Invitation, Problem> {
        administers(scope)?;
        let email = normalise_email(email)?;
        let mut invitation = self.store.invite(scope, NewMember { tenant, email, role, link }).await?;
        hide(&mut invitation.user);
        Ok(invitation)
    }

    pub async fn set_role(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        role: Role,
        even_the_last: bool,
    ) -> Result<(), Problem> {
        administers(scope)?;
        Ok(self.store.set_role(scope, tenant, user, role, even_the_last).await?)
    }

    pub async fn remove_member(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        even_the_last: bool,
    ) -> Result<(), Problem> {
        administers(scope)?;
        Ok(self.store.remove_member(scope, tenant, user, even_the_last).await?)
    }

    pub async fn accounts(&self, scope: &Scope) -> Result<Vec<Account>, Problem> {
        scope.require(Permission::Govern)?;
        Ok(self.store.accounts().await?)
    }

    pub async fn set_disabled(&self, scope: &Scope, user: UserId, disabled: bool) -> Result<(), Problem> {
        scope.require(Permission::Govern)?;
        if matches!(scope.actor, Actor::User { id, .. } if id == user) {
            return Err(Problem::new(ProblemCode::Forbidden, "You cannot disable yourself."));
        }
        Ok(self.store.set_disabled(scope, user, disabled).await?)
    }

    /// For somebody who lost their password (super-admins only), or whose invitation has run out.
    pub async fn offer_password_link(
        &self,
        scope: &Scope,
        user: UserId,
        link: PasswordLink,
    ) -> Result<User, Problem> {
        administers(scope)?;
        Ok(self.store.offer_password_link(scope, user, link).await?)
    }

    pub async fn rename_user(&self, scope: &Scope, user: UserId, name: &str) -> Result<(), Problem> {
        let name = text("name", name)?;
        Ok(self.store.rename_user(scope, user, &name).await?)
    }

    pub async fn sessions_of(&self, user: UserId) -> Result<Vec<SignedIn>, Problem> {
        let rows = self.store.sessions_of(user).await?;
        let signed_in = rows.into_iter().map(|(row, since)| {
            let word = |key: &str| row.data[key].as_str().map(str::to_owned);
            let seen = row.data[SESSION_SEEN].as_str().and_then(|at| at.parse().ok());
            SignedIn {
                since,
                seen_at: seen.unwrap_or(since),
                expires_at: row.expires_at,
                agent: word(SESSION_AGENT),
                address: word(SESSION_ADDRESS),
                id: row.id_hash,
            }
        });
        Ok(signed_in.collect())
    }

    pub async fn end_sessions(
        &self,
        scope: &Scope,
        user: UserId,
        which: EndSessions,
    ) -> Result<u64, Problem> {
        Ok(self.store.end_sessions(scope, user, which).await?)
    }

    // ---- keys

    pub async fn keys(&self, scope: &Scope) -> Result<Vec<ApiKey>, Problem> {
        scope.require(Permission::View)?;
        Ok(self.store.api_keys(scope).await?)
    }

    /// `prefix` and the hash of the secret are the caller's: the secret itself never comes here.
    pub async fn create_key(
        &self,
        scope: &Scope,
        request: KeyRequest,
        prefix: String,
        secret_hash: String,
    ) -> Result<ApiKey, Problem> {
        administers(scope)?;
        // What a worker runs is said when it claims; no list of domains holds it.
        if scope.domains.is_some() && request.scopes.iter().any(|word| word == "worker") {
            let detail = "Whoever is kept to some domains cannot make keys for workers. Nothing was changed.";
            return Err(Problem::new(ProblemCode::Forbidden, detail));
        }
        let key = NewKey {
            id: KeyId(uuid::Uuid::now_v7()),
            name: text("name", &request.name)?,
            scopes: known_scopes(&request)?,
            tenant_id: request.tenant,
            prefix,
            secret_hash,
            expires_at: request.expires_at,
        };
        Ok(self.store.create_key(scope, key).await?)
    }

    pub async fn revoke_key(&self, scope: &Scope, prefix: &str) -> Result<ApiKey, Problem> {
        administers(scope)?;
        Ok(self.store.revoke_key(scope, prefix).await?)
    }
}

/// Who was asked has not agreed to be known by more than the address they were asked by.
fn hide(user: &mut User) {
    user.name = local_part(&user.email).to_owned();
    user.super_admin = false;
}

/// In the order of their strength, each once.
fn known_scopes(request: &KeyRequest) -> Result<Vec<String>, Problem> {
    let asked = &request.scopes;
    if let Some(unknown) = asked.iter().find(|word| !KEY_SCOPES.contains(&word.as_str())) {
        return Err(Problem::invalid("scopes", format!("There is no scope called “{unknown}”.")));
    }
    if asked.is_empty() {
        return Err(Problem::invalid("scopes", "Please say what the key may be used for."));
    }
    if request.tenant.is_none() && asked.iter().any(|word| word == "worker") {
        return Err(Problem::invalid("scopes", "A worker works for one tenant; please name it."));
    }
    let known = KEY_SCOPES.into_iter().filter(|word| asked.iter().any(|asked| asked == word));
    Ok(known.map(str::to_owned).collect())
}

/// Who lets people and programs in must be a person of the tenant, or govern: a key that may write must not be
/// able to make itself a stronger one.
pub(super) fn administers(scope: &Scope) -> Result<(), Problem> {
    match scope.actor {
        Actor::Key { .. } => scope.require(Permission::Govern),
        Actor::User { .. } | Actor::Terminal(_) | Actor::System(_) => scope.require(Permission::Operate),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Reach;

    fn request(tenant: Option<TenantId>, scopes: &[&str]) -> KeyRequest {
        let scopes = scopes.iter().map(|word| (*word).to_owned()).collect();
        KeyRequest { tenant, name: "ci".into(), scopes, expires_at: None }
    }

    #[test]
    fn scopes_are_stored_once_each_and_in_order() {
        let tenant = Some(TenantId(uuid::Uuid::nil()));
        assert_eq!(known_scopes(&request(tenant, &["write", "read", "write"])).unwrap(), ["read", "write"]);
        assert!(known_scopes(&request(tenant, &[])).is_err());
        assert!(known_scopes(&request(tenant, &["root"])).is_err());
        assert!(known_scopes(&request(None, &["worker"])).is_err());
        assert!(known_scopes(&request(None, &["admin"])).is_ok());
    }

    #[test]
    fn a_key_that_may_write_lets_nobody_in() {
        let key = Actor::Key { id: KeyId(uuid::Uuid::nil()), name: "ci".into(), prefix: "p".into() };
        let scope = |permission| Scope::new(Reach::All, key.clone(), permission);
        assert!(administers(&scope(Permission::Operate)).is_err());
        assert!(administers(&scope(Permission::Govern)).is_ok());
    }
}
