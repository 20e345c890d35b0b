//! The rows of one-time links with which a password is chosen.

use crate::{
    SqliteStore,
    convert::Table,
    error::{Outcome, outcome},
    tx::SqliteTx,
    users::UserRecord,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    people::PasswordLink,
    ports::{
        password_links::{PasswordLinkQueries, PasswordLinkRows},
        tx::Tx,
        users::UserRow,
    },
};
use leasehold_types::{
    Timestamp, UserId,
    people::{Joining, LinkOwner},
};

const LINKS: Table = Table("password_links");
const INVITATIONS: Table = Table("membership_links");

#[async_trait]
impl PasswordLinkRows for SqliteTx {
    async fn insert_password_link(&mut self, user: UserId, link: &PasswordLink) -> Outcome<()> {
        let (user, now, expires_at) = (user.to_string(), self.now().to_string(), link.expires_at.to_string());
        sqlx::query!(
            "INSERT INTO password_links (token_hash, user_id, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)",
            link.token_hash,
            user,
            now,
            expires_at
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_password_links(&mut self, user: UserId) -> Outcome<()> {
        let user = user.to_string();
        sqlx::query!("DELETE FROM password_links WHERE user_id = ?1", user).execute(&mut *self.tx).await?;
        Ok(())
    }

    async fn password_link_user(&mut self, token_hash: &str) -> Outcome<Option<UserId>> {
        let user =
            sqlx::query_scalar!("SELECT user_id FROM password_links WHERE token_hash = ?1", token_hash)
                .fetch_optional(&mut *self.tx)
                .await?;
        LINKS.parse_opt("user_id", user.as_deref())
    }

    async fn take_password_link(&mut self, token_hash: &str) -> Outcome<Option<Timestamp>> {
        let expires_at = sqlx::query_scalar!(
            "DELETE FROM password_links WHERE token_hash = ?1 RETURNING expires_at",
            token_hash
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        LINKS.time_opt("expires_at", expires_at.as_deref())
    }
}

#[async_trait]
impl PasswordLinkQueries for SqliteStore {
    async fn link_owner(&self, token_hash: &str) -> StoreResult<Option<LinkOwner>> {
        outcome(async {
            let now = self.clock.now().to_string();
            let row = sqlx::query!(
                r#"SELECT u.id AS "id!: String", u.email AS "email!: String", u.name AS "name!: String",
                          u.password_hash AS "password_hash!: String", u.super_admin AS "super_admin!: bool",
                          u.created_at AS "created_at!: String", u.created_by AS "created_by?: String",
                          l.role AS "role?: String", l.tenant_name AS "tenant_name?: String"
                   FROM (SELECT user_id, expires_at, NULL AS role, NULL AS tenant_name
                         FROM password_links WHERE token_hash = ?1
                         UNION ALL
                         SELECT m.user_id, m.expires_at, m.role, t.name
                         FROM membership_links m JOIN tenants t ON t.id = m.tenant_id WHERE m.token_hash = ?1) l
                   JOIN users u ON u.id = l.user_id
                   WHERE l.expires_at > ?2 AND u.disabled_at IS NULL"#,
                token_hash,
                now
            )
            .fetch_optional(&self.read)
            .await?;
            let Some(row) = row else { return Ok(None) };
            let role = INVITATIONS.parse_opt("role", row.role.as_deref())?;
            let joins = row.tenant_name.zip(role).map(|(tenant_name, role)| Joining { tenant_name, role });
            let row = UserRow::try_from(UserRecord {
                id: row.id,
                email: row.email,
                name: row.name,
                password_hash: row.password_hash,
                super_admin: row.super_admin,
                created_at: row.created_at,
                created_by: row.created_by,
                disabled_at: None,
            })?;
            Ok(Some(row.link_owner(joins)))
        })
        .await
    }
}
