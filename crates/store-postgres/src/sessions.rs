//! Browser sessions, keyed by the hash of the cookie.

use crate::{
    PostgresStore,
    convert::{moment, stamp},
    error::database,
};
use leasehold_queue::{StoreResult, params::SessionRow};
use leasehold_types::UserId;

impl PostgresStore {
    pub(crate) async fn put_session(&self, session: SessionRow) -> StoreResult<()> {
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
        .await
        .map(drop)
        .map_err(database)
    }

    pub(crate) async fn update_session_row(&self, session: SessionRow) -> StoreResult<bool> {
        sqlx::query!(
            "UPDATE sessions SET user_id = $2, data = $3, expires_at = $4 WHERE id = $1 AND expires_at > $5",
            session.id_hash,
            session.user_id.map(|u| u.0),
            session.data,
            moment(session.expires_at),
            self.now()
        )
        .execute(&self.work)
        .await
        .map(|done| done.rows_affected() > 0)
        .map_err(database)
    }

    pub(crate) async fn find_session(&self, id_hash: &str) -> StoreResult<Option<SessionRow>> {
        sqlx::query!(
            "SELECT id, user_id, data, expires_at FROM sessions WHERE id = $1 AND expires_at > $2",
            id_hash,
            self.now()
        )
        .fetch_optional(&self.work)
        .await
        .map(|row| {
            row.map(|r| SessionRow {
                id_hash: r.id,
                user_id: r.user_id.map(UserId),
                data: r.data,
                expires_at: stamp(r.expires_at),
            })
        })
        .map_err(database)
    }

    pub(crate) async fn remove_session(&self, id_hash: &str) -> StoreResult<()> {
        sqlx::query!("DELETE FROM sessions WHERE id = $1", id_hash)
            .execute(&self.work)
            .await
            .map(drop)
            .map_err(database)
    }

    pub(crate) async fn remove_expired_sessions(&self) -> StoreResult<u64> {
        sqlx::query!("DELETE FROM sessions WHERE expires_at <= $1", self.now())
            .execute(&self.work)
            .await
            .map(|done| done.rows_affected())
            .map_err(database)
    }
}
