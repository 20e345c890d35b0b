//! The rows of users.

use crate::{
    SqliteStore,
    convert::Table,
    error::{Error, Outcome, outcome},
    tenants::TenantRecord,
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::{
        tx::Tx,
        users::{UserQueries, UserRow, UserRows},
    },
};
use leasehold_types::{
    Timestamp, UserId,
    people::Account,
    view::{Membership, User},
};

const USERS: Table = Table("users");
const MEMBERSHIPS: Table = Table("memberships");

pub(crate) struct UserRecord {
    pub id: String,
    pub email: String,
    pub name: String,
    pub password_hash: String,
    pub super_admin: bool,
    pub created_at: String,
    pub created_by: Option<String>,
    pub disabled_at: Option<String>,
}

impl TryFrom<UserRecord> for UserRow {
    type Error = Error;

    fn try_from(row: UserRecord) -> Outcome<Self> {
        let user = User {
            id: USERS.parse("id", &row.id)?,
            created_at: USERS.time("created_at", &row.created_at)?,
            super_admin: row.super_admin,
            email: row.email,
            name: row.name,
        };
        let disabled_at = USERS.time_opt("disabled_at", row.disabled_at.as_deref())?;
        Ok(Self { user, password_hash: row.password_hash, made_by: row.created_by, disabled_at })
    }
}

#[async_trait]
impl UserRows for SqliteTx {
    async fn has_users(&mut self) -> Outcome<bool> {
        Ok(sqlx::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM users) AS "found!: bool""#)
            .fetch_one(&mut *self.tx)
            .await?)
    }

    async fn insert_user(&mut self, row: &UserRow) -> Outcome<bool> {
        let (id, created_at) = (row.user.id.to_string(), row.user.created_at.to_string());
        let done = sqlx::query!(
            "INSERT INTO users (id, email, name, password_hash, super_admin, created_at, updated_at, created_by)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7)
             ON CONFLICT (email) DO NOTHING",
            id,
            row.user.email,
            row.user.name,
            row.password_hash,
            row.user.super_admin,
            created_at,
            row.made_by
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn lock_user(&mut self, id: UserId) -> Outcome<Option<UserRow>> {
        let id = id.to_string();
        let row = sqlx::query_as!(
            UserRecord,
            r#"SELECT id, email, name, password_hash, super_admin AS "super_admin: bool", created_at, created_by,
                      disabled_at
               FROM users WHERE id = ?1"#,
            id
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn lock_user_by_email(&mut self, email: &str) -> Outcome<Option<UserRow>> {
        let row = sqlx::query_as!(
            UserRecord,
            r#"SELECT id, email, name, password_hash, super_admin AS "super_admin: bool", created_at, created_by,
                      disabled_at
               FROM users WHERE email = ?1"#,
            email
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn lock_super_admins(&mut self) -> Outcome<Vec<UserId>> {
        let ids = sqlx::query_scalar!("SELECT id FROM users WHERE super_admin <> 0 AND disabled_at IS NULL")
            .fetch_all(&mut *self.tx)
            .await?;
        ids.iter().map(|id| USERS.parse("id", id)).collect()
    }

    async fn update_user(
        &mut self,
        id: UserId,
        name: Option<&str>,
        password_hash: Option<&str>,
    ) -> Outcome<Option<UserRow>> {
        let (id, now) = (id.to_string(), self.now().to_string());
        let row = sqlx::query_as!(
            UserRecord,
            r#"UPDATE users SET name = COALESCE(?2, name), password_hash = COALESCE(?3, password_hash), updated_at = ?4
               WHERE id = ?1
               RETURNING id AS "id!", email AS "email!", name AS "name!", password_hash AS "password_hash!",
                         super_admin AS "super_admin!: bool", created_at AS "created_at!", created_by, disabled_at"#,
            id,
            name,
            password_hash,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn set_disabled_at(&mut self, id: UserId, at: Option<Timestamp>) -> Outcome<()> {
        let (id, at, now) = (id.to_string(), at.map(|at| at.to_string()), self.now().to_string());
        sqlx::query!("UPDATE users SET disabled_at = ?2, updated_at = ?3 WHERE id = ?1", id, at, now)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }
}

#[async_trait]
impl UserQueries for SqliteStore {
    async fn has_users(&self) -> StoreResult<bool> {
        outcome(async {
            Ok(sqlx::query_scalar!(r#"SELECT EXISTS (SELECT 1 FROM users) AS "found!: bool""#)
                .fetch_one(&self.read)
                .await?)
        })
        .await
    }

    async fn credentials(&self, email: &str) -> StoreResult<Option<(User, String)>> {
        outcome(async {
            let row = sqlx::query_as!(
                UserRecord,
                r#"SELECT id, email, name, password_hash, super_admin AS "super_admin: bool", created_at, created_by,
                          disabled_at
                   FROM users WHERE email = ?1 AND disabled_at IS NULL"#,
                email
            )
            .fetch_optional(&self.read)
            .await?;
            let Some(row) = row.map(UserRow::try_from).transpose()? else { return Ok(None) };
            Ok(Some((row.user, row.password_hash)))
        })
        .await
    }

    async fn user(&self, id: UserId) -> StoreResult<Option<User>> {
        outcome(async {
            let id = id.to_string();
            let row = sqlx::query_as!(
                UserRecord,
                r#"SELECT id, email, name, password_hash, super_admin AS "super_admin: bool", created_at, created_by,
                          disabled_at
                   FROM users WHERE id = ?1 AND disabled_at IS NULL"#,
                id
            )
            .fetch_optional(&self.read)
            .await?;
            Ok(row.map(UserRow::try_from).transpose()?.map(|row| row.user))
        })
        .await
    }

    async fn memberships(&self, user: UserId) -> StoreResult<Vec<Membership>> {
        outcome(async {
            let user = user.to_string();
            let rows = sqlx::query!(
                "SELECT t.id, t.slug, t.name, t.timezone, t.limits, t.created_at, m.role
                 FROM memberships m JOIN tenants t ON t.id = m.tenant_id
                 WHERE m.user_id = ?1 ORDER BY t.name, t.slug",
                user
            )
            .fetch_all(&self.read)
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
        })
        .await
    }

    async fn accounts(&self) -> StoreResult<Vec<Account>> {
        outcome(async {
            let rows = sqlx::query!(
                r#"SELECT u.id, u.email, u.name, u.password_hash, u.super_admin AS "super_admin: bool", u.created_at,
                          u.created_by, u.disabled_at,
                          (SELECT json_group_array(slug) FROM
                             (SELECT t.slug FROM memberships m JOIN tenants t ON t.id = m.tenant_id
                              WHERE m.user_id = u.id ORDER BY t.name, t.slug)) AS "tenants!: String"
                   FROM users u ORDER BY u.email"#
            )
            .fetch_all(&self.read)
            .await?;
            rows.into_iter()
                .map(|row| {
                    let tenants = USERS.json("tenants", &row.tenants)?;
                    let row = UserRow::try_from(UserRecord {
                        id: row.id,
                        email: row.email,
                        name: row.name,
                        password_hash: row.password_hash,
                        super_admin: row.super_admin,
                        created_at: row.created_at,
                        created_by: row.created_by,
                        disabled_at: row.disabled_at,
                    })?;
                    Ok(row.account(tenants))
                })
                .collect()
        })
        .await
    }
}
