//! The rows of invitations into a tenant.

use crate::{
    convert::Table,
    error::{Error, Outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    people::PasswordLink,
    ports::{
        invitations::{InvitationRow, InvitationRows},
        members::Place,
        tx::Tx,
    },
};
use leasehold_types::{Role, TenantId, UserId};

const LINKS: Table = Table("membership_links");

struct InvitationRecord {
    tenant_id: String,
    user_id: String,
    role: String,
    expires_at: String,
}

impl TryFrom<InvitationRecord> for InvitationRow {
    type Error = Error;

    fn try_from(row: InvitationRecord) -> Outcome<Self> {
        Ok(Self {
            tenant: LINKS.parse("tenant_id", &row.tenant_id)?,
            user: LINKS.parse("user_id", &row.user_id)?,
            role: LINKS.parse("role", &row.role)?,
            expires_at: LINKS.time("expires_at", &row.expires_at)?,
        })
    }
}

#[async_trait]
impl InvitationRows for SqliteTx {
    async fn put_invitation(
        &mut self,
        tenant: TenantId,
        user: UserId,
        role: Role,
        link: &PasswordLink,
    ) -> Outcome<()> {
        let (tenant, user, role) = (tenant.to_string(), user.to_string(), role.as_str());
        let (now, expires_at) = (self.now().to_string(), link.expires_at.to_string());
        sqlx::query!(
            "INSERT INTO membership_links (token_hash, tenant_id, user_id, role, created_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (tenant_id, user_id) DO UPDATE
             SET token_hash = excluded.token_hash, role = excluded.role, created_at = excluded.created_at,
                 expires_at = excluded.expires_at",
            link.token_hash,
            tenant,
            user,
            role,
            now,
            expires_at
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn renew_invitation(
        &mut self,
        tenant: TenantId,
        user: UserId,
        link: &PasswordLink,
    ) -> Outcome<bool> {
        let (tenant, user, expires_at) = (tenant.to_string(), user.to_string(), link.expires_at.to_string());
        let done = sqlx::query!(
            "UPDATE membership_links SET token_hash = ?3, expires_at = ?4 WHERE tenant_id = ?1 AND user_id = ?2",
            tenant,
            user,
            link.token_hash,
            expires_at
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn lock_invitation(&mut self, tenant: TenantId, user: UserId) -> Outcome<Option<Place>> {
        let (tenant, user) = (tenant.to_string(), user.to_string());
        let row = sqlx::query!(
            "SELECT l.role, u.email FROM membership_links l JOIN users u ON u.id = l.user_id
             WHERE l.tenant_id = ?1 AND l.user_id = ?2",
            tenant,
            user
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Place { role: LINKS.parse("role", &row.role)?, email: row.email }))
    }

    async fn set_invitation_role(&mut self, tenant: TenantId, user: UserId, role: Role) -> Outcome<()> {
        let (tenant, user, role) = (tenant.to_string(), user.to_string(), role.as_str());
        sqlx::query!(
            "UPDATE membership_links SET role = ?3 WHERE tenant_id = ?1 AND user_id = ?2",
            tenant,
            user,
            role
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_invitation(&mut self, tenant: TenantId, user: UserId) -> Outcome<()> {
        let (tenant, user) = (tenant.to_string(), user.to_string());
        sqlx::query!("DELETE FROM membership_links WHERE tenant_id = ?1 AND user_id = ?2", tenant, user)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn invitation(&mut self, token_hash: &str) -> Outcome<Option<InvitationRow>> {
        let row = sqlx::query_as!(
            InvitationRecord,
            "SELECT tenant_id, user_id, role, expires_at FROM membership_links WHERE token_hash = ?1",
            token_hash
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn take_invitation(&mut self, token_hash: &str) -> Outcome<Option<InvitationRow>> {
        let row = sqlx::query_as!(
            InvitationRecord,
            "DELETE FROM membership_links WHERE token_hash = ?1 RETURNING tenant_id, user_id, role, expires_at",
            token_hash
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }
}
