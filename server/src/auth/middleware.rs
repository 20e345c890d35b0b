//! In front of every page and server function: where did it come from, who is it, may they see this page, and
//! is there a message waiting for them.

use super::session_store::{IDLE, StoredSessions};
use crate::{problem, reached::Reached};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Redirect, Response},
};
use leasehold_app::ssr::{CurrentUser, Flash, SESSION_FLASH, SESSION_USER};
use leasehold_queue::{Engine, engine::SESSION_SEEN};
use leasehold_types::{Problem, ProblemCode, Timestamp, UserId, view::User};
use std::{fmt::Write, sync::Arc, time::Duration};
use tower_sessions::{Expiry, Session, SessionManagerLayer, cookie::SameSite};

/// When the session was last written only because it was used.
const SEEN: &str = SESSION_SEEN;
/// Writing at every request would cost more than it says.
const SEEN_EVERY: Duration = Duration::from_secs(300);

/// The session cookie. By plain http a `Secure` cookie would never come back.
pub fn sessions(engine: Arc<Engine>, secure: bool) -> SessionManagerLayer<StoredSessions> {
    let idle = i64::try_from(IDLE.as_secs()).unwrap_or(i64::MAX);
    SessionManagerLayer::new(StoredSessions(engine))
        .with_name(cookie_name(secure))
        .with_secure(secure)
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path("/")
        .with_expiry(Expiry::OnInactivity(time::Duration::seconds(idle)))
}

pub fn cookie_name(secure: bool) -> &'static str {
    if secure { "__Host-leasehold" } else { "leasehold" }
}

/// Refuses changes that another site asked a browser for.
pub async fn same_origin(request: Request, next: Next) -> Response {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let for_programs = request.uri().path().starts_with("/api/v1/");
    if safe || for_programs || comes_from_here(reached_host(&request), request.headers()) {
        return next.run(request).await;
    }
    tracing::warn!("a request from another site was refused");
    let detail = "Another site sent this request, so nothing was changed. Please use the form on this site.";
    problem::respond_to(request.headers(), &Problem::new(ProblemCode::CrossSite, detail))
}

/// Browsers say where a request comes from and scripts cannot change it. Programs that are no browsers send
/// neither header, and have no cookies that someone else could borrow.
pub fn comes_from_here(host: Option<&str>, headers: &HeaderMap) -> bool {
    if headers.contains_key("sec-fetch-site") {
        let said = headers.get_all("sec-fetch-site");
        return said.iter().all(|site| site == "same-origin" || site == "none");
    }
    // Old browsers name only the page a form was on.
    let Some(said) = headers.get(header::ORIGIN).or_else(|| headers.get(header::REFERER)) else {
        return true;
    };
    let origin = said.to_str().ok().and_then(|o| o.split_once("://"));
    let origin = origin.and_then(|(_, rest)| rest.split('/').next());
    origin.is_some_and(|origin| host.is_some_and(|host| origin.eq_ignore_ascii_case(host)))
}

fn reached_host(request: &Request) -> Option<&str> {
    request.extensions().get::<Reached>()?.host.as_deref()
}

/// Finds out who it is; for pages, server functions and live streams.
pub async fn load_user(
    State(engine): State<Arc<Engine>>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let user = match user_of(&engine, &session).await {
        Ok(user) => user,
        Err(problem) => return problem::respond_to(request.headers(), &problem),
    };
    request.extensions_mut().insert(CurrentUser(user));
    next.run(request).await
}

async fn user_of(engine: &Engine, session: &Session) -> Result<Option<User>, Problem> {
    let id = session.get::<UserId>(SESSION_USER).await.map_err(leasehold_app::ssr::session_problem)?;
    let Some(id) = id else { return Ok(None) };
    let user = engine.user(id).await?;
    if user.is_some() {
        keep_alive(engine, session).await?;
    }
    Ok(user)
}

async fn keep_alive(engine: &Engine, session: &Session) -> Result<(), Problem> {
    let now = engine.now();
    let seen = session.get::<Timestamp>(SEEN).await.map_err(leasehold_app::ssr::session_problem)?;
    if seen.is_none_or(|seen| seen.plus(SEEN_EVERY) <= now) {
        session.insert(SEEN, now).await.map_err(leasehold_app::ssr::session_problem)?;
    }
    Ok(())
}

/// Sends people where they can go on: strangers to the sign-in page, users from `/` to their tenant.
pub async fn guard(State(engine): State<Arc<Engine>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    let user = request.extensions().get::<CurrentUser>().and_then(|current| current.0.clone());
    match user {
        None if looks && path == "/" => Redirect::to("/login").into_response(),
        None if looks && is_guarded(path) => {
            let wanted = request.uri().path_and_query().map_or(path, |p| p.as_str());
            Redirect::to(&format!("/login?next={}", encode(wanted))).into_response()
        }
        Some(user) if looks && path == "/" => match home(&engine, &user).await {
            Ok(home) => Redirect::to(&home).into_response(),
            Err(problem) => problem::respond_to(request.headers(), &problem),
        },
        _ => next.run(request).await,
    }
}

fn is_guarded(path: &str) -> bool {
    ["/t", "/admin", "/tenants", "/account"]
        .iter()
        .any(|area| path.strip_prefix(area).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// The first tenant by name; the page to choose on says what to do when there is none.
async fn home(engine: &Engine, user: &User) -> Result<String, Problem> {
    let tenants = engine.tenants_of_user(user).await?;
    Ok(tenants.first().map_or_else(|| "/tenants".to_owned(), |tenant| format!("/t/{}", tenant.slug)))
}

fn encode(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// Takes the waiting message out of the session when a page is about to show it, and not before.
pub async fn take_flash(session: Session, mut request: Request, next: Next) -> Response {
    let navigates = *request.method() == Method::GET && problem::wants_html(request.headers());
    if navigates {
        match session.remove::<Flash>(SESSION_FLASH).await {
            Ok(Some(flash)) => {
                request.extensions_mut().insert(flash);
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "a message for the next page cannot be read"),
        }
    }
    next.run(request).await
}

/// For what exists but not here: the page's own status stays unless it claimed all was well.
pub fn as_not_found(mut response: Response) -> Response {
    if response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(k, v)| (k.parse().unwrap(), HeaderValue::from_static(v))).collect()
    }

    #[test]
    fn only_this_site_may_ask_for_changes() {
        let here = |pairs: &[(&'static str, &'static str)]| {
            let host = pairs.iter().find(|(name, _)| *name == "host").map(|(_, host)| *host);
            comes_from_here(host, &headers(pairs))
        };
        assert!(here(&[("sec-fetch-site", "same-origin"), ("host", "a")]));
        assert!(here(&[("host", "a")]));
        assert!(here(&[("origin", "http://jobs.example:3000"), ("host", "jobs.example:3000")]));
        assert!(!here(&[("sec-fetch-site", "same-site"), ("origin", "http://a"), ("host", "a")]));
        assert!(!here(&[("sec-fetch-site", "cross-site")]));
        assert!(!here(&[("origin", "http://evil.example"), ("host", "jobs.example")]));
        assert!(!here(&[("origin", "null"), ("host", "jobs.example")]));
        assert!(!here(&[("referer", "http://evil.example/a"), ("host", "jobs.example")]));
        assert!(here(&[("referer", "http://jobs.example/t/a"), ("host", "jobs.example")]));
    }

    #[test]
    fn the_page_someone_wanted_survives_the_sign_in() {
        assert_eq!(encode("/t/a/jobs?status=failed&q=x y"), "/t/a/jobs%3Fstatus%3Dfailed%26q%3Dx%20y");
        assert!(is_guarded("/t/acme/jobs") && is_guarded("/admin") && is_guarded("/tenants"));
        assert!(!is_guarded("/login") && !is_guarded("/tea") && !is_guarded("/setup"));
    }
}
