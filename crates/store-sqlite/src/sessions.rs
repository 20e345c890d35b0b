//! The rows of browser sessions, by the hash of the cookie's id.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::{Outcome, outcome},
    tx::SqliteTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    params::SessionRow,
    people::EndSessions,
    ports::sessions::{SessionQueries, SessionRows},
};
use leasehold_types::{Timestamp, UserId};

const SESSIONS: Table = Table("sessions");

#[async_trait]
impl SessionRows for SqliteTx {
    async fn delete_sessions(&mut self, user: UserId, which: &EndSessions) -> Outcome<u64> {
        let (only, but) = match which {
            EndSessions::All => (None, None),
            EndSessions::Only(id) => (Some(id), None),
            EndSessions::AllBut(id) => (None, Some(id)),
        };
        let user = user.to_string();
        let gone = sqlx::query!(
            "DELETE FROM sessions WHERE user_id = ?1 AND (?2 IS NULL OR id = ?2) AND (?3 IS NULL OR id <> ?3)",
            user,
            only,
            but
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(gone.rows_affected())
    }
}

#[async_trait]
impl SessionQueries for SqliteStore {
    async fn save_session(&self, session: SessionRow) -> StoreResult<()> {
        outcome(async {
            let (user_id, data) = (session.user_id.map(|id| id.to_string()), to_json(&session.data)?);
            let (now, expires_at) = (self.clock.now().to_string(), session.expires_at.to_string());
            sqlx::query!(
                "INSERT INTO sessions (id, user_id, data, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (id) DO UPDATE
                 SET user_id = excluded.user_id, data = excluded.data, expires_at = excluded.expires_at",
                session.id_hash,
                user_id,
                data,
                now,
                expires_at
            )
            .execute(&self.write)
            .await?;
            Ok(())
        })
        .await
    }

    async fn update_session(&self, session: SessionRow) -> StoreResult<bool> {
        outcome(async {
            let (user_id, data) = (session.user_id.map(|id| id.to_string()), to_json(&session.data)?);
            let (now, expires_at) = (self.clock.now().to_string(), session.expires_at.to_string());
            let done = sqlx::query!(
                "UPDATE sessions SET user_id = ?2, data = ?3, expires_at = ?4 WHERE id = ?1 AND expires_at > ?5",
                session.id_hash,
                user_id,
                data,
                expires_at,
                now
            )
            .execute(&self.write)
            .await?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }

    async fn session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>> {
        outcome(async {
            let now = self.clock.now().to_string();
            let found = sqlx::query!(
                "SELECT id, user_id, data, expires_at FROM sessions WHERE id = ?1 AND expires_at > ?2",
                id_hash,
                now
            )
            .fetch_optional(&self.read)
            .await?;
            let Some(row) = found else { return Ok(None) };
            Ok(Some(SessionRow {
                user_id: SESSIONS.parse_opt("user_id", row.user_id.as_deref())?,
                data: SESSIONS.json("data", &row.data)?,
                expires_at: SESSIONS.time("expires_at", &row.expires_at)?,
                id_hash: row.id,
            }))
        })
        .await
    }

    async fn sessions_of(&self, user: UserId) -> StoreResult<Vec<(SessionRow, Timestamp)>> {
        outcome(async {
            let (id, now) = (user.to_string(), self.clock.now().to_string());
            let rows = sqlx::query!(
                "SELECT id, data, created_at, expires_at FROM sessions
                 WHERE user_id = ?1 AND expires_at > ?2 ORDER BY created_at DESC, id",
                id,
                now
            )
            .fetch_all(&self.read)
            .await?;
            rows.into_iter()
                .map(|row| {
                    let session = SessionRow {
                        user_id: Some(user),
                        data: SESSIONS.json("data", &row.data)?,
                        expires_at: SESSIONS.time("expires_at", &row.expires_at)?,
                        id_hash: row.id,
                    };
                    Ok((session, SESSIONS.time("created_at", &row.created_at)?))
                })
                .collect()
        })
        .await
    }

    async fn delete_session(&self, id_hash: &str) -> StoreResult<()> {
        outcome(async {
            sqlx::query!("DELETE FROM sessions WHERE id = ?1", id_hash).execute(&self.write).await?;
            Ok(())
        })
        .await
    }

    async fn prune_sessions(&self) -> StoreResult<u64> {
        outcome(async {
            let now = self.clock.now().to_string();
            let gone =
                sqlx::query!("DELETE FROM sessions WHERE expires_at <= ?1", now).execute(&self.write).await?;
            Ok(gone.rows_affected())
        })
        .await
    }
}
