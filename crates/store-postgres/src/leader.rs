//! Leadership by advisory lock, on a connection of its own: the lock belongs to the session, so a connection
//! that went back to a pool would keep it for somebody else, and losing the connection is losing the lock.
//! The table only records who leads, for people to see.

use crate::{convert::moment, error::database};
use leasehold_queue::{StoreError, StoreResult};
use leasehold_types::Timestamp;
use sqlx::{ConnectOptions, PgConnection, postgres::PgConnectOptions};
use std::{collections::HashMap, time::Duration};
use tokio::sync::Mutex;

const PATIENCE: Duration = Duration::from_secs(5);

pub struct Leadership {
    target: PgConnectOptions,
    session: Mutex<Option<Session>>,
}

struct Session {
    connection: PgConnection,
    /// Locks this session holds, by whom in this process, and until when that one said to want it.
    held: HashMap<String, (String, Timestamp)>,
}

impl Leadership {
    pub fn new(target: PgConnectOptions) -> Self {
        Self { target, session: Mutex::new(None) }
    }

    pub async fn try_lead(
        &self,
        name: &str,
        holder: &str,
        now: Timestamp,
        how_long: Duration,
    ) -> StoreResult<bool> {
        let mut guard = self.session.lock().await;
        let attempt = async {
            let mut session = match guard.take() {
                Some(session) => session,
                None => Session {
                    connection: self.target.connect().await.map_err(database)?,
                    held: HashMap::new(),
                },
            };
            let leads = session.lead(name, holder, now, now.plus(how_long)).await?;
            Ok::<_, StoreError>((session, leads))
        };
        match tokio::time::timeout(PATIENCE, attempt).await {
            Ok(Ok((session, leads))) => {
                *guard = Some(session);
                Ok(leads)
            }
            // The session is dropped with whatever it held.
            Ok(Err(error)) => Err(error),
            Err(_) => Err(StoreError::Database { message: "leadership: no answer".into(), transient: true }),
        }
    }
}

impl Session {
    async fn lead(
        &mut self,
        name: &str,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> StoreResult<bool> {
        match self.held.get(name) {
            // The session's lock cannot tell two holders of one process apart.
            Some((other, wanted_until)) if other != holder && *wanted_until > now => return Ok(false),
            Some(_) => {}
            None => {
                if !self.lock(name).await? {
                    return Ok(false);
                }
            }
        }
        // Also the proof that the connection, and with it the lock, is still there.
        sqlx::query!(
            "INSERT INTO leader_locks (name, holder, expires_at) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at",
            name,
            holder,
            moment(until)
        )
        .execute(&mut self.connection)
        .await
        .map_err(database)?;
        self.held.insert(name.to_owned(), (holder.to_owned(), until));
        Ok(true)
    }

    async fn lock(&mut self, name: &str) -> StoreResult<bool> {
        sqlx::query_scalar!(
            r#"SELECT pg_try_advisory_lock(hashtextextended('leasehold ' || $1, 0)) AS "locked!""#,
            name
        )
        .fetch_one(&mut self.connection)
        .await
        .map_err(database)
    }
}
