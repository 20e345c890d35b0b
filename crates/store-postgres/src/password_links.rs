//! One-time links with which somebody chooses a password.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::moment,
    error::database,
    invitations,
    users::UserRecord,
};
use leasehold_queue::{
    Actor, Permission, Reach, Scope, StoreResult,
    people::{NO_PASSWORD, PasswordLink},
};
use leasehold_types::{Problem, ProblemCode, UserId, people::LinkOwner, view::User};
use sqlx::PgConnection;
use time::OffsetDateTime;

/// Only the newest link of a user works.
pub async fn replace(
    connection: &mut PgConnection,
    user: UserId,
    link: &PasswordLink,
    now: OffsetDateTime,
) -> StoreResult<()> {
    remove(connection, user).await?;
    sqlx::query!(
        "INSERT INTO password_links (token_hash, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
        link.token_hash,
        user.0,
        now,
        moment(link.expires_at)
    )
    .execute(connection)
    .await
    .map(drop)
    .map_err(database)
}

pub async fn remove(connection: &mut PgConnection, user: UserId) -> StoreResult<()> {
    sqlx::query!("DELETE FROM password_links WHERE user_id = $1", user.0)
        .execute(connection)
        .await
        .map(drop)
        .map_err(database)
}

pub async fn offer(
    store: &PostgresStore,
    scope: &Scope,
    user: UserId,
    link: PasswordLink,
) -> StoreResult<User> {
    let now = store.now();
    let mut tx = store.work.begin().await.map_err(database)?;
    if let Some(tenant) = scope.tenant()
        && !invitations::renew(&mut tx, tenant, user, &link).await?
    {
        return Err(Problem::not_found("This invitation").into());
    }
    let found = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users
         WHERE id = $1 AND disabled_at IS NULL FOR UPDATE",
        user.0
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?;
    let (user, _) = found.map(<(User, String)>::from).ok_or_else(|| Problem::not_found("This user"))?;
    let action = match scope.tenant() {
        Some(_) => "member.invite",
        None => {
            replace(&mut tx, user.id, &link, now).await?;
            "user.password_link"
        }
    };
    let act = Act {
        tenant: scope.tenant().map(|t| t.0),
        action,
        object_type: "user",
        object_id: &user.email,
        reason: None,
    };
    audit::record(&mut tx, scope, now, act).await?;
    tx.commit().await.map_err(database)?;
    Ok(user)
}

pub async fn owner(store: &PostgresStore, token_hash: &str) -> StoreResult<Option<LinkOwner>> {
    let found = sqlx::query_as!(
        UserRecord,
        "SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by
         FROM password_links l JOIN users u ON u.id = l.user_id
         WHERE l.token_hash = $1 AND l.expires_at > $2 AND u.disabled_at IS NULL",
        token_hash,
        store.now()
    )
    .fetch_optional(&store.work)
    .await
    .map_err(database)?;
    let Some(found) = found else { return invitations::owner(store, token_hash).await };
    let made_by = found.created_by.clone();
    let (user, hash) = <(User, String)>::from(found);
    Ok(Some(LinkOwner { user, invited: hash == NO_PASSWORD, joins: None, made_by }))
}

pub async fn follow(
    store: &PostgresStore,
    token_hash: &str,
    name: Option<&str>,
    password_hash: &str,
    origin: Option<String>,
) -> StoreResult<User> {
    let now = store.now();
    let mut tx = store.work.begin().await.map_err(database)?;
    // Of two browsers with the same link the delete lets only one find it.
    let used = sqlx::query_scalar!(
        "DELETE FROM password_links WHERE token_hash = $1 AND expires_at > $2 RETURNING user_id",
        token_hash,
        now
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?;
    // An invitation lets somebody choose a password who has none, and nobody else.
    let (user, joins) = match used {
        Some(user) => (user, None),
        None => invitations::take_first(&mut tx, token_hash, now).await?.ok_or_else(invalid)?,
    };
    let found = sqlx::query_as!(
        UserRecord,
        "UPDATE users SET password_hash = $2, name = COALESCE($3, name), updated_at = $4
         WHERE id = $1 AND disabled_at IS NULL
         RETURNING id, email, name, password_hash, super_admin, created_at, created_by",
        user,
        password_hash,
        name,
        now
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?;
    let (user, _) = found.map(<(User, String)>::from).ok_or_else(invalid)?;
    remove(&mut tx, user.id).await?;
    sqlx::query!("DELETE FROM sessions WHERE user_id = $1", user.id.0)
        .execute(&mut *tx)
        .await
        .map_err(database)?;
    let actor = Actor::User { id: user.id, email: user.email.clone() };
    let themselves = Scope::new(Reach::All, actor, Permission::View).coming_from(origin);
    let act = Act {
        tenant: None,
        action: "user.password",
        object_type: "user",
        object_id: &user.email,
        reason: Some("by a link"),
    };
    audit::record(&mut tx, &themselves, now, act).await?;
    if let Some(place) = joins {
        invitations::join(&mut tx, &themselves, &user.email, user.id, place, now).await?;
    }
    tx.commit().await.map_err(database)?;
    Ok(user)
}

pub fn invalid() -> Problem {
    let detail =
        "This link was used, has expired or was never valid. Ask for a new one; nothing was changed.";
    Problem::new(ProblemCode::SetupLinkInvalid, detail)
}
