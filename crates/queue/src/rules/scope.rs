//! The one door. A [`Scope`] says whose data may be reached, by whom, and how much they may do; it is made
//! where a request enters and is the first argument of every verb. There is no look-up by bare id.

use crate::domains::DomainReach;
use leasehold_types::{KeyId, Problem, ProblemCode, TenantId, UserId, view::User};
use std::{fmt, net::IpAddr, sync::Arc};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    Tenant(TenantId),
    /// Every tenant: super-admins, embedded workers, sweeps.
    All,
}

/// From where a request came, for the audit log: the caller's address, and the request's id, under which the log has
/// more.
pub fn origin(address: Option<IpAddr>, request_id: Option<&str>) -> Option<String> {
    let address = address.map(|address| address.to_canonical().to_string());
    let request = request_id.map(|id| format!("request {id}"));
    let parts: Vec<_> = address.into_iter().chain(request).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Permission {
    /// Claim jobs and report on those one holds; see nothing else.
    Work,
    /// See jobs; secrets in payloads stay masked.
    View,
    /// Enqueue, cancel, retry, steer queues.
    Operate,
    /// Definitions, workers, tenants.
    Govern,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Actor {
    User {
        id: UserId,
        email: String,
    },
    Key {
        id: KeyId,
        name: String,
        prefix: String,
    },
    /// Somebody at the installation's own terminal, by their name there.
    Terminal(String),
    /// A part of Leasehold itself: `worker`, `sweeper`, …
    System(&'static str),
}

impl Actor {
    pub fn user(user: &User) -> Self {
        Self::User { id: user.id, email: user.email.clone() }
    }

    /// What people and keys do is in the audit log; what Leasehold does by itself is in the events.
    pub fn leaves_a_trail(&self) -> bool {
        !matches!(self, Self::System(_))
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User { email, .. } => f.write_str(email),
            Self::Key { name, prefix, .. } => write!(f, "key {name} (lh_{prefix})"),
            Self::Terminal(name) => write!(f, "terminal ({name})"),
            Self::System(name) => f.write_str(name),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    pub reach: Reach,
    pub actor: Actor,
    pub permission: Permission,
    /// Only these domains, where the installation confines people and keys to some; see [`crate::domains`].
    pub domains: Option<Arc<DomainReach>>,
    /// From where it was asked: the caller's address and the request's id. For the audit log.
    pub origin: Option<String>,
    /// The request's id alone, for the jobs it makes.
    pub request_id: Option<String>,
}

impl Scope {
    pub fn new(reach: Reach, actor: Actor, permission: Permission) -> Self {
        Self { reach, actor, permission, domains: None, origin: None, request_id: None }
    }

    /// For parts of Leasehold that serve every tenant.
    pub fn system(name: &'static str) -> Self {
        Self::new(Reach::All, Actor::System(name), Permission::Govern)
    }

    /// For whoever may use the database itself.
    pub fn terminal(name: impl Into<String>) -> Self {
        Self::new(Reach::All, Actor::Terminal(name.into()), Permission::Govern)
    }

    #[must_use]
    pub fn coming_from(self, origin: Option<String>) -> Self {
        Self { origin, ..self }
    }

    #[must_use]
    pub fn in_request(self, request_id: Option<String>) -> Self {
        Self { request_id, ..self }
    }

    /// The same actor, confined to one tenant.
    #[must_use]
    pub fn within(&self, tenant: TenantId) -> Self {
        Self { reach: Reach::Tenant(tenant), ..self.clone() }
    }

    /// The only tenant this scope reaches; none when it reaches all.
    pub fn tenant(&self) -> Option<TenantId> {
        match self.reach {
            Reach::Tenant(id) => Some(id),
            Reach::All => None,
        }
    }

    pub fn reaches(&self, tenant: TenantId) -> bool {
        self.tenant().is_none_or(|own| own == tenant)
    }

    pub fn require(&self, permission: Permission) -> Result<(), Problem> {
        if self.permission >= permission {
            return Ok(());
        }
        Err(Problem::new(ProblemCode::Forbidden, self.why_not(permission)))
    }

    /// Whom to ask depends on who asks, and for what.
    fn why_not(&self, needed: Permission) -> &'static str {
        match (needed, &self.actor) {
            (Permission::Govern, Actor::Key { .. }) => {
                "Only a key of the installation with the scope “admin” may do this, and this is not one. Nothing was \
                 changed; ask a super-admin."
            }
            (Permission::Govern, _) => {
                "Only super-admins may do this. Nothing was changed; ask whoever runs this installation."
            }
            (_, Actor::Key { .. }) => {
                "This key may not do this: it needs a stronger scope. Nothing was changed; ask an admin of its tenant."
            }
            _ => "Your role here does not allow this. Nothing was changed; ask an admin of this tenant.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_called_by_its_name() {
        let key =
            Actor::Key { id: KeyId(uuid::Uuid::nil()), name: "ci".into(), prefix: "96a04bc3fa4d".into() };
        assert_eq!(key.to_string(), "key ci (lh_96a04bc3fa4d)");
    }

    #[test]
    fn a_viewer_may_look_and_nothing_else() {
        let scope = Scope::new(Reach::All, Actor::System("test"), Permission::View);
        assert!(scope.require(Permission::View).is_ok());
        assert_eq!(scope.require(Permission::Operate).unwrap_err().code, ProblemCode::Forbidden);
    }

    #[test]
    fn a_refusal_names_whom_to_ask() {
        let key = Actor::Key { id: KeyId(uuid::Uuid::nil()), name: "ci".into(), prefix: "p".into() };
        let refused = |actor: &Actor, needed| {
            let scope = Scope::new(Reach::All, actor.clone(), Permission::View);
            scope.require(needed).unwrap_err().detail
        };
        assert!(refused(&key, Permission::Govern).contains("key of the installation"));
        assert!(refused(&key, Permission::Operate).contains("stronger scope"));
        let person = Actor::User { id: UserId(uuid::Uuid::nil()), email: "ann@example.org".into() };
        assert!(refused(&person, Permission::Govern).contains("super-admin"));
        assert!(refused(&person, Permission::Operate).contains("ask an admin of this tenant"));
    }

    #[test]
    fn a_worker_may_not_even_look() {
        let scope = Scope::new(Reach::All, Actor::System("test"), Permission::Work);
        assert_eq!(scope.require(Permission::View).unwrap_err().code, ProblemCode::Forbidden);
    }
}
