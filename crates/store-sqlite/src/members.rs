//! The rows of memberships.

use crate::{
    SqliteStore,
    convert::Table,
    error::{Outcome, outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    ports::{
        members::{MemberQueries, MemberRows, Place},
        tx::Tx,
    },
};
use leasehold_types::{Role, TenantId, UserId, people::Member, view::User};

const USERS: Table = Table("users");
const MEMBERSHIPS: Table = Table("memberships");

#[async_trait]
impl MemberRows for SqliteTx {
    async fn member(&mut self, tenant: TenantId, user: UserId) -> Outcome<Option<Place>> {
        let (tenant, user) = (tenant.to_string(), user.to_string());
        let row = sqlx::query!(
            "SELECT u.email, m.role FROM memberships m JOIN users u ON u.id = m.user_id
             WHERE m.tenant_id = ?1 AND m.user_id = ?2",
            tenant,
            user
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Place { role: MEMBERSHIPS.parse("role", &row.role)?, email: row.email }))
    }

    async fn has_other_admin(&mut self, tenant: TenantId, than: UserId) -> Outcome<bool> {
        let (tenant, than, admin) = (tenant.to_string(), than.to_string(), Role::Admin.as_str());
        Ok(sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT 1 FROM memberships m JOIN users u ON u.id = m.user_id
                              WHERE m.tenant_id = ?1 AND m.user_id <> ?2 AND m.role = ?3 AND u.disabled_at IS NULL)
                 AS "found!: bool""#,
            tenant,
            than,
            admin
        )
        .fetch_one(&mut *self.tx)
        .await?)
    }

    async fn insert_member(&mut self, tenant: TenantId, user: UserId, role: Role) -> Outcome<bool> {
        let (tenant, user, role) = (tenant.to_string(), user.to_string(), role.as_str());
        let now = self.now().to_string();
        let done = sqlx::query!(
            "INSERT INTO memberships (tenant_id, user_id, role, created_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (user_id, tenant_id) DO NOTHING",
            tenant,
            user,
            role,
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn set_member_role(&mut self, tenant: TenantId, user: UserId, role: Role) -> Outcome<()> {
        let (tenant, user, role) = (tenant.to_string(), user.to_string(), role.as_str());
        sqlx::query!(
            "UPDATE memberships SET role = ?3 WHERE tenant_id = ?1 AND user_id = ?2",
            tenant,
            user,
            role
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_member(&mut self, tenant: TenantId, user: UserId) -> Outcome<()> {
        let (tenant, user) = (tenant.to_string(), user.to_string());
        sqlx::query!("DELETE FROM memberships WHERE tenant_id = ?1 AND user_id = ?2", tenant, user)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }
}

#[async_trait]
impl MemberQueries for SqliteStore {
    async fn members_of(&self, tenant: TenantId) -> StoreResult<Vec<Member>> {
        outcome(async {
            let tenant = tenant.to_string();
            let rows = sqlx::query!(
                r#"SELECT u.id AS "id!: String", u.email AS "email!: String", u.name AS "name!: String",
                          u.super_admin AS "super_admin!: bool", u.created_at AS "created_at!: String",
                          u.created_by AS "created_by?: String", u.disabled_at AS "disabled_at?: String",
                          p.role AS "role!: String", p.since AS "since!: String", p.invited AS "invited!: bool"
                   FROM (SELECT user_id, role, created_at AS since, FALSE AS invited
                         FROM memberships WHERE tenant_id = ?1
                         UNION ALL
                         SELECT user_id, role, created_at, TRUE FROM membership_links WHERE tenant_id = ?1) p
                   JOIN users u ON u.id = p.user_id"#,
                tenant
            )
            .fetch_all(&self.read)
            .await?;
            rows.into_iter()
                .map(|row| {
                    Ok(Member {
                        role: MEMBERSHIPS.parse("role", &row.role)?,
                        joined_at: MEMBERSHIPS.time("created_at", &row.since)?,
                        invited: row.invited,
                        disabled_at: USERS.time_opt("disabled_at", row.disabled_at.as_deref())?,
                        made_by: row.created_by,
                        user: User {
                            id: USERS.parse("id", &row.id)?,
                            created_at: USERS.time("created_at", &row.created_at)?,
                            super_admin: row.super_admin,
                            email: row.email,
                            name: row.name,
                        },
                    })
                })
                .collect()
        })
        .await
    }
}
