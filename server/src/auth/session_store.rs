//! Sessions in the database, under the hash of their id. A session ends after 12 idle hours, and 7 days after
//! signing in whatever happens. Saving never brings back a session that was ended meanwhile.

use crate::secret;
use async_trait::async_trait;
use leasehold_app::ssr::SESSION_USER;
use leasehold_queue::{Engine, StoreError, params::SessionRow};
use leasehold_types::{Timestamp, UserId};
use serde_json::{Map, Value, json};
use std::{fmt, sync::Arc, time::Duration};
use tower_sessions::{
    SessionStore,
    session::{Id, Record},
    session_store::{Error, Result},
};

pub const IDLE: Duration = Duration::from_secs(12 * 3_600);
/// Nobody has signed in: it only carries a message to the next page.
const ANONYMOUS: Duration = Duration::from_secs(600);
const ABSOLUTE: Duration = Duration::from_secs(7 * 86_400);
/// Who signed in and when; kept by this store alone.
const SIGNED_IN: &str = "signed_in";

#[derive(Clone)]
pub struct StoredSessions(pub Arc<Engine>);

impl fmt::Debug for StoredSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredSessions")
    }
}

/// The name of a session in the database.
pub fn id_hash(id: &Id) -> String {
    secret::sha256_hex(&id.to_string())
}

#[async_trait]
impl SessionStore for StoredSessions {
    async fn create(&self, record: &mut Record) -> Result<()> {
        // 128 random bits do not collide; a wrong guess here would only replace one's own new session.
        self.0.save_session(row(record, self.0.now())?).await.map_err(backend)
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let alive = self.0.update_session(row(record, self.0.now())?).await.map_err(backend)?;
        if !alive {
            tracing::debug!("a session ended while a request was under way; it stays ended");
        }
        Ok(())
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let Some(found) = self.0.session(&id_hash(id)).await.map_err(backend)? else {
            return Ok(None);
        };
        let data = serde_json::from_value(found.data).map_err(|error| Error::Decode(error.to_string()))?;
        Ok(Some(Record { id: *id, data, expiry_date: found.expires_at.datetime() }))
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        self.0.delete_session(&id_hash(id)).await.map_err(backend)
    }
}

/// The record's own expiry is the process's time; ours is the database's, so it is counted again from `now`.
fn row(record: &Record, now: Timestamp) -> Result<SessionRow> {
    let data = serde_json::to_value(&record.data).map_err(|error| Error::Encode(error.to_string()))?;
    let Value::Object(mut data) = data else { return Err(Error::Encode("not a map".into())) };
    let user_id = data.get(SESSION_USER).and_then(Value::as_str).and_then(|id| id.parse::<UserId>().ok());
    let idle_end = now.plus(IDLE);
    let expires_at = match user_id {
        Some(user) => idle_end.min(signed_in_at(&mut data, user, now).plus(ABSOLUTE)),
        None => now.plus(ANONYMOUS),
    };
    Ok(SessionRow { id_hash: id_hash(&record.id), user_id, data: Value::Object(data), expires_at })
}

/// When this user signed in; written down the first time the session is saved with this user.
fn signed_in_at(data: &mut Map<String, Value>, user: UserId, now: Timestamp) -> Timestamp {
    let noted = data.get(SIGNED_IN).filter(|noted| noted["user"] == json!(user));
    let at = noted.and_then(|noted| noted["at"].as_str()).and_then(|at| at.parse().ok());
    at.unwrap_or_else(|| {
        data.insert(SIGNED_IN.into(), json!({ "user": user, "at": now }));
        now
    })
}

fn backend(error: StoreError) -> Error {
    Error::Backend(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tower_sessions::cookie::time::OffsetDateTime;

    fn record(data: Value) -> Record {
        let data = serde_json::from_value(data).unwrap();
        Record { id: Id(7), data, expiry_date: OffsetDateTime::UNIX_EPOCH }
    }

    #[test]
    fn a_session_lives_twelve_idle_hours_but_never_beyond_seven_days() {
        let start = Timestamp::from_secs(1_800_000_000);
        let user = "0192f3c4-0000-7000-8000-000000000001";
        let first = row(&record(json!({ SESSION_USER: user })), start).unwrap();
        assert_eq!(first.expires_at, start.plus(IDLE));
        assert_eq!(first.user_id, Some(user.parse().unwrap()));
        let later = start.plus(ABSOLUTE).minus(Duration::from_secs(60));
        let last = row(&record(first.data.clone()), later).unwrap();
        assert_eq!(last.expires_at, start.plus(ABSOLUTE));
        let other = "0192f3c4-0000-7000-8000-000000000002";
        let mut data = first.data;
        data[SESSION_USER] = json!(other);
        assert_eq!(row(&record(data), later).unwrap().expires_at, later.plus(IDLE));
    }

    #[test]
    fn the_database_knows_only_the_hash_of_an_id() {
        let stored = row(&record(json!({})), Timestamp::from_secs(0)).unwrap();
        assert_eq!(stored.id_hash.len(), 64);
        assert!(!stored.id_hash.contains(&Id(7).to_string()));
        assert_eq!(
            stored.expires_at,
            Timestamp::from_secs(0).plus(ANONYMOUS),
            "strangers leave little behind"
        );
    }
}
