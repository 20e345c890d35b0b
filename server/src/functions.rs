//! Server functions: which there are, how many people may be signing in at a time, and what is answered when a body is
//! none of theirs.

use crate::problem;
use axum::{
    body::{Body, to_bytes},
    extract::Request,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use leasehold_types::{Problem, ProblemCode};
use leptos::server_fn::axum::server_fn_paths;
use std::sync::LazyLock;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Those that hash passwords. Only a few are let in at a time; the others wait here, where waiting costs least: a
/// thousand of them inside would hold more than a gigabyte.
const HASHING: &[&str] = &["/do/sign_in", "/do/set_up"];
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(8));

/// What the framework writes before its own errors about a request's body.
const MISREAD: &[&str] = &["Args|", "MissingArg|", "Deserialization|", "Request|"];
const LONGEST_ERROR: usize = 64 * 1024;

pub async fn call(lend: impl Fn() + Clone + Send + 'static, request: Request<Body>) -> Response {
    let path = request.uri().path();
    if !server_fn_paths().any(|(known, _)| known == path) {
        return problem::respond_to(request.headers(), &Problem::not_found("This function"));
    }
    let _turn = turn(path).await;
    let headers = request.headers().clone();
    let answer = leptos_axum::handle_server_fns_with_context(lend, request).await.into_response();
    if answer.status() != StatusCode::INTERNAL_SERVER_ERROR {
        return answer;
    }
    explained(&headers, answer).await
}

async fn turn(path: &str) -> Option<SemaphorePermit<'static>> {
    if !HASHING.contains(&path) {
        return None;
    }
    // It is never closed.
    TURNS.acquire().await.ok()
}

/// A body that cannot be read is the sender's mistake, not ours.
async fn explained(headers: &HeaderMap, answer: Response) -> Response {
    let (parts, body) = answer.into_parts();
    let text = to_bytes(body, LONGEST_ERROR).await.unwrap_or_default();
    let misread = MISREAD.iter().any(|start| text.starts_with(start.as_bytes()));
    if !misread {
        return Response::from_parts(parts, Body::from(text));
    }
    let why = String::from_utf8_lossy(&text);
    let why = why.split_once('|').map_or("", |(_, why)| why);
    let detail = format!("The form cannot be read: {why}. Nothing was changed.");
    problem::respond_to(headers, &Problem::new(ProblemCode::InvalidInput, detail))
}
