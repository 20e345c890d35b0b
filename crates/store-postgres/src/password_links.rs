//! The rows of one-time links with which a password is chosen.

use crate::{
    PostgresStore,
    convert::{moment, stamp_if, word},
    error::{Outcome, outcome},
    tx::PostgresTx,
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

#[async_trait]
impl PasswordLinkRows for PostgresTx {
    async fn insert_password_link(&mut self, user: UserId, link: &PasswordLink) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "INSERT INTO password_links (token_hash, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
            link.token_hash,
            user.0,
            now,
            moment(link.expires_at)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_password_links(&mut self, user: UserId) -> Outcome<()> {
        sqlx::query!("DELETE FROM password_links WHERE user_id = $1", user.0).execute(&mut *self.tx).await?;
        Ok(())
    }

    async fn password_link_user(&mut self, token_hash: &str) -> Outcome<Option<UserId>> {
        let user =
            sqlx::query_scalar!("SELECT user_id FROM password_links WHERE token_hash = $1", token_hash)
                .fetch_optional(&mut *self.tx)
                .await?;
        Ok(user.map(UserId))
    }

    async fn take_password_link(&mut self, token_hash: &str) -> Outcome<Option<Timestamp>> {
        let expires_at = sqlx::query_scalar!(
            "DELETE FROM password_links WHERE token_hash = $1 RETURNING expires_at",
            token_hash
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        Ok(stamp_if(expires_at))
    }
}

#[async_trait]
impl PasswordLinkQueries for PostgresStore {
    async fn link_owner(&self, token_hash: &str) -> StoreResult<Option<LinkOwner>> {
        outcome(async {
            let row = sqlx::query!(
                r#"SELECT u.id, u.email, u.name, u.password_hash, u.super_admin, u.created_at, u.created_by,
                          l.role AS "role?", l.tenant_name AS "tenant_name?"
                   FROM (SELECT user_id, expires_at, NULL AS role, NULL AS tenant_name
                         FROM password_links WHERE token_hash = $1
                         UNION ALL
                         SELECT m.user_id, m.expires_at, m.role, t.name
                         FROM membership_links m JOIN tenants t ON t.id = m.tenant_id WHERE m.token_hash = $1) l
                   JOIN users u ON u.id = l.user_id
                   WHERE l.expires_at > $2 AND u.disabled_at IS NULL"#,
                token_hash,
                self.now()
            )
            .fetch_optional(&self.work)
            .await?;
            let Some(r) = row else { return Ok(None) };
            let role = r.role.map(|role| word("membership_links", "role", &role)).transpose()?;
            let joins = r.tenant_name.zip(role).map(|(tenant_name, role)| Joining { tenant_name, role });
            let row = UserRow::from(UserRecord {
                id: r.id,
                email: r.email,
                name: r.name,
                password_hash: r.password_hash,
                super_admin: r.super_admin,
                created_at: r.created_at,
                created_by: r.created_by,
                disabled_at: None,
            });
            Ok(Some(row.link_owner(joins)))
        })
        .await
    }
}
