//! What every answer carries, and what every request is held to: security headers, a request id in a span,
//! a bounded body, and a panic that ends as an answer instead of a torn connection.

use crate::{
    body::{self, Caps},
    problem,
    reached::Reached,
};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};
use futures::FutureExt;
use hyper::body::Body as _;
use leasehold_queue::{Engine, secrets::Redactor};
use leasehold_types::{Problem, ProblemCode};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Instant};
use tracing::Instrument;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Pages set their own policy with a nonce; everything else may load nothing at all.
const STRICT_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Outermost: names the request, watches it, and answers even when a handler panics.
pub async fn observe(State(engine): State<Arc<Engine>>, mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers(), engine.config().secrets.redactor());
    request.headers_mut().insert(REQUEST_ID, id.clone());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    // Of the highest level, so that its id is on every line, whatever the log leaves out.
    let span = tracing::error_span!("request", %method, path, request_id = id.to_str().unwrap_or_default());
    let began = Instant::now();
    let answered = async {
        let answer = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_| panicked());
        tracing::debug!(status = answer.status().as_u16(), took = ?began.elapsed(), "answered");
        answer
    };
    let mut response = answered.instrument(span).await;
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn panicked() -> Response {
    tracing::error!("a handler panicked");
    problem::respond(&Problem::new(
        ProblemCode::Internal,
        "Something broke while answering. The log has the details under this request's id.",
    ))
}

/// The caller's id when it is one we can put into logs as it is, else a new one. A secret is none.
fn request_id(headers: &HeaderMap, redactor: &Redactor) -> HeaderValue {
    let sane = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        (1..=128).contains(&bytes.len())
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(b))
            && value.to_str().is_ok_and(|text| !redactor.finds(text))
    };
    let given = headers.get(REQUEST_ID).filter(sane).cloned();
    given.unwrap_or_else(|| {
        let fresh = uuid::Uuid::now_v7().to_string();
        HeaderValue::from_str(&fresh).unwrap_or(HeaderValue::from_static("unknown"))
    })
}

/// A year, as browsers ask for; of other hosts below this one we know nothing.
const ONLY_HTTPS: &str = "max-age=31536000";
/// No page here uses any of them.
const PERMISSIONS: &str = "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), \
    fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), \
    picture-in-picture=(), publickey-credentials-get=(), screen-wake-lock=(), usb=(), xr-spatial-tracking=()";

pub async fn secure(request: Request, next: Next) -> Response {
    let https = request.extensions().get::<Reached>().is_some_and(|reached| reached.https);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if https {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(ONLY_HTTPS));
    }
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(STRICT_POLICY));
    // Answers are one person's data: no shared cache may keep them. A browser may keep a page, but asks again.
    let html = headers.get(header::CONTENT_TYPE).is_some_and(|v| v.as_bytes().starts_with(b"text/html"));
    let caching = if html { "private, no-cache" } else { "no-store" };
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static(caching));
    response
}

/// Refuses bodies that say they are too large, and cuts off those that turn out to be, or that do not come.
pub async fn limit_body(State(caps): State<Caps>, request: Request, next: Next) -> Response {
    let most = caps.of(request.uri().path());
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|v| v.to_str().ok()).and_then(|v| v.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most as u64) {
        return problem::respond_to(request.headers(), &body::Cut::TooLarge(most).problem());
    }
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (ledger, accept) =
        (Arc::new(body::Ledger::default()), request.headers().get(header::ACCEPT).cloned());
    let patience = body::patience(most);
    let bounded = request.map(|body| Body::new(body::Bounded::new(body, most, patience, ledger.clone())));
    let response = next.run(bounded).await;
    // Whatever the handler made of it: this is what happened.
    match ledger.cut() {
        Some(why) => {
            let headers = accept.map(|accept| (header::ACCEPT, accept)).into_iter().collect();
            problem::respond_to(&headers, &why.problem())
        }
        None => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
        headers
    }

    #[test]
    fn a_sane_request_id_is_kept_and_any_other_replaced() {
        assert_eq!(request_id(&with("x-request-id", "abc-1.2:3"), &Redactor::default()), "abc-1.2:3");
        let long = "x".repeat(129);
        for wrong in ["a b", "a\"b", "", long.as_str(), "AKIAABCDEFGHIJKLMNOP"] {
            assert_eq!(request_id(&with("x-request-id", wrong), &Redactor::default()).len(), 36, "{wrong}");
        }
    }
}
