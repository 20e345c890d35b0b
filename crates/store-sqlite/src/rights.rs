//! Rights of streams that are open.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::Outcome,
};
use async_trait::async_trait;
use leasehold_queue::{Rights, StoreResult, rights::SessionRight};
use leasehold_types::{KeyId, TenantId};

const USERS: Table = Table("users");
const MEMBERSHIPS: Table = Table("memberships");
const KEYS: Table = Table("api_keys");

#[async_trait]
impl Rights for SqliteStore {
    async fn session_rights(&self, asked: &[(String, TenantId)]) -> StoreResult<Vec<Option<SessionRight>>> {
        Ok(of_sessions(self, asked).await?)
    }

    async fn live_keys(&self, keys: &[KeyId]) -> StoreResult<Vec<KeyId>> {
        Ok(live(self, keys).await?)
    }
}

async fn of_sessions(
    store: &SqliteStore,
    asked: &[(String, TenantId)],
) -> Outcome<Vec<Option<SessionRight>>> {
    let (given, now) = (to_json(asked)?, store.clock.now().to_string());
    let rows = sqlx::query!(
        r#"SELECT CAST(w.key AS INTEGER) AS "place!: i64", u.id AS "id!: String", u.super_admin AS "super_admin!: bool",
                  m.role AS "role?: String"
           FROM json_each(?1) w
           JOIN sessions s ON s.id = w.value ->> 0 AND s.expires_at > ?2
           JOIN users u ON u.id = s.user_id
           LEFT JOIN memberships m ON m.user_id = u.id AND m.tenant_id = w.value ->> 1"#,
        given,
        now
    )
    .fetch_all(&store.read)
    .await?;
    let mut answers = vec![None; asked.len()];
    for row in rows {
        let right = SessionRight {
            user_id: USERS.parse("id", &row.id)?,
            super_admin: row.super_admin,
            role: MEMBERSHIPS.parse_opt("role", row.role.as_deref())?,
        };
        if let Some(answer) = answers.get_mut(usize::try_from(row.place).unwrap_or(usize::MAX)) {
            *answer = Some(right);
        }
    }
    Ok(answers)
}

async fn live(store: &SqliteStore, keys: &[KeyId]) -> Outcome<Vec<KeyId>> {
    let (keys, now) = (to_json(keys)?, store.clock.now().to_string());
    let live = sqlx::query_scalar!(
        "SELECT id FROM api_keys
         WHERE id IN (SELECT value FROM json_each(?1)) AND revoked_at IS NULL
           AND (expires_at IS NULL OR expires_at > ?2)",
        keys,
        now
    )
    .fetch_all(&store.read)
    .await?;
    live.iter().map(|id| KEYS.parse("id", id)).collect()
}
