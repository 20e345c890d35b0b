//! Leadership as a lease row: taken when free or run out, kept by its holder.

use crate::{SqliteStore, error::Outcome};
use std::time::Duration;

pub(crate) async fn try_lead(
    store: &SqliteStore,
    name: &str,
    holder: &str,
    lasting: Duration,
) -> Outcome<bool> {
    let now = store.clock.now();
    let (now, until) = (now.to_string(), now.plus(lasting).to_string());
    let mut tx = store.begin().await?;
    let taken = sqlx::query!(
        "INSERT INTO leader_locks (name, holder, expires_at) VALUES (?1, ?2, ?3)
         ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
         WHERE leader_locks.holder = excluded.holder OR leader_locks.expires_at <= ?4",
        name,
        holder,
        until,
        now
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(taken.rows_affected() == 1)
}
