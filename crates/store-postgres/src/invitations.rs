//! The rows of invitations into a tenant.

use crate::{
    convert::{moment, stamp, word},
    error::{Error, Outcome},
    tx::PostgresTx,
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
use time::OffsetDateTime;
use uuid::Uuid;

struct InvitationRecord {
    tenant_id: Uuid,
    user_id: Uuid,
    role: String,
    expires_at: OffsetDateTime,
}

impl TryFrom<InvitationRecord> for InvitationRow {
    type Error = Error;

    fn try_from(r: InvitationRecord) -> Outcome<Self> {
        Ok(Self {
            tenant: TenantId(r.tenant_id),
            user: UserId(r.user_id),
            role: word("membership_links", "role", &r.role)?,
            expires_at: stamp(r.expires_at),
        })
    }
}

#[async_trait]
impl InvitationRows for PostgresTx {
    async fn put_invitation(
        &mut self,
        tenant: TenantId,
        user: UserId,
        role: Role,
        link: &PasswordLink,
    ) -> Outcome<()> {
        let now = moment(self.now());
        sqlx::query!(
            "INSERT INTO membership_links (token_hash, tenant_id, user_id, role, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (tenant_id, user_id) DO UPDATE
             SET token_hash = excluded.token_hash, role = excluded.role, created_at = excluded.created_at,
                 expires_at = excluded.expires_at",
            link.token_hash,
            tenant.0,
            user.0,
            role.as_str(),
            now,
            moment(link.expires_at)
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
        let done = sqlx::query!(
            "UPDATE membership_links SET token_hash = $3, expires_at = $4 WHERE tenant_id = $1 AND user_id = $2",
            tenant.0,
            user.0,
            link.token_hash,
            moment(link.expires_at)
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn lock_invitation(&mut self, tenant: TenantId, user: UserId) -> Outcome<Option<Place>> {
        let row = sqlx::query!(
            "SELECT l.role, u.email FROM membership_links l JOIN users u ON u.id = l.user_id
             WHERE l.tenant_id = $1 AND l.user_id = $2 FOR UPDATE OF l",
            tenant.0,
            user.0
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        let Some(r) = row else { return Ok(None) };
        Ok(Some(Place { role: word("membership_links", "role", &r.role)?, email: r.email }))
    }

    async fn set_invitation_role(&mut self, tenant: TenantId, user: UserId, role: Role) -> Outcome<()> {
        sqlx::query!(
            "UPDATE membership_links SET role = $3 WHERE tenant_id = $1 AND user_id = $2",
            tenant.0,
            user.0,
            role.as_str()
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(())
    }

    async fn delete_invitation(&mut self, tenant: TenantId, user: UserId) -> Outcome<()> {
        sqlx::query!("DELETE FROM membership_links WHERE tenant_id = $1 AND user_id = $2", tenant.0, user.0)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn invitation(&mut self, token_hash: &str) -> Outcome<Option<InvitationRow>> {
        let row = sqlx::query_as!(
            InvitationRecord,
            "SELECT tenant_id, user_id, role, expires_at FROM membership_links WHERE token_hash = $1",
            token_hash
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }

    async fn take_invitation(&mut self, token_hash: &str) -> Outcome<Option<InvitationRow>> {
        let row = sqlx::query_as!(
            InvitationRecord,
            "DELETE FROM membership_links WHERE token_hash = $1 RETURNING tenant_id, user_id, role, expires_at",
            token_hash
        )
        .fetch_optional(&mut *self.tx)
        .await?;
        row.map(TryInto::try_into).transpose()
    }
}
