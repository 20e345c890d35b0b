//! Users, their memberships, and the very first of them.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{stamp, word},
    error::database,
    people::{TenantRecord, insert_tenant},
};
use leasehold_queue::{
    Actor, Permission, Reach, Scope, StoreResult,
    params::{NewTenant, NewUser},
};
use leasehold_types::{
    Problem, ProblemCode, UserId,
    view::{Membership, Tenant, User},
};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

/// The setting that holds the hash of the one-time setup token.
const SETUP_TOKEN: &str = "setup_token";
/// Who made the first account.
const SETUP_LINK: &str = "the setup link";

pub(crate) struct UserRecord {
    pub id: Uuid,
    pub email: String,
    pub name: String,
    pub password_hash: String,
    pub super_admin: bool,
    pub created_at: OffsetDateTime,
    pub created_by: Option<String>,
}

impl From<UserRecord> for (User, String) {
    fn from(r: UserRecord) -> Self {
        let user = User {
            id: UserId(r.id),
            email: r.email,
            name: r.name,
            super_admin: r.super_admin,
            created_at: stamp(r.created_at),
        };
        (user, r.password_hash)
    }
}

pub(crate) async fn insert_user(
    connection: &mut PgConnection,
    user: NewUser,
    by: &str,
    now: OffsetDateTime,
) -> StoreResult<User> {
    let row = sqlx::query_as!(
        UserRecord,
        "INSERT INTO users (id, email, name, password_hash, super_admin, created_at, updated_at, created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
         RETURNING id, email, name, password_hash, super_admin, created_at, created_by",
        Uuid::now_v7(),
        user.email,
        user.name,
        user.password_hash,
        user.super_admin,
        now,
        by
    )
    .fetch_one(&mut *connection)
    .await
    .map_err(database)?;
    if let Some((tenant, role)) = user.membership {
        sqlx::query!(
            "INSERT INTO memberships (tenant_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)",
            tenant.0,
            row.id,
            role.as_str(),
            now
        )
        .execute(connection)
        .await
        .map_err(database)?;
    }
    Ok(<(User, String)>::from(row).0)
}

impl PostgresStore {
    pub(crate) async fn any_user(&self) -> StoreResult<bool> {
        sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM users) AS "any!""#)
            .fetch_one(&self.work)
            .await
            .map_err(database)
    }

    pub(crate) async fn add_user(&self, scope: &Scope, user: NewUser) -> StoreResult<User> {
        let membership = user.membership;
        if membership.is_some_and(|(tenant, _)| !scope.reaches(tenant)) {
            return Err(Problem::not_found("This tenant").into());
        }
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let user = insert_user(&mut tx, user, &scope.actor.to_string(), now).await?;
        let act = Act {
            tenant: membership.map(|(tenant, _)| tenant.0),
            action: "user.create",
            object_type: "user",
            object_id: &user.email,
            reason: None,
        };
        audit::record(&mut tx, scope, now, act).await?;
        tx.commit().await.map_err(database)?;
        Ok(user)
    }

    pub(crate) async fn add_first_admin(
        &self,
        token_hash: &str,
        user: NewUser,
        tenant: Option<NewTenant>,
        origin: Option<String>,
    ) -> StoreResult<(User, Option<Tenant>)> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        // Two browsers with the same link: the row lock of the delete lets only one of them find the token.
        let token = sqlx::query!(
            "DELETE FROM instance_settings
             WHERE key = $1 AND value = $2 AND (expires_at IS NULL OR expires_at > $3)
               AND NOT EXISTS (SELECT FROM users)",
            SETUP_TOKEN,
            token_hash,
            now
        )
        .execute(&mut *tx)
        .await
        .map_err(database)?;
        if token.rows_affected() == 0 {
            return Err(Problem::new(
                ProblemCode::SetupLinkInvalid,
                "This setup link was used, has expired or was never valid. Nothing was changed.",
            )
            .into());
        }
        let tenant = match tenant {
            Some(tenant) => Some(insert_tenant(&mut tx, tenant, now).await?),
            None => None,
        };
        let user = insert_user(&mut tx, user, SETUP_LINK, now).await?;
        let actor = Actor::User { id: user.id, email: user.email.clone() };
        let themselves = Scope::new(Reach::All, actor, Permission::Govern).coming_from(origin);
        let act = |tenant: Option<&Tenant>, action, object_type, object_id| Act {
            tenant: tenant.map(|t| t.id.0),
            action,
            object_type,
            object_id,
            reason: Some("by the setup link"),
        };
        audit::record(&mut tx, &themselves, now, act(None, "user.create", "user", &user.email)).await?;
        if let Some(tenant) = &tenant {
            let made = act(Some(tenant), "tenant.create", "tenant", &tenant.slug);
            audit::record(&mut tx, &themselves, now, made).await?;
        }
        tx.commit().await.map_err(database)?;
        Ok((user, tenant))
    }

    pub(crate) async fn find_credentials(&self, email: &str) -> StoreResult<Option<(User, String)>> {
        sqlx::query_as!(
            UserRecord,
            "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users
             WHERE email = $1 AND disabled_at IS NULL",
            email
        )
        .fetch_optional(&self.work)
        .await
        .map(|row| row.map(Into::into))
        .map_err(database)
    }

    pub(crate) async fn find_user(&self, id: UserId) -> StoreResult<Option<User>> {
        sqlx::query_as!(
            UserRecord,
            "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users
             WHERE id = $1 AND disabled_at IS NULL",
            id.0
        )
        .fetch_optional(&self.work)
        .await
        .map(|row| row.map(|r| <(User, String)>::from(r).0))
        .map_err(database)
    }

    pub(crate) async fn memberships_of(&self, user: UserId) -> StoreResult<Vec<Membership>> {
        let rows = sqlx::query!(
            "SELECT t.id, t.slug, t.name, t.timezone, t.limits, t.created_at, m.role
             FROM memberships m JOIN tenants t ON t.id = m.tenant_id
             WHERE m.user_id = $1 ORDER BY t.name, t.slug",
            user.0
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let membership = |r: TenantRecord, role: String| {
            Ok(Membership { tenant: r.try_into()?, role: word("memberships", "role", &role)? })
        };
        rows.into_iter()
            .map(|r| {
                let tenant = TenantRecord {
                    id: r.id,
                    slug: r.slug,
                    name: r.name,
                    timezone: r.timezone,
                    limits: r.limits,
                    created_at: r.created_at,
                };
                membership(tenant, r.role)
            })
            .collect()
    }
}
