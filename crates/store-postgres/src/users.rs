//! The rows of users.

use crate::{
    PostgresStore,
    convert::{moment, stamp, stamp_if, word},
    error::{Outcome, outcome},
    tenants::TenantRecord,
    tx::PostgresTx,
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
use time::OffsetDateTime;
use uuid::Uuid;

pub(crate) struct UserRecord {
    pub id: Uuid,
    pub email: String,
    pub name: String,
    pub password_hash: String,
    pub super_admin: bool,
    pub created_at: OffsetDateTime,
    pub created_by: Option<String>,
    pub disabled_at: Option<OffsetDateTime>,
}

impl From<UserRecord> for UserRow {
    fn from(r: UserRecord) -> Self {
        let user = User {
            id: UserId(r.id),
            email: r.email,
            name: r.name,
            super_admin: r.super_admin,
            created_at: stamp(r.created_at),
        };
        let disabled_at = stamp_if(r.disabled_at);
        Self { user, password_hash: r.password_hash, made_by: r.created_by, disabled_at }
    }
}

#[async_trait]
impl UserRows for PostgresTx {
    async fn has_users(&mut self) -> Outcome<bool> {
        Ok(sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM users) AS "found!""#)
            .fetch_one(&mut *self.tx)
            .await?)
    }

    async fn insert_user(&mut self, row: &UserRow) -> Outcome<bool> {
        let done = sqlx::query!(
            "INSERT INTO users (id, email, name, password_hash, super_admin, created_at, updated_at, created_by)
             VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
             ON CONFLICT (email) DO NOTHING",
            row.user.id.0,
            row.user.email,
            row.user.name,
            row.password_hash,
            row.user.super_admin,
            moment(row.user.created_at),
            row.made_by
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn lock_user(&mut self, id: UserId) -> Outcome<Option<UserRow>> {
        let row = sqlx::query_as!(
            UserRecord,
            "SELECT id, email, name, password_hash, super_admin, created_at, created_by, disabled_at
             FROM users WHERE id = $1 FOR UPDATE",
            id.0
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        Ok(row.map(Into::into))
    }

    async fn lock_user_by_email(&mut self, email: &str) -> Outcome<Option<UserRow>> {
        let row = sqlx::query_as!(
            UserRecord,
            "SELECT id, email, name, password_hash, super_admin, created_at, created_by, disabled_at
             FROM users WHERE email = $1 FOR UPDATE",
            email
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        Ok(row.map(Into::into))
    }

    async fn lock_super_admins(&mut self) -> Outcome<Vec<UserId>> {
        let ids = sqlx::query_scalar!(
            "SELECT id FROM users WHERE super_admin AND disabled_at IS NULL ORDER BY id FOR UPDATE"
        )
        .fetch_all(&mut *self.tx)
        .await?;
        Ok(ids.into_iter().map(UserId).collect())
    }

    async fn update_user(
        &mut self,
        id: UserId,
        name: Option<&str>,
        password_hash: Option<&str>,
    ) -> Outcome<Option<UserRow>> {
        let now = moment(self.now());
        let row = sqlx::query_as!(
            UserRecord,
            "UPDATE users SET name = COALESCE($2, name), password_hash = COALESCE($3, password_hash), updated_at = $4
             WHERE id = $1
             RETURNING id, email, name, password_hash, super_admin, created_at, created_by, disabled_at",
            id.0,
            name,
            password_hash,
            now
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        Ok(row.map(Into::into))
    }

    async fn set_disabled_at(&mut self, id: UserId, at: Option<Timestamp>) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "UPDATE users SET disabled_at = $2, updated_at = $3 WHERE id = $1",
            id.0,
            at.map(moment),
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }
}

#[async_trait]
impl UserQueries for PostgresStore {
    async fn has_users(&self) -> StoreResult<bool> {
        outcome(async {
            Ok(sqlx::query_scalar!(r#"SELECT EXISTS (SELECT FROM users) AS "found!""#)
                .fetch_one(&self.work)
                .await?)
        })
        .await
    }

    async fn credentials(&self, email: &str) -> StoreResult<Option<(User, String)>> {
        outcome(async {
            let row = sqlx::query_as!(
                UserRecord,
                "SELECT id, email, name, password_hash, super_admin, created_at, created_by, disabled_at
                 FROM users WHERE email = $1 AND disabled_at IS NULL",
                email
            )
            .fetch_optional(&self.work)
            .await?;
            Ok(row.map(UserRow::from).map(|row| (row.user, row.password_hash)))
        })
        .await
    }

    async fn user(&self, id: UserId) -> StoreResult<Option<User>> {
        outcome(async {
            let row = sqlx::query_as!(
                UserRecord,
                "SELECT id, email, name, password_hash, super_admin, created_at, created_by, disabled_at
                 FROM users WHERE id = $1 AND disabled_at IS NULL",
                id.0
            )
            .fetch_optional(&self.work)
            .await?;
            Ok(row.map(UserRow::from).map(|row| row.user))
        })
        .await
    }

    async fn memberships(&self, user: UserId) -> StoreResult<Vec<Membership>> {
        outcome(async {
            let rows = sqlx::query!(
                "SELECT t.id, t.slug, t.name, t.timezone, t.limits, t.created_at, m.role
                 FROM memberships m JOIN tenants t ON t.id = m.tenant_id
                 WHERE m.user_id = $1 ORDER BY t.name, t.slug",
                user.0
            )
            .fetch_all(&self.work)
            .await?;
            rows.into_iter()
                .map(|r| {
                    let role = word("memberships", "role", &r.role)?;
                    let tenant = TenantRecord {
                        id: r.id,
                        slug: r.slug,
                        name: r.name,
                        timezone: r.timezone,
                        limits: r.limits,
                        created_at: r.created_at,
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
                r#"SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by,
                          u.disabled_at,
                          ARRAY(SELECT t.slug FROM memberships m JOIN tenants t ON t.id = m.tenant_id
                                WHERE m.user_id = u.id ORDER BY t.name, t.slug) AS "tenants!"
                   FROM users u ORDER BY u.email"#
            )
            .fetch_all(&self.work)
            .await?;
            let accounts = rows.into_iter().map(|r| {
                let row = UserRow::from(UserRecord {
                    id: r.id,
                    email: r.email,
                    name: r.name,
                    password_hash: r.password_hash,
                    super_admin: r.super_admin,
                    created_at: r.created_at,
                    created_by: r.created_by,
                    disabled_at: r.disabled_at,
                });
                row.account(r.tenants)
            });
            Ok(accounts.collect())
        })
        .await
    }
}
