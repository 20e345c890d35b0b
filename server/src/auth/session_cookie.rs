//! Sessions outside the pages: read from the request's cookie, without the layer that keeps them alive.

use super::{
    middleware::cookie_name,
    session_store::{self, StoredSessions},
};
use crate::reached::Reached;
use axum::http::{HeaderMap, header};
use leasehold_app::ssr::{SESSION_USER, session_problem};
use leasehold_queue::Engine;
use leasehold_types::{Problem, UserId, view::User};
use std::sync::Arc;
use tower_sessions::{
    SessionStore,
    session::{Error, Id},
};

/// The user, and the session by the hash of its id. Looking does not keep a session alive.
pub async fn signed_in(
    engine: &Arc<Engine>,
    reached: &Reached,
    headers: &HeaderMap,
) -> Result<Option<(User, String)>, Problem> {
    let Some(id) = session_id(cookie_name(!reached.plain_cookie), headers) else { return Ok(None) };
    let problem = |error| session_problem(Error::Store(error));
    let Some(session) = StoredSessions(engine.clone()).load(&id).await.map_err(problem)? else {
        return Ok(None);
    };
    let user =
        session.data.get(SESSION_USER).and_then(|id| serde_json::from_value::<UserId>(id.clone()).ok());
    let Some(user) = user else { return Ok(None) };
    Ok(engine.user(user).await?.map(|user| (user, session_store::id_hash(&id))))
}

fn session_id(name: &str, headers: &HeaderMap) -> Option<Id> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).and_then(|(_, id)| id.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn only_the_cookie_of_this_name_counts() {
        let id = Id(7);
        let mut headers = HeaderMap::new();
        let cookies = format!("a=b; x-leasehold={id}; leasehold={id}");
        headers.insert(header::COOKIE, HeaderValue::from_str(&cookies).unwrap());
        assert_eq!(session_id("leasehold", &headers), Some(id));
        assert_eq!(session_id("__Host-leasehold", &headers), None);
        headers.insert(header::COOKIE, HeaderValue::from_static("leasehold=!"));
        assert_eq!(session_id("leasehold", &headers), None);
    }
}
