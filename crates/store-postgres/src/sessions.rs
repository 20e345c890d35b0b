//! The rows of browser sessions, by the hash of the cookie's id.

use crate::{
    PostgresStore,
    convert::{moment, stamp},
    error::{Outcome, outcome},
    tx::PostgresTx,
};
use async_trait::async_trait;
use leasehold_queue::{
    StoreResult,
    params::SessionRow,
    people::EndSessions,
    ports::sessions::{SessionQueries, SessionRows},
};
use leasehold_types::{Timestamp, UserId};

#[async_trait]
impl SessionRows for PostgresTx {
    async fn delete_sessions(&mut self, user: UserId, which: &EndSessions) -> Outcome<u64> {
        let (only, but) = match which {
            EndSessions::All => (None, None),
            EndSessions::Only(id) => (Some(id), None),
            EndSessions::AllBut(id) => (None, Some(id)),
        };
        let gone = sqlx::query!(
            "DELETE FROM sessions
             WHERE user_id = $1 AND ($2::text IS NULL OR id = $2) AND ($3::text IS NULL OR id <> $3)",
            user.0,
            only,
            but
        )
        .execute(&mut *self.tx)
        .await?;
        Ok(gone.rows_affected())
    }
}

#[async_trait]
impl SessionQueries for PostgresStore {
    async fn save_session(&self, session: SessionRow) -> StoreResult<()> {
        outcome(async {
            sqlx::query!(
                "INSERT INTO sessions (id, user_id, data, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (id) DO UPDATE
                 SET user_id = EXCLUDED.user_id, data = EXCLUDED.data, expires_at = EXCLUDED.expires_at",
                session.id_hash,
                session.user_id.map(|u| u.0),
                session.data,
                self.now(),
                moment(session.expires_at)
            )
            .execute(&self.work)
            .await?;
            Ok(())
        })
        .await
    }

    async fn update_session(&self, session: SessionRow) -> StoreResult<bool> {
        outcome(async {
            let done = sqlx::query!(
                "UPDATE sessions SET user_id = $2, data = $3, expires_at = $4 WHERE id = $1 AND expires_at > $5",
                session.id_hash,
                session.user_id.map(|u| u.0),
                session.data,
                moment(session.expires_at),
                self.now()
            )
            .execute(&self.work)
            .await?;
            Ok(done.rows_affected() > 0)
        })
        .await
    }

    async fn session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>> {
        outcome(async {
            let found = sqlx::query!(
                "SELECT id, user_id, data, expires_at FROM sessions WHERE id = $1 AND expires_at > $2",
                id_hash,
                self.now()
            )
            .fetch_optional(&self.work)
            .await?;
            Ok(found.map(|r| SessionRow {
                id_hash: r.id,
                user_id: r.user_id.map(UserId),
                data: r.data,
                expires_at: stamp(r.expires_at),
            }))
        })
        .await
    }

    async fn sessions_of(&self, user: UserId) -> StoreResult<Vec<(SessionRow, Timestamp)>> {
        outcome(async {
            let rows = sqlx::query!(
                "SELECT id, data, created_at, expires_at FROM sessions
                 WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC, id",
                user.0,
                self.now()
            )
            .fetch_all(&self.work)
            .await?;
            let sessions = rows.into_iter().map(|r| {
                let session = SessionRow {
                    id_hash: r.id,
                    user_id: Some(user),
                    data: r.data,
                    expires_at: stamp(r.expires_at),
                };
                (session, stamp(r.created_at))
            });
            Ok(sessions.collect())
        })
        .await
    }

    async fn delete_session(&self, id_hash: &str) -> StoreResult<()> {
        outcome(async {
            sqlx::query!("DELETE FROM sessions WHERE id = $1", id_hash).execute(&self.work).await?;
            Ok(())
        })
        .await
    }

    async fn prune_sessions(&self) -> StoreResult<u64> {
        outcome(async {
            let gone = sqlx::query!("DELETE FROM sessions WHERE expires_at <= $1", self.now())
                .execute(&self.work)
                .await?;
            Ok(gone.rows_affected())
        })
        .await
    }
}
