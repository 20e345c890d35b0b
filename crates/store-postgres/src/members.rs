//! The rows of memberships.

use crate::{
    PostgresStore,
    convert::{moment, stamp, stamp_if, word},
    error::{Outcome, outcome},
    tx::PostgresTx,
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

#[async_trait]
impl MemberRows for PostgresTx {
    async fn member(&mut self, tenant: TenantId, user: UserId) -> Outcome<Option<Place>> {
        let row = sqlx::query!(
            "SELECT u.email, m.role FROM memberships m JOIN users u ON u.id = m.user_id
             WHERE m.tenant_id = $1 AND m.user_id = $2",
            tenant.0,
            user.0
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        let Some(r) = row else { return Ok(None) };
        Ok(Some(Place { role: word("memberships", "role", &r.role)?, email: r.email }))
    }

    async fn has_other_admin(&mut self, tenant: TenantId, than: UserId) -> Outcome<bool> {
        Ok(sqlx::query_scalar!(
            r#"SELECT EXISTS (SELECT FROM memberships m JOIN users u ON u.id = m.user_id
                              WHERE m.tenant_id = $1 AND m.user_id <> $2 AND m.role = $3 AND u.disabled_at IS NULL)
                 AS "found!""#,
            tenant.0,
            than.0,
            Role::Admin.as_str()
        )
        .fetch_one(&mut *self.tx)
        .await?)
    }

    async fn insert_member(&mut self, tenant: TenantId, user: UserId, role: Role) -> Outcome<bool> {
        let now = moment(self.now());
        let done = sqlx::query!(
            "INSERT INTO memberships (tenant_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
             ON CONFLICT (user_id, tenant_id) DO NOTHING",
            tenant.0,
            user.0,
            role.as_str(),
            now
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn set_member_role(&mut self, tenant: TenantId, user: UserId, role: Role) -> Outcome<()> {
        sqlx::query!(
            "UPDATE memberships SET role = $3 WHERE tenant_id = $1 AND user_id = $2",
            tenant.0,
            user.0,
            role.as_str()
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_member(&mut self, tenant: TenantId, user: UserId) -> Outcome<()> {
        sqlx::query!("DELETE FROM memberships WHERE tenant_id = $1 AND user_id = $2", tenant.0, user.0)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }
}

#[async_trait]
impl MemberQueries for PostgresStore {
    async fn members_of(&self, tenant: TenantId) -> StoreResult<Vec<Member>> {
        outcome(async {
            let rows = sqlx::query!(
                r#"SELECT u.id, u.email, u.name, u.super_admin, u.created_at, u.created_by, u.disabled_at,
                          p.role AS "role!", p.since AS "since!", p.invited AS "invited!"
                   FROM (SELECT user_id, role, created_at AS since, FALSE AS invited
                         FROM memberships WHERE tenant_id = $1
                         UNION ALL
                         SELECT user_id, role, created_at, TRUE FROM membership_links WHERE tenant_id = $1) p
                   JOIN users u ON u.id = p.user_id"#,
                tenant.0
            )
            .fetch_all(&self.work)
            .await?;
            rows.into_iter()
                .map(|r| {
                    Ok(Member {
                        role: word("memberships", "role", &r.role)?,
                        joined_at: stamp(r.since),
                        invited: r.invited,
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
        })
        .await
    }
}
