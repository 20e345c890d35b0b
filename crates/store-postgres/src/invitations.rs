//! Asking somebody into a tenant: they join by following a link, with the account they have or the one made for them.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{moment, stamp, stamp_if, word},
    error::database,
    members, password_links,
};
use leasehold_queue::{
    Scope, StoreResult,
    people::{NO_PASSWORD, NewMember, PasswordLink},
};
use leasehold_types::{
    Role, TenantId, UserId,
    people::{Joining, LinkOwner, Member},
    view::User,
};
use sqlx::PgConnection;
use time::OffsetDateTime;
use uuid::Uuid;

/// Only the newest invitation of somebody into a tenant works.
pub async fn replace(
    connection: &mut PgConnection,
    new: &NewMember,
    user: UserId,
    now: OffsetDateTime,
) -> StoreResult<()> {
    sqlx::query!(
        "INSERT INTO membership_links (token_hash, tenant_id, user_id, role, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (tenant_id, user_id) DO UPDATE
         SET token_hash = excluded.token_hash, role = excluded.role, created_at = excluded.created_at,
             expires_at = excluded.expires_at",
        new.link.token_hash,
        new.tenant.0,
        user.0,
        new.role.as_str(),
        now,
        moment(new.link.expires_at)
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}

/// Whether there was one to renew.
pub async fn renew(
    connection: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    link: &PasswordLink,
) -> StoreResult<bool> {
    let done = sqlx::query!(
        "UPDATE membership_links SET token_hash = $3, expires_at = $4 WHERE tenant_id = $1 AND user_id = $2",
        tenant.0,
        user.0,
        link.token_hash,
        moment(link.expires_at)
    )
    .execute(connection)
    .await
    .map_err(database)?;
    Ok(done.rows_affected() > 0)
}

/// Changes the role of an invitation, or takes it back; the e-mail and the role before, if there was one.
pub async fn change(
    connection: &mut PgConnection,
    tenant: TenantId,
    user: UserId,
    role: Option<Role>,
) -> StoreResult<Option<(String, String)>> {
    let found = sqlx::query!(
        "SELECT l.role, u.email FROM membership_links l JOIN users u ON u.id = l.user_id
         WHERE l.tenant_id = $1 AND l.user_id = $2 FOR UPDATE OF l",
        tenant.0,
        user.0
    )
    .fetch_optional(&mut *connection)
    .await
    .map_err(database)?;
    let Some(found) = found else { return Ok(None) };
    match role {
        Some(role) => sqlx::query!(
            "UPDATE membership_links SET role = $3 WHERE tenant_id = $1 AND user_id = $2",
            tenant.0,
            user.0,
            role.as_str()
        )
        .execute(connection)
        .await
        .map_err(database)?,
        None => sqlx::query!(
            "DELETE FROM membership_links WHERE tenant_id = $1 AND user_id = $2",
            tenant.0,
            user.0
        )
        .execute(connection)
        .await
        .map_err(database)?,
    };
    Ok(Some((found.email, found.role)))
}

/// Those who have not followed their invitation yet.
pub async fn of_tenant(store: &PostgresStore, tenant: TenantId) -> StoreResult<Vec<Member>> {
    let rows = sqlx::query!(
        "SELECT u.id, u.email, u.name, u.super_admin, u.created_at, u.created_by, u.disabled_at, l.role,
                l.created_at AS invited_at
         FROM membership_links l JOIN users u ON u.id = l.user_id WHERE l.tenant_id = $1",
        tenant.0
    )
    .fetch_all(&store.work)
    .await
    .map_err(database)?;
    rows.into_iter()
        .map(|r| {
            Ok(Member {
                role: word("membership_links", "role", &r.role)?,
                joined_at: stamp(r.invited_at),
                invited: true,
                disabled_at: stamp_if(r.disabled_at),
                made_by: r.created_by,
                user: User {
                    id: UserId(r.id),
                    email: r.email,
                    name: r.name,
                    super_admin: r.super_admin,
                    created_at: stamp(r.created_at),
                },
            })
        })
        .collect()
}

pub async fn owner(store: &PostgresStore, token_hash: &str) -> StoreResult<Option<LinkOwner>> {
    let found = sqlx::query!(
        "SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by,
                l.role, t.name AS tenant_name
         FROM membership_links l JOIN users u ON u.id = l.user_id JOIN tenants t ON t.id = l.tenant_id
         WHERE l.token_hash = $1 AND l.expires_at > $2 AND u.disabled_at IS NULL",
        token_hash,
        store.now()
    )
    .fetch_optional(&store.work)
    .await
    .map_err(database)?;
    let Some(r) = found else { return Ok(None) };
    let role = word("membership_links", "role", &r.role)?;
    let user = User {
        id: UserId(r.id),
        email: r.email,
        name: r.name,
        super_admin: r.super_admin,
        created_at: stamp(r.created_at),
    };
    let joins = Some(Joining { tenant_name: r.tenant_name, role });
    let invited = r.password_hash == NO_PASSWORD;
    Ok(Some(LinkOwner { user, invited, joins, made_by: r.created_by }))
}

/// Where an invitation leads, and as what.
pub type Place = (TenantId, String);

pub async fn accept(
    store: &PostgresStore,
    scope: &Scope,
    user: UserId,
    token_hash: &str,
) -> StoreResult<TenantId> {
    let now = store.now();
    let mut tx = store.work.begin().await.map_err(database)?;
    let used = sqlx::query!(
        "DELETE FROM membership_links l USING users u
         WHERE l.token_hash = $1 AND l.user_id = $2 AND l.expires_at > $3
           AND u.id = l.user_id AND u.disabled_at IS NULL AND u.password_hash <> $4
         RETURNING l.tenant_id, l.role, u.email",
        token_hash,
        user.0,
        now,
        NO_PASSWORD
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?
    .ok_or_else(password_links::invalid)?;
    let tenant = TenantId(used.tenant_id);
    join(&mut tx, scope, &used.email, user, (tenant, used.role), now).await?;
    tx.commit().await.map_err(database)?;
    Ok(tenant)
}

/// Uses up the invitation of somebody who has no password yet: who they are, and where it leads. Two invitations of
/// one person followed at once: the second waits for the first, and then finds a password.
pub async fn take_first(
    connection: &mut PgConnection,
    token_hash: &str,
    now: OffsetDateTime,
) -> StoreResult<Option<(Uuid, Option<Place>)>> {
    let invited = sqlx::query_scalar!(
        "SELECT u.id FROM membership_links l JOIN users u ON u.id = l.user_id
         WHERE l.token_hash = $1 AND u.password_hash = $2 FOR UPDATE OF u",
        token_hash,
        NO_PASSWORD
    )
    .fetch_optional(&mut *connection)
    .await
    .map_err(database)?;
    let Some(user) = invited else { return Ok(None) };
    let used = sqlx::query!(
        "DELETE FROM membership_links WHERE token_hash = $1 AND expires_at > $2 RETURNING tenant_id, role",
        token_hash,
        now
    )
    .fetch_optional(connection)
    .await
    .map_err(database)?;
    Ok(used.map(|used| (user, Some((TenantId(used.tenant_id), used.role)))))
}

pub async fn join(
    connection: &mut PgConnection,
    scope: &Scope,
    email: &str,
    user: UserId,
    (tenant, role): Place,
    now: OffsetDateTime,
) -> StoreResult<()> {
    members::insert(connection, tenant, user, &role, now).await?;
    let reason = format!("as {role}, by an invitation");
    let act = Act {
        tenant: Some(tenant.0),
        action: "member.join",
        object_type: "user",
        object_id: email,
        reason: Some(&reason),
    };
    audit::record(connection, scope, now, act).await
}
