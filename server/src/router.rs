//! Which request goes where, and through which checks.
//!
//! Everything: request id → security headers → body limit → same-origin check. Then health, the API with its keys,
//! files of the site, and for the rest the session: server functions, live streams, and pages behind the sign-in
//! guard.

use crate::{
    api::{self, Api},
    assets, attachments,
    auth::{PasswordGate, middleware as door_checks},
    headers, problem,
    sse::{self, Live},
};
use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    http::StatusCode,
    middleware::{from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use leasehold_app::{pages::App, shell::shell, ssr::Door};
use leasehold_queue::Engine;
use leasehold_types::Problem;
use leptos::{config::LeptosOptions, context::provide_context, server_fn::axum::server_fn_paths};
use leptos_axum::{LeptosRoutes, generate_route_list};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::compression::CompressionLayer;

/// What is neither a page, nor a server function, nor described with the API. The tests of who may use what begin here,
/// so nothing may be routed in this file that is not in this list.
pub const FIXED: &[&str] = &[
    "/health",
    "/ready",
    "/health/ready",
    "/attachments/{id}",
    "/api/openapi.json",
    "/api/docs",
    "/do/{*function}",
    "/t/{slug}/live",
];

pub struct Serving {
    pub engine: Arc<Engine>,
    pub trust_forwarded: bool,
    /// Cancelled when the server is about to end: not ready any more, and live streams end.
    pub ending: CancellationToken,
}

pub fn router(serving: Serving) -> Router {
    // One count of open streams for pages and the API.
    let live =
        Live { engine: serving.engine.clone(), limits: Arc::default(), ending: serving.ending.clone() };
    let site = Site::new(&serving, &live);
    let api = Api { engine: serving.engine.clone(), ending: serving.ending.clone(), live };
    let api::Described { router: routes, description } = api::routes(&api);
    let docs = api::docs::page(&description);
    let ready = Ready { engine: serving.engine.clone(), ending: serving.ending };
    Router::new()
        .route("/health", get(|| async { Json(json!({"status": "ok"})) }))
        .route("/ready", get(is_ready))
        .route("/health/ready", get(is_ready))
        .with_state(ready)
        .route("/attachments/{id}", get(attachments::download).with_state(serving.engine.clone()))
        .merge(routes)
        .route("/api/openapi.json", get(async move || Json(description.clone())))
        .route("/api/docs", get(async move || docs.clone()))
        .fallback(move |request| site.clone().answer(request))
        .layer(from_fn(door_checks::same_origin))
        .layer(from_fn(headers::limit_body))
        .layer(from_fn_with_state(serving.trust_forwarded, headers::forwarded))
        .layer(from_fn(headers::secure))
        .layer(from_fn(headers::observe))
}

#[derive(Clone)]
struct Ready {
    engine: Arc<Engine>,
    ending: CancellationToken,
}

async fn is_ready(State(ready): State<Ready>) -> Response {
    let reachable = !ready.ending.is_cancelled() && ready.engine.store().ping().await.is_ok();
    if reachable {
        return Json(json!({"status": "ready"})).into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "not_ready"}))).into_response()
}

/// The same pages twice, because the session cookie's name and `Secure` differ with the host asked for.
#[derive(Clone)]
struct Site {
    on_this_machine: Router,
    elsewhere: Router,
}

impl Site {
    fn new(serving: &Serving, live: &Live) -> Self {
        let pages = pages(serving, live.clone());
        let smaller = CompressionLayer::new().compress_when(is_worth_compressing);
        let with_cookie = |secure| {
            let sessions = door_checks::sessions(serving.engine.clone(), secure);
            pages.clone().layer(sessions).layer(smaller.clone())
        };
        Self { on_this_machine: with_cookie(false), elsewhere: with_cookie(true) }
    }

    async fn answer(self, request: Request) -> Response {
        let path = request.uri().path();
        if let Some(file) = assets::respond(request.method(), path, request.headers()) {
            return file;
        }
        if path == "/api" || path.starts_with("/api/") || path.starts_with("/pkg/") {
            return problem::respond(&Problem::not_found("This address"));
        }
        let local = door_checks::is_loopback(request.uri(), request.headers());
        let site = if local { self.on_this_machine } else { self.elsewhere };
        site.oneshot(request).await.into_response()
    }
}

/// Pages and what islands ask for. Never live streams: a compressor would hold their events back.
fn is_worth_compressing(
    status: StatusCode,
    _: axum::http::Version,
    headers: &axum::http::HeaderMap,
    _: &axum::http::Extensions,
) -> bool {
    let kind = headers.get(axum::http::header::CONTENT_TYPE).map(|v| v.as_bytes()).unwrap_or_default();
    status.is_success() && (kind.starts_with(b"text/html") || kind.starts_with(b"application/json"))
}

fn pages(serving: &Serving, live: Live) -> Router {
    let engine = serving.engine.clone();
    let door = Door { engine: engine.clone(), gate: Arc::new(PasswordGate::new(engine.clone())) };
    let lend = move || provide_context(door.clone());
    let options = LeptosOptions::builder().output_name("leasehold").site_root("target/site").build();
    let document = {
        let options = options.clone();
        move || shell(options.clone())
    };
    let not_found = leptos_axum::render_app_async_with_context(lend.clone(), document.clone());
    let views = Router::new()
        .leptos_routes_with_context(&options, generate_route_list(App), lend.clone(), document)
        .fallback(async move |request: Request<Body>| door_checks::as_not_found(not_found(request).await))
        .with_state(options)
        .layer(from_fn(door_checks::take_flash))
        .layer(from_fn_with_state(engine.clone(), door_checks::guard));
    let functions = any(move |request| call_function(lend.clone(), request));
    Router::new()
        .route("/do/{*function}", functions)
        .route("/t/{slug}/live", get(sse::live).with_state(live))
        .merge(views)
        .layer(from_fn_with_state(engine, door_checks::load_user))
}

async fn call_function(lend: impl Fn() + Clone + Send + 'static, request: Request<Body>) -> Response {
    let path = request.uri().path();
    if !server_fn_paths().any(|(known, _)| known == path) {
        return problem::respond_to(request.headers(), &Problem::not_found("This function"));
    }
    leptos_axum::handle_server_fns_with_context(lend, request).await.into_response()
}
