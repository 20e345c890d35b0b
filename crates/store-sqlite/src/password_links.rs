//! One-time links with which somebody chooses a password.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    error::Outcome,
    invitations,
    users::UserRecord,
};
use leasehold_queue::{
    Actor, Permission, Reach, Scope,
    people::{NO_PASSWORD, PasswordLink},
};
use leasehold_types::{Problem, ProblemCode, Timestamp, UserId, people::LinkOwner, view::User};
use sqlx::SqliteConnection;

/// Only the newest link of a user works.
pub(crate) async fn replace(
    connection: &mut SqliteConnection,
    user: UserId,
    link: &PasswordLink,
    now: Timestamp,
) -> Outcome<()> {
    remove(connection, user).await?;
    let (user, now, expires_at) = (user.to_string(), now.to_string(), link.expires_at.to_string());
    sqlx::query!(
        "INSERT INTO password_links (token_hash, user_id, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
        link.token_hash,
        user,
        now,
        expires_at
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub(crate) async fn remove(connection: &mut SqliteConnection, user: UserId) -> Outcome<()> {
    let user = user.to_string();
    sqlx::query!("DELETE FROM password_links WHERE user_id = ?1", user).execute(connection).await?;
    Ok(())
}

pub(crate) async fn offer(
    store: &SqliteStore,
    scope: &Scope,
    user: UserId,
    link: PasswordLink,
) -> Outcome<User> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let id = user.to_string();
    if let Some(tenant) = scope.tenant()
        && !invitations::renew(&mut tx, tenant, user, &link).await?
    {
        return Err(Problem::not_found("This invitation").into());
    }
    let found = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users
         WHERE id = ?1 AND disabled_at IS NULL",
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    let (user, _) = <(User, String)>::try_from(found.ok_or_else(|| Problem::not_found("This user"))?)?;
    let action = match scope.tenant() {
        Some(_) => "member.invite",
        None => {
            replace(&mut tx, user.id, &link, now).await?;
            "user.password_link"
        }
    };
    let deed = Deed::new(scope.tenant(), action, "user", &user.email);
    audit(&mut tx, scope, &[deed], now).await?;
    tx.commit().await?;
    Ok(user)
}

pub(crate) async fn owner(store: &SqliteStore, token_hash: &str) -> Outcome<Option<LinkOwner>> {
    let now = store.clock.now().to_string();
    let found = sqlx::query_as!(
        UserRecord,
        "SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by
         FROM password_links l JOIN users u ON u.id = l.user_id
         WHERE l.token_hash = ?1 AND l.expires_at > ?2 AND u.disabled_at IS NULL",
        token_hash,
        now
    )
    .fetch_optional(&store.read)
    .await?;
    let Some(found) = found else { return invitations::owner(store, token_hash).await };
    let made_by = found.created_by.clone();
    let (user, hash) = <(User, String)>::try_from(found)?;
    Ok(Some(LinkOwner { user, invited: hash == NO_PASSWORD, joins: None, made_by }))
}

pub(crate) async fn follow(
    store: &SqliteStore,
    token_hash: &str,
    name: Option<&str>,
    password_hash: &str,
    origin: Option<String>,
) -> Outcome<User> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let now_text = now.to_string();
    let used = sqlx::query_scalar!(
        "DELETE FROM password_links WHERE token_hash = ?1 AND expires_at > ?2 RETURNING user_id",
        token_hash,
        now_text
    )
    .fetch_optional(&mut *tx)
    .await?;
    // An invitation lets somebody choose a password who has none, and nobody else.
    let (id, joins) = match used {
        Some(id) => (id, None),
        None => invitations::take_first(&mut tx, token_hash, now).await?.ok_or_else(invalid)?,
    };
    sqlx::query!(
        "UPDATE users SET password_hash = ?2, name = COALESCE(?3, name), updated_at = ?4
         WHERE id = ?1 AND disabled_at IS NULL",
        id,
        password_hash,
        name,
        now_text
    )
    .execute(&mut *tx)
    .await?;
    let found = sqlx::query_as!(
        UserRecord,
        "SELECT id, email, name, password_hash, super_admin, created_at, created_by FROM users
         WHERE id = ?1 AND disabled_at IS NULL",
        id
    )
    .fetch_optional(&mut *tx)
    .await?;
    let (user, _) = <(User, String)>::try_from(found.ok_or_else(invalid)?)?;
    remove(&mut tx, user.id).await?;
    sqlx::query!("DELETE FROM sessions WHERE user_id = ?1", id).execute(&mut *tx).await?;
    let actor = Actor::User { id: user.id, email: user.email.clone() };
    let themselves = Scope::new(Reach::All, actor, Permission::View).coming_from(origin);
    let deed = Deed::new(None, "user.password", "user", &user.email).because(Some("by a link"));
    audit(&mut tx, &themselves, &[deed], now).await?;
    if let Some(place) = joins {
        invitations::join(&mut tx, &themselves, &user.email, user.id, place, now).await?;
    }
    tx.commit().await?;
    Ok(user)
}

pub(crate) fn invalid() -> Problem {
    let detail =
        "This link was used, has expired or was never valid. Ask for a new one; nothing was changed.";
    Problem::new(ProblemCode::SetupLinkInvalid, detail)
}
