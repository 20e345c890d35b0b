//! Browser sessions, keyed by the hash of the cookie's id.

use crate::{
    SqliteStore,
    convert::{Table, to_json},
    error::Outcome,
};
use leasehold_queue::params::SessionRow;

const SESSIONS: Table = Table("sessions");

pub(crate) async fn save(store: &SqliteStore, session: SessionRow) -> Outcome<()> {
    let now = store.clock.now().to_string();
    let (user_id, data) = (session.user_id.map(|id| id.to_string()), to_json(&session.data)?);
    let expires_at = session.expires_at.to_string();
    let mut tx = store.begin().await?;
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
    .execute(&mut *tx)
    .await?;
    Ok(tx.commit().await?)
}

pub(crate) async fn update(store: &SqliteStore, session: SessionRow) -> Outcome<bool> {
    let now = store.clock.now().to_string();
    let (user_id, data) = (session.user_id.map(|id| id.to_string()), to_json(&session.data)?);
    let expires_at = session.expires_at.to_string();
    let mut tx = store.begin().await?;
    let done = sqlx::query!(
        "UPDATE sessions SET user_id = ?2, data = ?3, expires_at = ?4 WHERE id = ?1 AND expires_at > ?5",
        session.id_hash,
        user_id,
        data,
        expires_at,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(done.rows_affected() > 0)
}

pub(crate) async fn load(store: &SqliteStore, id_hash: &str) -> Outcome<Option<SessionRow>> {
    let now = store.clock.now().to_string();
    let found = sqlx::query!(
        "SELECT id, user_id, data, expires_at FROM sessions WHERE id = ?1 AND expires_at > ?2",
        id_hash,
        now
    )
    .fetch_optional(&store.read)
    .await?;
    let Some(row) = found else { return Ok(None) };
    Ok(Some(SessionRow {
        user_id: SESSIONS.parse_opt("user_id", row.user_id.as_deref())?,
        data: SESSIONS.json("data", &row.data)?,
        expires_at: SESSIONS.time("expires_at", &row.expires_at)?,
        id_hash: row.id,
    }))
}

pub(crate) async fn delete(store: &SqliteStore, id_hash: &str) -> Outcome<()> {
    let mut tx = store.begin().await?;
    sqlx::query!("DELETE FROM sessions WHERE id = ?1", id_hash).execute(&mut *tx).await?;
    Ok(tx.commit().await?)
}

pub(crate) async fn prune(store: &SqliteStore) -> Outcome<u64> {
    let now = store.clock.now().to_string();
    let mut tx = store.begin().await?;
    let gone = sqlx::query!("DELETE FROM sessions WHERE expires_at <= ?1", now).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(gone.rows_affected())
}
