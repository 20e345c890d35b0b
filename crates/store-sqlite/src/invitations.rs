//! Asking somebody into a tenant: they join by following a link, with the account they have or the one made for them.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::Table,
    error::Outcome,
    members, password_links,
};
use leasehold_queue::{
    Scope,
    people::{NO_PASSWORD, NewMember, PasswordLink},
};
use leasehold_types::{
    Role, TenantId, Timestamp, UserId,
    people::{Joining, LinkOwner, Member},
    view::User,
};
use sqlx::SqliteConnection;

const USERS: Table = Table("users");
const LINKS: Table = Table("membership_links");

/// Only the newest invitation of somebody into a tenant works.
pub(crate) async fn replace(
    connection: &mut SqliteConnection,
    new: &NewMember,
    user: UserId,
    now: Timestamp,
) -> Outcome<()> {
    let (tenant, user, role) = (new.tenant.to_string(), user.to_string(), new.role.as_str());
    let (now, expires_at) = (now.to_string(), new.link.expires_at.to_string());
    sqlx::query!(
        "INSERT INTO membership_links (token_hash, tenant_id, user_id, role, created_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (tenant_id, user_id) DO UPDATE
         SET token_hash = excluded.token_hash, role = excluded.role, created_at = excluded.created_at,
             expires_at = excluded.expires_at",
        new.link.token_hash,
        tenant,
        user,
        role,
        now,
        expires_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Whether there was one to renew.
pub(crate) async fn renew(
    connection: &mut SqliteConnection,
    tenant: TenantId,
    user: UserId,
    link: &PasswordLink,
) -> Outcome<bool> {
    let (tenant, user, expires_at) = (tenant.to_string(), user.to_string(), link.expires_at.to_string());
    let done = sqlx::query!(
        "UPDATE membership_links SET token_hash = ?3, expires_at = ?4 WHERE tenant_id = ?1 AND user_id = ?2",
        tenant,
        user,
        link.token_hash,
        expires_at
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Changes the role of an invitation, or takes it back; the e-mail and the role before, if there was one.
pub(crate) async fn change(
    connection: &mut SqliteConnection,
    tenant: TenantId,
    user: UserId,
    role: Option<Role>,
) -> Outcome<Option<(String, String)>> {
    let (tenant, user) = (tenant.to_string(), user.to_string());
    let found = sqlx::query!(
        "SELECT l.role, u.email FROM membership_links l JOIN users u ON u.id = l.user_id
         WHERE l.tenant_id = ?1 AND l.user_id = ?2",
        tenant,
        user
    )
    .fetch_optional(&mut *connection)
    .await?;
    let Some(found) = found else { return Ok(None) };
    match role.map(|role| role.as_str()) {
        Some(role) => {
            sqlx::query!(
                "UPDATE membership_links SET role = ?3 WHERE tenant_id = ?1 AND user_id = ?2",
                tenant,
                user,
                role
            )
            .execute(connection)
            .await?
        }
        None => {
            sqlx::query!("DELETE FROM membership_links WHERE tenant_id = ?1 AND user_id = ?2", tenant, user)
                .execute(connection)
                .await?
        }
    };
    Ok(Some((found.email, found.role)))
}

/// Those who have not followed their invitation yet.
pub(crate) async fn of_tenant(store: &SqliteStore, tenant: &str) -> Outcome<Vec<Member>> {
    let rows = sqlx::query!(
        "SELECT u.id, u.email, u.name, u.super_admin, u.created_at, u.created_by, u.disabled_at, l.role,
                l.created_at AS invited_at
         FROM membership_links l JOIN users u ON u.id = l.user_id WHERE l.tenant_id = ?1",
        tenant
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Member {
                role: LINKS.parse("role", &row.role)?,
                joined_at: LINKS.time("created_at", &row.invited_at)?,
                invited: true,
                disabled_at: USERS.time_opt("disabled_at", row.disabled_at.as_deref())?,
                made_by: row.created_by,
                user: User {
                    id: USERS.parse("id", &row.id)?,
                    created_at: USERS.time("created_at", &row.created_at)?,
                    super_admin: row.super_admin != 0,
                    email: row.email,
                    name: row.name,
                },
            })
        })
        .collect()
}

pub(crate) async fn owner(store: &SqliteStore, token_hash: &str) -> Outcome<Option<LinkOwner>> {
    let now = store.clock.now().to_string();
    let found = sqlx::query!(
        "SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by,
                l.role, t.name AS tenant_name
         FROM membership_links l JOIN users u ON u.id = l.user_id JOIN tenants t ON t.id = l.tenant_id
         WHERE l.token_hash = ?1 AND l.expires_at > ?2 AND u.disabled_at IS NULL",
        token_hash,
        now
    )
    .fetch_optional(&store.read)
    .await?;
    let Some(row) = found else { return Ok(None) };
    let role = LINKS.parse("role", &row.role)?;
    let user = User {
        id: USERS.parse("id", &row.id)?,
        created_at: USERS.time("created_at", &row.created_at)?,
        super_admin: row.super_admin != 0,
        email: row.email,
        name: row.name,
    };
    let joins = Some(Joining { tenant_name: row.tenant_name, role });
    let invited = row.password_hash == NO_PASSWORD;
    Ok(Some(LinkOwner { user, invited, joins, made_by: row.created_by }))
}

/// Where an invitation leads, and as what.
pub(crate) type Place = (TenantId, String);

pub(crate) async fn accept(
    store: &SqliteStore,
    scope: &Scope,
    user: UserId,
    token_hash: &str,
) -> Outcome<TenantId> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, now_text) = (user.to_string(), now.to_string());
    let found = sqlx::query!(
        "SELECT l.tenant_id, l.role, u.email FROM membership_links l JOIN users u ON u.id = l.user_id
         WHERE l.token_hash = ?1 AND l.user_id = ?2 AND l.expires_at > ?3 AND u.disabled_at IS NULL
           AND u.password_hash <> ?4",
        token_hash,
        id,
        now_text,
        NO_PASSWORD
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(password_links::invalid)?;
    sqlx::query!("DELETE FROM membership_links WHERE token_hash = ?1", token_hash).execute(&mut *tx).await?;
    let tenant: TenantId = LINKS.parse("tenant_id", &found.tenant_id)?;
    join(&mut tx, scope, &found.email, user, (tenant, found.role), now).await?;
    tx.commit().await?;
    Ok(tenant)
}

/// Uses up the invitation of somebody who has no password yet: who they are, and where it leads.
pub(crate) async fn take_first(
    connection: &mut SqliteConnection,
    token_hash: &str,
    now: Timestamp,
) -> Outcome<Option<(String, Option<Place>)>> {
    let now = now.to_string();
    let used = sqlx::query!(
        "DELETE FROM membership_links
         WHERE token_hash = ?1 AND expires_at > ?2 AND user_id IN (SELECT id FROM users WHERE password_hash = ?3)
         RETURNING user_id, tenant_id, role",
        token_hash,
        now,
        NO_PASSWORD
    )
    .fetch_optional(connection)
    .await?;
    let Some(used) = used else { return Ok(None) };
    Ok(Some((used.user_id, Some((LINKS.parse("tenant_id", &used.tenant_id)?, used.role)))))
}

pub(crate) async fn join(
    connection: &mut SqliteConnection,
    scope: &Scope,
    email: &str,
    user: UserId,
    (tenant, role): Place,
    now: Timestamp,
) -> Outcome<()> {
    members::insert(connection, tenant, user, &role, now).await?;
    let reason = format!("as {role}, by an invitation");
    let deed = Deed::new(Some(tenant), "member.join", "user", email).because(Some(&reason));
    audit(connection, scope, &[deed], now).await
}
