//! Server functions: which there are, how many people may be signing in at a time, and what a browser is shown when one
//! refuses or cannot read its form.

use crate::{body::Cut, problem};
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header, response::Parts},
    response::{IntoResponse, Redirect, Response},
};
use leasehold_app::{jobs::query::encode, ssr::own_path};
use leasehold_types::{Problem, ProblemCode};
use leptos::server_fn::axum::server_fn_paths;
use std::{sync::LazyLock, time::Duration};
use tokio::sync::Semaphore;

/// Those that hash passwords. Only a few are let in at a time; the others wait here, where waiting costs least: a
/// thousand of them inside would hold more than a gigabyte.
const HASHING: &[&str] = &["/do/sign_in", "/do/set_up", "/do/choose_password", "/do/change_password"];
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(8));

/// What the framework writes before its own errors about a request's body.
const MISREAD: &[&str] = &["Args|", "MissingArg|", "Deserialization|", "Request|"];
/// What it writes before ours.
const REFUSED: &str = "ServerError|";
const LONGEST_ERROR: usize = 64 * 1024;

/// Nobody types more than this into a form with a password in it, or takes longer to send it.
const LARGEST_FORM: usize = 16 * 1024;
const FORM_PATIENCE: Duration = Duration::from_secs(10);

pub fn paths() -> impl Iterator<Item = String> {
    server_fn_paths().map(|(path, _)| path.to_owned())
}

pub async fn call(lend: impl Fn() + Clone + Send + 'static, request: Request<Body>) -> Response {
    let path = request.uri().path();
    if !server_fn_paths().any(|(known, _)| known == path) {
        return problem::respond_to(request.headers(), &Problem::not_found("This function"));
    }
    let headers = request.headers().clone();
    let (request, _turn) = if HASHING.contains(&path) {
        // The form first, then the turn: whoever sends slowly must not hold a place that others wait for.
        match with_body(request).await {
            // It is never closed.
            Ok(request) => (request, TURNS.acquire().await.ok()),
            Err(problem) => return problem::respond_to(&headers, &problem),
        }
    } else {
        (request, None)
    };
    // Boxed: whoever waits for a turn must not take up the room of a function that runs.
    let work = Box::pin(leptos_axum::handle_server_fns_with_context(lend, request));
    let answer = work.await.into_response();
    match answer.status() {
        StatusCode::UNAUTHORIZED if problem::wants_html(&headers) => {
            Redirect::to(&sign_in_again(&headers)).into_response()
        }
        status if status.is_client_error() || status.is_server_error() => explained(&headers, answer).await,
        _ => answer,
    }
}

/// The request with its whole body.
async fn with_body(request: Request<Body>) -> Result<Request<Body>, Problem> {
    let (parts, body) = request.into_parts();
    let read = tokio::time::timeout(FORM_PATIENCE, to_bytes(body, LARGEST_FORM)).await;
    match read.map_err(|_| Cut::TooSlow.problem())? {
        Ok(bytes) => Ok(Request::from_parts(parts, Body::from(bytes))),
        Err(_) => {
            let detail = "The form is too large, or it did not come to its end. Nothing was changed.";
            Err(Problem::new(ProblemCode::InvalidInput, detail))
        }
    }
}

/// A session that ended while a form was open: to the sign-in page, and from there back to the form.
fn sign_in_again(headers: &HeaderMap) -> String {
    let from = headers.get(header::REFERER).and_then(|from| from.to_str().ok()?.parse::<Uri>().ok());
    let page = from.as_ref().and_then(|from| from.path_and_query()).map_or("/", |page| page.as_str());
    format!("/login?ended=yes&next={}", encode(own_path(page)))
}

/// A body that cannot be read is the sender's mistake, not ours. Whoever looks at it in a browser gets a page.
async fn explained(headers: &HeaderMap, answer: Response) -> Response {
    let (parts, body) = answer.into_parts();
    let text = to_bytes(body, LONGEST_ERROR).await.unwrap_or_default();
    let misread = MISREAD.iter().any(|start| text.starts_with(start.as_bytes()));
    if !misread {
        let ours = text.strip_prefix(REFUSED.as_bytes()).filter(|_| problem::wants_html(headers));
        return match ours {
            Some(why) => refused(parts, &String::from_utf8_lossy(why)),
            None => Response::from_parts(parts, Body::from(text)),
        };
    }
    let why = String::from_utf8_lossy(&text);
    let why = why.split_once('|').map_or("", |(_, why)| why);
    let detail = format!("The form cannot be read: {why}. Nothing was changed.");
    problem::respond_to(headers, &Problem::new(ProblemCode::InvalidInput, detail))
}

/// The page for a refusal; its status and headers stay.
fn refused(mut parts: Parts, why: &str) -> Response {
    let title = match parts.status {
        StatusCode::FORBIDDEN => ProblemCode::Forbidden.title(),
        StatusCode::NOT_FOUND => ProblemCode::NotFound.title(),
        status if status.is_server_error() => ProblemCode::Internal.title(),
        _ => "This was refused",
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    let (kind, page) = (HeaderValue::from_static("text/html; charset=utf-8"), problem::page(title, why));
    parts.headers.insert(header::CONTENT_TYPE, kind);
    parts.headers.insert(header::CONTENT_SECURITY_POLICY, problem::PAGE_POLICY);
    Response::from_parts(parts, Body::from(page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_must_sign_in_again_comes_back_to_their_form() {
        let from = |referer: &'static str| {
            sign_in_again(&[(header::REFERER, HeaderValue::from_static(referer))].into_iter().collect())
        };
        let form = from("http://127.0.0.1:3000/t/acme/jobs/new?definition=a");
        assert_eq!(form, "/login?ended=yes&next=%2Ft%2Facme%2Fjobs%2Fnew%3Fdefinition%3Da");
        assert_eq!(from("http://x//evil.example"), "/login?ended=yes&next=%2F");
        assert_eq!(sign_in_again(&HeaderMap::new()), "/login?ended=yes&next=%2F");
    }
}
