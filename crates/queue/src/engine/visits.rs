//! From a signed-in user to what they may do in a tenant.

use super::Engine;
use crate::scope::{Actor, Permission, Reach, Scope};
use leasehold_types::{
    Problem, Role,
    view::{Membership, Tenant, User},
};

/// Someone inside one tenant.
#[derive(Clone, Debug)]
pub struct Visit {
    pub user: User,
    pub tenant: Tenant,
    pub scope: Scope,
}

impl Visit {
    pub fn may_operate(&self) -> bool {
        self.scope.permission >= Permission::Operate
    }
}

impl Engine {
    /// The only way from a user to a tenant's data. Another tenant's is "not found", as if it did not exist.
    pub async fn visit(&self, user: User, slug: &str) -> Result<Visit, Problem> {
        let actor = Actor::user(&user);
        if user.super_admin {
            let all = Scope::new(Reach::All, actor, Permission::Govern);
            let tenant = self.tenant(&all, slug).await?;
            return Ok(Visit { user, scope: self.confine(all.within(tenant.id)), tenant });
        }
        let memberships = self.store.memberships(user.id).await?;
        let Some(Membership { tenant, role }) = memberships.into_iter().find(|m| m.tenant.slug == slug)
        else {
            return Err(Problem::not_found("This tenant"));
        };
        let permission = match role {
            Role::Admin => Permission::Operate,
            Role::Viewer => Permission::View,
        };
        let scope = self.confine(Scope::new(Reach::Tenant(tenant.id), actor, permission));
        Ok(Visit { user, scope, tenant })
    }

    /// The tenants a user may enter, by name.
    pub async fn tenants_of_user(&self, user: &User) -> Result<Vec<Tenant>, Problem> {
        if user.super_admin {
            let scope = Scope::new(Reach::All, Actor::user(user), Permission::Govern);
            return Ok(self.store.tenants(&scope).await?);
        }
        Ok(self.store.memberships(user.id).await?.into_iter().map(|m| m.tenant).collect())
    }
}
