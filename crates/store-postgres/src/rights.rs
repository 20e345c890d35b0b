//! Rights of streams that are open.

use crate::{PostgresStore, convert::word, error::database};
use async_trait::async_trait;
use leasehold_queue::{Rights, StoreResult, rights::SessionRight};
use leasehold_types::{KeyId, TenantId, UserId};
use uuid::Uuid;

#[async_trait]
impl Rights for PostgresStore {
    async fn session_rights(&self, asked: &[(String, TenantId)]) -> StoreResult<Vec<Option<SessionRight>>> {
        let sessions: Vec<String> = asked.iter().map(|(session, _)| session.clone()).collect();
        let tenants: Vec<Uuid> = asked.iter().map(|(_, tenant)| tenant.0).collect();
        let rows = sqlx::query!(
            r#"SELECT w.place AS "place!", u.id, u.super_admin, m.role AS "role?"
               FROM unnest($1::text[], $2::uuid[]) WITH ORDINALITY AS w(session, tenant, place)
               JOIN sessions s ON s.id = w.session AND s.expires_at > $3
               JOIN users u ON u.id = s.user_id
               LEFT JOIN memberships m ON m.user_id = u.id AND m.tenant_id = w.tenant"#,
            &sessions,
            &tenants,
            self.now()
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        let mut answers = vec![None; asked.len()];
        for row in rows {
            let role = row.role.map(|role| word("memberships", "role", &role)).transpose()?;
            let right = SessionRight { user_id: UserId(row.id), super_admin: row.super_admin, role };
            let place = usize::try_from(row.place - 1).unwrap_or(usize::MAX);
            if let Some(answer) = answers.get_mut(place) {
                *answer = Some(right);
            }
        }
        Ok(answers)
    }

    async fn live_keys(&self, keys: &[KeyId]) -> StoreResult<Vec<KeyId>> {
        let keys: Vec<Uuid> = keys.iter().map(|key| key.0).collect();
        let live = sqlx::query_scalar!(
            "SELECT id FROM api_keys
             WHERE id = ANY($1) AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
            &keys,
            self.now()
        )
        .fetch_all(&self.work)
        .await
        .map_err(database)?;
        Ok(live.into_iter().map(KeyId).collect())
    }
}
