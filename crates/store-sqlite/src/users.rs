//! Users, their memberships, and the very first of them.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::Table,
    error::{Error, Outcome, taken},
    people::{TenantRecord, insert_tenant, no_such_tenant},
};
use leasehold_queue::{
    Actor, Permission, Reach, Scope,
    params::{NewTenant, NewUser},
};
use leasehold_types::{
    Problem, ProblemCode, Timestamp, UserId,
    view::{Membership, Tenant, User},
};
use sqlx::SqliteConnection;
use uuid::Uuid;

const USERS: Table = Table("users");
const MEMBERSHIPS: Table = Table("memberships");
/// The setting that holds the hash of the one-time setup token.
const SETUP_TOKEN: &str = "setup_token";
/// Who made the first account.
const SETUP_LINK: &str = "the setup link";

pub(crate) struct UserRecord {
    pub id: String,
    pub email: String,
    pub name: String,
    pub password_hash: String,
    pub super_admin: i64,
    pub created_at: String,
    pub created_by: Option<String>,
}

impl TryFrom<UserRecord> for (User, String) {
    type Error = Error;

    fn try_from(row: UserRecord) -> Outcome<Self> {
        let user = User {
            id: USERS.parse("id", &row.id)?,
            created_at: USERS.time("created_at", &row.created_at)?,
            super_admin: row.super_admin != 0,
            email: row.email,
            name: row.name,
        };
        Ok((user, row.password_hash))
    }
}

pub(crate) async fn has_users(store: &SqliteStore) -> Outcome<bool> {
    let found = sqlx::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM users) AS "found!: i64""#)
        .fetch_one(&store.read)
        .await?;
    Ok(found != 0)
}

pub(crate) async fn create_user(store: &SqliteStore, scope: &Scope, new: NewUser) -> Outcome<User> {
    if new.membership.is_some_and(|(tenant, _)| !scope.reaches(tenant)) {
        return Err(Problem::not_found("This tenant").into());
    }
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let tenant = new.membership.map(|(tenant, _)| tenant);
    let user = insert_user(&mut tx, new, &scope.actor.to_string(), now).await?;
    audit(&mut tx, scope, &[Deed::new(tenant, "user.create", "user", &user.email)], now).await?;
    tx.commit().await?;
    Ok(user)
}

pub(crate) async fn insert_user(
    connection: &mut SqliteConnection,
    new: NewUser,
    by: &str,
    now: Timestamp,
) -> Outcome<User> {
    let id = UserId(Uuid::now_v7());
    let (id_text, now_text) = (id.to_string(), now.to_string());
    sqlx::query!(
        "INSERT INTO users (id, email, name, password_hash, super_admin, created_at, updated_at, created_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)",
        id_text,
        new.email,
        new.name,
        new.password_hash,
        new.super_admin,
        now_text,
        by
    )
    .execute(&mut *connection)
    .await
    .map_err(|error| taken(error, "A user with this e-mail exists already. Nothing was changed."))?;
    if let Some((tenant, role)) = new.membership {
        let (tenant, role) = (tenant.to_string(), role.as_str());
        sqlx::query!(
            "INSERT INTO memberships (tenant_id, user_id, role, created_at) VALUES (?1, ?2, ?3, ?4)",
            tenant,
            id_text,
            role,
            now_text
        )
        .execute(&mut *connection)
        .await
        .map_err(no_such_tenant)?;
    }
    Ok(User { id, email: new.email, name: new.name, super_admin: new.super_admin, created_at: now })
}

pub(crate) async fn create_first_admin(
    store: &SqliteStore,
    token_hash: &str,
    new: NewUser,
    tenant: Option<NewTenant>,
    origin: Option<String>,
) -> Outcome<(User, Option<Tenant>)> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let now_text = now.to_string();
    // The writer's lock is held from here on: of two visitors with the same link one finds the token gone.
    let used = sqlx::query!(
        "DELETE FROM instance_settings
         WHERE key = ?1 AND value = ?2 AND (expires_at IS NULL OR expires_at > ?3)
           AND NOT EXISTS (SELECT 1 FROM users)",
        SETUP_TOKEN,
        token_hash,
        now_text
    )
    .execute(&mut *tx)
    .await?;
    if used.rows_affected() == 0 {
        let detail = "This setup link was used, has expired or was never valid. Nothing was changed.";
        return Err(Problem::new(ProblemCode::SetupLinkInvalid, detail).into());
    }
    let user = insert_user(&mut tx, new, SETUP_LINK, now).await?;
    let tenant = match tenant {
        Some(tenant) => Some(insert_tenant(&mut tx, tenant, now).await?),
        None => None,
    };
    let actor = Actor::User { id: user.id, email: user.email.clone() };
    let themselves = Scope::new(Reach::All, actor, Permission::Govern).coming_from(origin);
    let why = Some("by the setup link");
    let made = Deed::new(None, "user.create", "user", &user.email).because(why);
    let house =
        tenant.as_ref().map(|t| Deed::new(Some(t.id), "tenant.create", "tenant", &t.slug).because(why));
    let deeds: Vec<_> = [Some(made), house].into_iter().flatten().collect();
    audit(&mut tx, &themselves, &deeds, now).await?;
    tx.commit().await?;
    Ok((user, tenant))
}

pub(crate) async fn credentials(store: &SqliteStore, email: &str) -> Outcome<Option<(User, String)>> {
    let row = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users
             WHERE email = ?1 AND disabled_at IS NULL",
        email
    )
    .fetch_optional(&store.read)
    .await?;
    row.map(TryInto::try_into).transpose()
}

pub(crate) async fn user(store: &SqliteStore, id: UserId) -> Outcome<Option<User>> {
    let id = id.to_string();
    let row = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users
             WHERE id = ?1 AND disabled_at IS NULL",
        id
    )
    .fetch_optional(&store.read)
    .await?;
    Ok(row.map(<(User, String)>::try_from).transpose()?.map(|(user, _)| user))
}

pub(crate) async fn memberships(store: &SqliteStore, user: UserId) -> Outcome<Vec<Membership>> {
    let user = user.to_string();
    let rows = sqlx::query!(
        "SELECT t.id, t.slug, t.name, t.timezone, t.limits, t.created_at, m.role
         FROM memberships m JOIN tenants t ON t.id = m.tenant_id
         WHERE m.user_id = ?1 ORDER BY t.name, t.slug",
        user
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter()
        .map(|row| {
            let role = MEMBERSHIPS.parse("role", &row.role)?;
            let tenant = TenantRecord {
                id: row.id,
                slug: row.slug,
                name: row.name,
                timezone: row.timezone,
                limits: row.limits,
                created_at: row.created_at,
            };
            Ok(Membership { tenant: tenant.try_into()?, role })
        })
        .collect()
}
