//! Accounts and their sessions.

use crate::{
    PostgresStore,
    audit::{self, Act},
    convert::{stamp, stamp_if},
    error::database,
    invitations, members, password_links,
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
use sqlx::PgConnection;
use time::OffsetDateTime;

#[async_trait]
impl People for PostgresStore {
    async fn accounts(&self) -> StoreResult<Vec<Account>> {
        all(self).await
    }
    async fn members(&self, scope: &Scope, tenant: TenantId) -> StoreResult<Vec<Member>> {
        members::of_tenant(self, scope, tenant).await
    }
    async fn invite(&self, scope: &Scope, member: NewMember) -> StoreResult<Invitation> {
        members::invite(self, scope, member).await
    }
    async fn set_role(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        role: Role,
        even_the_last: bool,
    ) -> StoreResult<()> {
        members::change(self, scope, tenant, user, Some(role), even_the_last).await
    }
    async fn remove_member(
        &self,
        scope: &Scope,
        tenant: TenantId,
        user: UserId,
        even_the_last: bool,
    ) -> StoreResult<()> {
        members::change(self, scope, tenant, user, None, even_the_last).await
    }
    async fn set_disabled(&self, scope: &Scope, user: UserId, disabled: bool) -> StoreResult<()> {
        set_disabled(self, scope, user, disabled).await
    }
    async fn offer_password_link(
        &self,
        scope: &Scope,
        user: UserId,
        link: PasswordLink,
    ) -> StoreResult<User> {
        password_links::offer(self, scope, user, link).await
    }
    async fn join(&self, scope: &Scope, user: UserId, token_hash: &str) -> StoreResult<TenantId> {
        invitations::accept(self, scope, user, token_hash).await
    }
    async fn link_owner(&self, token_hash: &str) -> StoreResult<Option<LinkOwner>> {
        password_links::owner(self, token_hash).await
    }
    async fn choose_password(
        &self,
        token_hash: &str,
        name: Option<&str>,
        password_hash: &str,
        origin: Option<String>,
    ) -> StoreResult<User> {
        password_links::follow(self, token_hash, name, password_hash, origin).await
    }
    async fn change_password(
        &self,
        scope: &Scope,
        user: UserId,
        password_hash: &str,
        keep_session: &str,
    ) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let email = sqlx::query_scalar!(
            "UPDATE users SET password_hash = $2, updated_at = $3 WHERE id = $1 RETURNING email",
            user.0,
            password_hash,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This user"))?;
        sqlx::query!("DELETE FROM sessions WHERE user_id = $1 AND id <> $2", user.0, keep_session)
            .execute(&mut *tx)
            .await
            .map_err(database)?;
        // A link that lies about somewhere must not undo this.
        password_links::remove(&mut tx, user).await?;
        record(&mut tx, scope, now, "user.password", &email).await?;
        tx.commit().await.map_err(database)
    }
    async fn rename_user(&self, scope: &Scope, user: UserId, name: &str) -> StoreResult<()> {
        let now = self.now();
        let mut tx = self.work.begin().await.map_err(database)?;
        let email = sqlx::query_scalar!(
            "UPDATE users SET name = $2, updated_at = $3 WHERE id = $1 RETURNING email",
            user.0,
            name,
            now
        )
        .fetch_optional(&mut *tx)
        .await
        .map_err(database)?
        .ok_or_else(|| Problem::not_found("This user"))?;
        record(&mut tx, scope, now, "user.rename", &email).await?;
        tx.commit().await.map_err(database)
    }
    async fn sessions_of(&self, user: UserId) -> StoreResult<Vec<(SessionRow, Timestamp)>> {
        let rows = sqlx::query!(
            "SELECT id, data, created_at, expires_at FROM sessions
             WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC, id",
            user.0,
            self.now()
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let row = |id_hash, data, expires_at| SessionRow {
            id_hash,
            user_id: Some(user),
            data,
            expires_at: stamp(expires_at),
        };
        Ok(rows.into_iter().map(|r| (row(r.id, r.data, r.expires_at), stamp(r.created_at))).collect())
    }
    async fn update_session(&self, session: SessionRow) -> StoreResult<bool> {
        self.update_session_row(session).await
    }
    async fn end_sessions(&self, scope: &Scope, user: UserId, which: EndSessions) -> StoreResult<u64> {
        let now = self.now();
        let (only, but) = match which {
            EndSessions::Only(id) => (Some(id), None),
            EndSessions::AllBut(id) => (None, Some(id)),
        };
        let mut tx = self.work.begin().await.map_err(database)?;
        let ended = sqlx::query!(
            "DELETE FROM sessions
             WHERE user_id = $1 AND ($2::text IS NULL OR id = $2) AND ($3::text IS NULL OR id <> $3)",
            user.0,
            only,
            but
        )
        .execute(&mut *tx)
        .await
        .map_err(database)?
        .rows_affected();
        if ended > 0 {
            record(&mut tx, scope, now, "session.end", &scope.actor.to_string()).await?;
        }
        tx.commit().await.map_err(database)?;
        Ok(ended)
    }
}

async fn all(store: &PostgresStore) -> StoreResult<Vec<Account>> {
    let rows = sqlx::query!(
        r#"SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by, u.disabled_at,
                  ARRAY(SELECT t.slug FROM memberships m JOIN tenants t ON t.id = m.tenant_id
                        WHERE m.user_id = u.id ORDER BY t.name, t.slug) AS "tenants!"
           FROM users u ORDER BY u.email"#
    )
    .fetch_all(&store.work)
    .await
    .map_err(database)?;
    let account = |user, hash: String, disabled_at, tenants, made_by| Account {
        user,
        invited: hash == NO_PASSWORD,
        disabled_at: stamp_if(disabled_at),
        tenants,
        made_by,
    };
    Ok(rows
        .into_iter()
        .map(|r| {
            let user = User {
                id: UserId(r.id),
                email: r.email,
                name: r.name,
                super_admin: r.super_admin,
                created_at: stamp(r.created_at),
            };
            account(user, r.password_hash, r.disabled_at, r.tenants, r.created_by)
        })
        .collect())
}

async fn set_disabled(store: &PostgresStore, scope: &Scope, user: UserId, disabled: bool) -> StoreResult<()> {
    let now = store.now();
    let mut tx = store.work.begin().await.map_err(database)?;
    // Two super-admins who disable each other at once: one of them stays.
    let governing = sqlx::query_scalar!(
        "SELECT id FROM users WHERE super_admin AND disabled_at IS NULL ORDER BY id FOR UPDATE"
    )
    .fetch_all(&mut *tx)
    .await
    .map_err(database)?;
    if disabled && governing == [user.0] {
        let detail = "This is the last super-admin who can sign in. Nothing was changed.";
        return Err(Problem::new(ProblemCode::Forbidden, detail).into());
    }
    let email = sqlx::query_scalar!(
        "UPDATE users SET disabled_at = CASE WHEN $2 THEN COALESCE(disabled_at, $3) END, updated_at = $3
         WHERE id = $1 RETURNING email",
        user.0,
        disabled,
        now
    )
    .fetch_optional(&mut *tx)
    .await
    .map_err(database)?
    .ok_or_else(|| Problem::not_found("This user"))?;
    if disabled {
        password_links::remove(&mut tx, user).await?;
        sqlx::query!("DELETE FROM sessions WHERE user_id = $1", user.0)
            .execute(&mut *tx)
            .await
            .map_err(database)?;
    }
    let action = if disabled { "user.disable" } else { "user.enable" };
    record(&mut tx, scope, now, action, &email).await?;
    tx.commit().await.map_err(database)
}

async fn record(
    connection: &mut PgConnection,
    scope: &Scope,
    now: OffsetDateTime,
    action: &str,
    email: &str,
) -> StoreResult<()> {
    let act = Act { tenant: None, action, object_type: "user", object_id: email, reason: None };
    audit::record(connection, scope, now, act).await
}
