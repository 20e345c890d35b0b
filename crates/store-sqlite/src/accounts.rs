//! Accounts and their sessions.

use crate::{
    SqliteStore,
    audit::{Deed, audit},
    convert::Table,
    error::Outcome,
    invitations, members, password_links, sessions,
};
use async_trait::async_trait;
use leasehold_queue::{
    People, Scope, StoreResult,
    params::SessionRow,
    people::{EndSessions, NO_PASSWORD, NewMember, PasswordLink},
};
use leasehold_types::{
    Problem, ProblemCode, Role, TenantId, Timestamp, UserId,
    people::{Account, Invitation, LinkOwner, Member},
    view::User,
};

const USERS: Table = Table("users");
const SESSIONS: Table = Table("sessions");

#[async_trait]
impl People for SqliteStore {
    async fn accounts(&self) -> StoreResult<Vec<Account>> {
        Ok(all(self).await?)
    }
    async fn members(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Vec<Member>> {
        Ok(members::of_tenant(self, scope, tenant).await?)
    }
    async fn invite(&self, scope: &Scope, member: NewMember) -> StoreResult<Invitation> {
        Ok(members::invite(self, scope, member).await?)
    }
    async fn set_role(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        role: Role,
        even_the_last: bool,
    ) -> StoreResult<()> {
        Ok(members::change(self, scope, tenant, user, Some(role), even_the_last).await?)
    }
    async fn remove_member(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        even_the_last: bool,
    ) -> StoreResult<()> {
        Ok(members::change(self, scope, tenant, user, None, even_the_last).await?)
    }
    async fn set_disabled(&self, scope: &Scope, user: UserId, disabled: bool) -> StoreResult<()> {
        Ok(set_disabled(self, scope, user, disabled).await?)
    }
    async fn offer_password_link(
        &self,
        scope: &Scope,
        user: UserId,
        link: PasswordLink,
    ) -> StoreResult<User> {
        Ok(password_links::offer(self, scope, user, link).await?)
    }
    async fn join(&self, scope: &Scope, user: UserId, token_hash: &str) -> StoreResult<TenantId> {
        Ok(invitations::accept(self, scope, user, token_hash).await?)
    }
    async fn link_owner(&self, token_hash: &str) -> StoreResult<Option<LinkOwner>> {
        Ok(password_links::owner(self, token_hash).await?)
    }
    async fn choose_password(
        &self,
        token_hash: &str,
        name: Option<&str>,
        password_hash: &str,
        origin: Option<String>,
    ) -> StoreResult<User> {
        Ok(password_links::follow(self, token_hash, name, password_hash, origin).await?)
    }
    async fn change_password(
        &self,
        scope: &Scope,
        user: UserId,
        password_hash: &str,
        keep_session: &str,
    ) -> StoreResult<()> {
        Ok(change_password(self, scope, user, password_hash, keep_session).await?)
    }
    async fn rename_user(&self, scope: &Scope, user: UserId, name: &str) -> StoreResult<()> {
        Ok(rename(self, scope, user, name).await?)
    }
    async fn sessions_of(&self, user: UserId) -> StoreResult<Vec<(SessionRow, Timestamp)>> {
        Ok(sessions_of(self, user).await?)
    }
    async fn update_session(&self, session: SessionRow) -> StoreResult<bool> {
        Ok(sessions::update(self, session).await?)
    }
    async fn end_sessions(&self, scope: &Scope, user: UserId, which: EndSessions) -> StoreResult<u64> {
        Ok(end_sessions(self, scope, user, which).await?)
    }
}

async fn all(store: &SqliteStore) -> Outcome<Vec<Account>> {
    let rows = sqlx::query!(
        r#"SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by, u.disabled_at,
                  (SELECT json_group_array(slug) FROM
                     (SELECT t.slug FROM memberships m JOIN tenants t ON t.id = m.tenant_id
                      WHERE m.user_id = u.id ORDER BY t.name, t.slug)) AS "tenants!: String"
           FROM users u ORDER BY u.email"#
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Account {
                invited: row.password_hash == NO_PASSWORD,
                disabled_at: USERS.time_opt("disabled_at", row.disabled_at.as_deref())?,
                tenants: USERS.json("tenants", &row.tenants)?,
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

async fn set_disabled(store: &SqliteStore, scope: &Scope, user: UserId, disabled: bool) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, now_text) = (user.to_string(), now.to_string());
    let governing =
        sqlx::query_scalar!("SELECT id FROM users WHERE super_admin <> 0 AND disabled_at IS NULL")
            .fetch_all(&mut *tx)
            .await?;
    if disabled && governing == [id.as_str()] {
        let detail = "This is the last super-admin who can sign in. Nothing was changed.";
        return Err(Problem::new(ProblemCode::Forbidden, detail).into());
    }
    let email = sqlx::query_scalar!(
        "UPDATE users SET disabled_at = CASE WHEN ?2 THEN COALESCE(disabled_at, ?3) END, updated_at = ?3
         WHERE id = ?1 RETURNING email",
        id,
        disabled,
        now_text
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| Problem::not_found("This user"))?;
    if disabled {
        password_links::remove(&mut tx, user).await?;
        sqlx::query!("DELETE FROM sessions WHERE user_id = ?1", id).execute(&mut *tx).await?;
    }
    let action = if disabled { "user.disable" } else { "user.enable" };
    audit(&mut tx, scope, &[Deed::new(None, action, "user", &email)], now).await?;
    Ok(tx.commit().await?)
}

async fn change_password(
    store: &SqliteStore,
    scope: &Scope,
    user: UserId,
    password_hash: &str,
    keep_session: &str,
) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, now_text) = (user.to_string(), now.to_string());
    let email = sqlx::query_scalar!(
        "UPDATE users SET password_hash = ?2, updated_at = ?3 WHERE id = ?1 RETURNING email",
        id,
        password_hash,
        now_text
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| Problem::not_found("This user"))?;
    sqlx::query!("DELETE FROM sessions WHERE user_id = ?1 AND id <> ?2", id, keep_session)
        .execute(&mut *tx)
        .await?;
    // A link that lies about somewhere must not undo this.
    password_links::remove(&mut tx, user).await?;
    audit(&mut tx, scope, &[Deed::new(None, "user.password", "user", &email)], now).await?;
    Ok(tx.commit().await?)
}

async fn rename(store: &SqliteStore, scope: &Scope, user: UserId, name: &str) -> Outcome<()> {
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let (id, now_text) = (user.to_string(), now.to_string());
    let email = sqlx::query_scalar!(
        "UPDATE users SET name = ?2, updated_at = ?3 WHERE id = ?1 RETURNING email",
        id,
        name,
        now_text
    )
    .fetch_optional(&mut *tx)
    .await?
    .ok_or_else(|| Problem::not_found("This user"))?;
    audit(&mut tx, scope, &[Deed::new(None, "user.rename", "user", &email)], now).await?;
    Ok(tx.commit().await?)
}

async fn sessions_of(store: &SqliteStore, user: UserId) -> Outcome<Vec<(SessionRow, Timestamp)>> {
    let (id, now) = (user.to_string(), store.clock.now().to_string());
    let rows = sqlx::query!(
        "SELECT id, data, created_at, expires_at FROM sessions
         WHERE user_id = ?1 AND expires_at > ?2 ORDER BY created_at DESC, id",
        id,
        now
    )
    .fetch_all(&store.read)
    .await?;
    rows.into_iter()
        .map(|row| {
            let session = SessionRow {
                user_id: Some(user),
                data: SESSIONS.json("data", &row.data)?,
                expires_at: SESSIONS.time("expires_at", &row.expires_at)?,
                id_hash: row.id,
            };
            Ok((session, SESSIONS.time("created_at", &row.created_at)?))
        })
        .collect()
}

async fn end_sessions(store: &SqliteStore, scope: &Scope, user: UserId, which: EndSessions) -> Outcome<u64> {
    let (only, but) = match which {
        EndSessions::Only(id) => (Some(id), None),
        EndSessions::AllBut(id) => (None, Some(id)),
    };
    let mut tx = store.begin().await?;
    let now = store.clock.now();
    let id = user.to_string();
    let ended = sqlx::query!(
        "DELETE FROM sessions WHERE user_id = ?1 AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR id <> ?3)",
        id,
        only,
        but
    )
    .execute(&mut *tx)
    .await?
    .rows_affected();
    if ended > 0 {
        audit(&mut tx, scope, &[Deed::new(None, "session.end", "user", &scope.actor)], now).await?;
    }
    tx.commit().await?;
    Ok(ended)
}
